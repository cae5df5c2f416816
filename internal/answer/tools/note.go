package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"myao/internal/chat"
	"myao/internal/store"
)

type rememberInput struct {
	Text string `json:"text" jsonschema:"what to remember, in one or two plain sentences that make sense without the conversation"`
}

func remember(s Sources) tool {
	t := define(chat.ToolRemember,
		fmt.Sprintf("Writes a note that everybody in this channel sees and that stands above every later "+
			"conversation here. "+
			"Only when somebody asks you to remember something. At most %d characters.", chat.MaxNote),
		func(ctx context.Context, p Place, step string, in rememberInput) (string, error) {
			text := strings.Join(strings.Fields(in.Text), " ")
			switch n := utf8.RuneCountInString(text); {
			case n == 0:
				return "", mistake("text is empty; it must say what to remember.")
			case n > chat.MaxNote:
				return "", mistakef("text has %d characters; a note has at most %d. Put it in fewer words.", n,
					chat.MaxNote)
			}
			note := chat.Note{TS: p.Trigger, Author: p.Asker, Text: text}
			// a note without a link is better than none
			note.Permalink, _ = s.Permalink(ctx, p.Conversation.Channel, p.Trigger)
			note, err := s.Store.AddNote(ctx, p.Conversation.Team, p.Conversation.Channel, step, note)
			if errors.Is(err, store.ErrTooManyNotes) {
				return "", mistakef("There are %d notes here already, which is the limit. Somebody must take one "+
					"back first.", store.MaxNotes)
			}
			if errors.Is(err, store.ErrDeleted) {
				return "", mistake("The message that asks for it was deleted. Nothing is remembered.")
			}
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Remembered as note %d, for this channel only.", note.ID), nil
		})
	t.addressed = true
	return t
}

type forgetNoteInput struct {
	ID int64 `json:"id" jsonschema:"the number of the note"`
}

func forgetNote(s Sources) tool {
	t := define(chat.ToolForgetNote, "Takes back a note of this channel. Only when somebody asks you to forget it.",
		func(ctx context.Context, p Place, step string, in forgetNoteInput) (string, error) {
			found, err := s.Store.ForgetNote(ctx, chat.Scope(p.Conversation), in.ID, step, "slack:"+p.Asker)
			switch {
			case err != nil:
				return "", err
			case !found:
				return "", mistakef("There is no note %d in this channel.", in.ID)
			}
			return fmt.Sprintf("Note %d is forgotten.", in.ID), nil
		})
	t.addressed = true
	return t
}
