package prompt

import (
	"fmt"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// checkTemplates renders all templates with everything set, in a channel and in a direct message, and
// with nothing set. A broken template is found at the start and not at the first reply.
func (r *Renderer) checkTemplates(faults *Faults) {
	contexts, options := exampleContexts(), exampleOptions()
	alone := options
	alone.PictureShown, alone.Features, alone.LastVerdict = false, &conversation.Features{Pending: 1, SinceOwn: -1}, nil
	names := []string{"response.tmpl", "response_user.tmpl", "judgment.tmpl", "judgment_user.tmpl", "second_look.tmpl",
		"second_look_user.tmpl", "promise.tmpl", "promise_user.tmpl", "promised.tmpl", "fault.tmpl", "memory_user.tmpl"}
	for _, kind := range memoryKinds {
		names = append(names, string(kind)+".tmpl")
	}
	for _, c := range contexts {
		for _, o := range []Options{options, alone, {}} {
			v := r.view(c, o)
			for _, name := range names {
				text, err := r.render(name, v)
				if err == nil && text == "" {
					err = fmt.Errorf("prompt template %s: renders to an empty text, but a model needs one",
						r.path(name))
				}
				faults.add(err)
			}
		}
	}
	r.checkParts(faults, *options.Promise)
}

// checkParts renders the pieces of other prompts, and the texts that are posted.
func (r *Renderer) checkParts(faults *Faults, promise Promise) {
	found := Options{LookedUp: []LookedUp{{Tool: "x", Input: "{}", Text: "x"}, {Tool: "x", Text: "x", Failed: true}}}
	_, err := r.render("looked_up.tmpl", r.lookedUp(found))
	faults.add(err)
	_, err = r.render("acted.tmpl", r.acted(Acted{LookedUp: LookedUp{Tool: "x", Input: "{}", Text: "x"}}, 0))
	faults.add(err)
	waiting := promise
	waiting.Until, waiting.Waits, waiting.Events = "x", true, []HookEvent{{Text: "x"}}
	for _, p := range []Promise{{What: "x"}, promise, waiting} {
		_, err = r.render("kept.tmpl", r.promiseView(&p, nil))
		faults.add(err)
	}
	for _, name := range []string{"unseen.tmpl", "unheard.tmpl"} {
		text, err := r.naming(name, []string{"x", "y"})
		if err == nil && text == "" {
			err = fmt.Errorf("prompt template %s: renders to an empty text", r.path(name))
		}
		faults.add(err)
	}
	for _, n := range []Notice{Unanswered, OverBudget, Stopped, TooLate, ActedDone, ActedFailed, ActedUnknown} {
		text, err := r.render(string(n), nil)
		if err == nil && text == "" {
			err = fmt.Errorf("prompt template %s: the notice %q is empty", r.path(n.file()), n)
		}
		faults.add(err)
		r.notices[n] = text
	}
}

// exampleContexts are contexts that have, together, all that a template may show.
func exampleContexts() []chat.Context {
	said := []chat.Message{
		{TS: "1.000000", UserID: "U1", Name: "a", Text: "x", Files: []chat.File{{Name: "x"}},
			Reactions: []chat.Reaction{{Name: "x", UserID: "U2"}}},
		{TS: "2.000000", UserID: "U2", ThreadTS: "1.000000"},
		{TS: "2.500000", UserID: "U3", ThreadTS: "1.000000", Own: true},
		{TS: "4.000000", UserID: "U2", ThreadTS: "3.000000", Text: strings.Repeat("x", maxMessageCharacters+1)},
		{TS: "4.500000", UserID: "U2"},
	}
	contexts := []chat.Context{{}}
	for _, channel := range []string{"C1", "D1"} {
		full := chat.Context{
			Persona:            chat.Persona{Name: "x", Names: []string{"x"}, SystemPrompt: "x"},
			Conversation:       chat.NewChannelMessages(channel, "x", said),
			WorkspaceLongTerm:  "x",
			WorkspaceShortTerm: "x",
			Channels: []chat.ChannelMemory{
				{ChannelID: "C1", ChannelName: "x", LongTerm: "x", ShortTerm: "x"},
				{ChannelID: "D1", LongTerm: "x", ShortTerm: "x"},
			},
			ChannelsUnlisted: 1,
			ChannelsUntold:   1,
			ThreadMemories:   map[string]string{"1.000000": "x"},
			ThreadsUntold:    1,
		}
		full.Conversation.Omitted, full.Conversation.OmittedAround = 1, 1
		full.Conversation.Earlier, full.Conversation.Since = []string{"", "3.000000", "4.500000"}, chat.Time("2.000000")
		inThread := full
		inThread.TargetThread = "1.000000"
		unread := full
		unread.Conversation.Unread = true
		unknown := unread
		unknown.Conversation.Omitted = 0
		contexts = append(contexts, full, inThread, unread, unknown)
	}
	return contexts
}

// exampleOptions has all that a template may show.
func exampleOptions() Options {
	options := Options{Now: chat.Time("5.000000"), AgentPrompt: "x", MaxDelaySeconds: 600, BareMention: true,
		AnswerTS: "1.000000", Draft: "x", Promise: &Promise{Asker: "U1", What: "x", Unless: "x", Every: "day"},
		FilesText: "x", PictureAlone: true, PictureShown: true, Fault: "x", MaxTokens: 300, WindowHours: 24}
	options.Pending, options.LastVerdict = []string{"1.000000", "4.500000"},
		&LastVerdict{At: chat.Time("3.000000"), Reason: "x"}
	options.Reactions, options.Playbooks = []string{"x", "y"}, []chat.Playbook{{Title: "x", When: "x"}}
	options.Features = &conversation.Features{
		Pending: 2, QuietSeconds: 1, WaitingSeconds: 90000, SinceOwn: 1, Dialogue: true, Question: true,
		MentionsOthers: true, NamesBot: true, NamesOther: true,
		Acknowledgement: true, Claimed: true, ClaimedTS: "4.500000", AnsweredInThread: true,
	}
	return options
}

// file is the template file that defines a notice.
func (n Notice) file() string {
	switch n {
	case Stopped, TooLate:
		return "stop.tmpl"
	case ActedDone, ActedFailed, ActedUnknown:
		return "acted.tmpl"
	}
	return "notice.tmpl"
}

// path returns the path of a template file.
func (r *Renderer) path(name string) string {
	i := slices.IndexFunc(r.files, func(f file) bool { return f.name == name })
	return r.files[i].path
}
