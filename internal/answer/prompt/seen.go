package prompt

import (
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// LastVerdict is the newest verdict on a conversation.
type LastVerdict struct {
	At     time.Time
	Spoke  bool
	Reason string
}

// seenView is what is plain to see in the conversation to judge.
type seenView struct {
	conversation.Features
	Quiet, Waiting span
	Last           *lastView
}

type lastView struct {
	Ago    span
	Spoke  bool
	Reason string
}

// span is a time in seconds, for templates. Only the method of its largest unit is not 0.
type span int

func (s span) Days() int { return int(s) / 86400 }

func (s span) Hours() int { return int(s) % 86400 / 3600 * zeroIf(s >= 86400) }

func (s span) Minutes() int { return int(s) % 3600 / 60 * zeroIf(s >= 3600) }

func (s span) Seconds() int { return int(s) % 60 * zeroIf(s >= 60) }

func zeroIf(yes bool) int {
	if yes {
		return 0
	}
	return 1
}

func since(now, at time.Time) span { return span(max(0, now.Sub(at)/time.Second)) }

// reactionView is one emoji and who put it there, by name.
type reactionView struct {
	Emoji string
	Names string // separated by commas
}

// reactions groups a message's reactions by emoji, in the order in which they came.
func (n names) reactions(m chat.Message) []reactionView {
	var all []reactionView
	at := map[string]int{}
	for _, r := range m.Reactions {
		emoji, name := cleanName(r.Name), n.userName(r)
		if emoji == "" || name == "" {
			continue
		}
		if i, known := at[emoji]; known {
			all[i].Names += ", " + name
			continue
		}
		at[emoji] = len(all)
		all = append(all, reactionView{emoji, name})
	}
	return all
}

func (n names) userName(r chat.Reaction) string {
	if name := n.users[r.UserID]; name != "" {
		return name
	}
	return pickName("", r.User, r.UserID)
}

// seen returns what is plain to see; nil for a prompt that judges nothing.
func seen(o Options) *seenView {
	if o.Features == nil {
		return nil
	}
	v := &seenView{Features: *o.Features, Quiet: span(o.Features.QuietSeconds),
		Waiting: span(o.Features.WaitingSeconds)}
	if l := o.LastVerdict; l != nil {
		v.Last = &lastView{since(o.Now, l.At), l.Spoke, strings.TrimSpace(cleanLine(l.Reason, 300))}
	}
	return v
}
