package store

import (
	"slices"
	"time"

	"myao/internal/chat"
)

// stepPeriod bounds how many messages are counted to find the steps of a window: they begin anew each six hours, UTC.
const stepPeriod = 6 * time.Hour

// windows counts a conversation's own messages, as far as they are counted, and how many messages a period has before
// the oldest one of each window, whose beginning is a multiple of ContextRequest.Step.
type windows struct {
	Count  int `json:"count"`
	Own    int `json:"own"`
	Around int `json:"around"`
}

const countOfOwn = "(SELECT COUNT(*) FROM (SELECT m.sent_us" + fromConversation + " LIMIT @counted) n)"

const beginningsOfWindows = `
	WITH own AS (SELECT MIN(n.sent_us) AS oldest FROM (SELECT m.sent_us` + fromConversation + ` LIMIT @own) n),
		around AS (SELECT MIN(n.sent_us) AS oldest FROM (SELECT m.sent_us` + fromChannel + ` LIMIT @around) n)
	SELECT ` + countOfOwn + ` AS count,
		(SELECT COUNT(*) FROM messages m
			WHERE m.team_id = @team AND m.channel_id = @channel AND m.thread_ts = @thread AND NOT m.deleted
			AND m.sent_us >= own.oldest - own.oldest % @period AND m.sent_us < own.oldest) AS own,
		(SELECT COUNT(*) FROM messages m WHERE m.team_id = @team AND m.channel_id = @channel AND NOT m.deleted
			AND m.sent_us >= around.oldest - around.oldest % @period AND m.sent_us < around.oldest) AS around
	FROM own, around`

// windowsQuery asks for the windows, in one row; without steps for the count alone.
func windowsQuery(r ContextRequest, into *[]windows) query {
	counted := map[string]any{"counted": verbatim(r.Messages + r.Around + chat.CountAtMost)}
	if r.Step <= 1 {
		return named("SELECT "+countOfOwn+" AS count, 0 AS own, 0 AS around", into, place(r.Conversation), counted)
	}
	return named(beginningsOfWindows, into, place(r.Conversation), counted, map[string]any{"own": verbatim(r.Messages),
		"around": verbatim(r.Around), "period": verbatim(stepPeriod.Microseconds())})
}

// stepped leaves out the messages before the first step of both windows. It returns the others, the threads around
// the conversation that have lost some, as in Context.Earlier, and when the windows around it and of its own begin; 0:
// they have room for more.
func (r ContextRequest) stepped(
	rows []messageRow, w windows,
) (kept []messageRow, lost []string, since, ownSince int64) {
	if r.Step <= 1 {
		return rows, nil, 0, 0
	}
	newest := slices.SortedFunc(slices.Values(rows), func(a, b messageRow) int { return chat.CompareTS(b.TS, a.TS) })
	own := slices.DeleteFunc(slices.Clone(newest),
		func(m messageRow) bool { return m.ThreadTS != r.Conversation.Thread })
	since = r.start(newest, r.Around, w.Around)
	if r.Messages == r.Around { // a thread that the bot is addressed in has its own number of messages
		ownSince = r.start(own, r.Messages, w.Own)
	}
	parents := map[string]bool{r.Conversation.Thread: true, r.Answer: true}
	shown := func(m messageRow) bool {
		return m.SentUS >= since || m.ThreadTS == r.Conversation.Thread && m.SentUS >= ownSince
	}
	for _, m := range rows {
		if shown(m) {
			parents[m.ThreadTS] = true
		}
	}
	for _, m := range rows {
		switch {
		case shown(m) || parents[m.TS]:
			kept = append(kept, m)
		case m.ThreadTS != r.Conversation.Thread && !slices.Contains(lost, m.ThreadTS):
			lost = append(lost, m.ThreadTS)
		}
	}
	return kept, lost, since, ownSince
}

// start is when the first message of a window was sent that begins a step; 0 if the window has room for
// more. newest are its messages, the newest first.
func (r ContextRequest) start(newest []messageRow, limit, before int) int64 {
	if len(newest) < limit || limit < r.Step {
		return 0
	}
	left := (r.Step - before%r.Step) % r.Step
	return newest[limit-1-left].SentUS
}
