package inspector

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// note is what somebody asked the bot to remember.
type note struct {
	ID     int64     `json:"id"`
	Text   string    `json:"text"`
	Author string    `json:"author"` // user id
	TS     string    `json:"ts"`     // of the message that asked
	At     time.Time `json:"at"`
}

// notes is a channel's notes, the oldest first.
func notes(ctx context.Context, db *store.Store, team, channel string) ([]note, error) {
	kept, err := db.Notes(ctx, team, channel)
	all := make([]note, len(kept))
	for i, n := range kept {
		all[i] = note{ID: n.ID, Text: n.Text, Author: n.Author, TS: n.TS, At: n.Noted}
	}
	return all, err
}

type forgetNoteRequest struct {
	Channel string `json:"channel"`
	User    string `json:"user"`
	ID      int64  `json:"id"`
}

// forgetNote takes back a note for a visitor.
func (w *Inspector) forgetNote(ctx context.Context, in forgetNoteRequest) error {
	c, err := w.conversation(in.Channel, "")
	if err != nil {
		return badRequest("%v", err)
	}
	if !slackID.MatchString(in.User) {
		return badRequest("user %q: want the id of a user, such as U0123456789", in.User)
	}
	system := w.system.Load()
	if system == nil {
		return errStarting
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := system.Store.ForgetNote(ctx, chat.Scope(c), in.ID, "page-"+rand.Text(), "slack:"+in.User)
	if err == nil && !found {
		return &httpError{http.StatusConflict, "That note is gone already."}
	}
	return err
}
