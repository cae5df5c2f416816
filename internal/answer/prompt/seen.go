package prompt

import (
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// pausedAfter is after how many seconds of quiet people no longer talk in turn.
const pausedAfter = 120

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
	// ClaimedAt is the time of the message that is claimed; empty if it is not known.
	ClaimedAt string
	Last      *lastView
}

type lastView struct {
	Ago    span
	Spoke  bool
	Reason string
}

// span is a time in seconds, for templates. The method of its unit rounds, the others are 0. Up to two hours that
// are minutes, up to two days hours. Less than half a minute is 0 of all.
type span int

func (s span) Days() int { return s.in(86400, 48*3600, 1<<62) }

func (s span) Hours() int { return s.in(3600, 2*3600, 48*3600) }

func (s span) Minutes() int { return s.in(60, 0, 2*3600) }

func (s span) in(unit, from, to int) int {
	if int(s) < from || int(s) >= to {
		return 0
	}
	return (int(s) + unit/2) / unit
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
func (r *Renderer) seen(o Options) *seenView {
	if o.Features == nil {
		return nil
	}
	v := &seenView{Features: *o.Features, Quiet: span(o.Features.QuietSeconds),
		Waiting: span(o.Features.WaitingSeconds)}
	v.Dialogue = v.Dialogue && o.Features.QuietSeconds < pausedAfter // a talk that rests is open to others
	if ts := o.Features.ClaimedTS; ts != "" {
		v.ClaimedAt = chat.Time(ts).In(r.location).Format(timeLayout)
	}
	if l := o.LastVerdict; l != nil {
		v.Last = &lastView{since(o.Now, l.At), l.Spoke, strings.TrimSpace(cleanLine(l.Reason, 300))}
	}
	return v
}
