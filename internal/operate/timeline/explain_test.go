package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

func ts(n int) string { return chat.TS(second(n)) }

var top = chat.Conversation{Team: "T1", Channel: "C1"}

// heard is a person's message at second n, with the event recorded.
func heard(n int) store.StoredMessage {
	return store.StoredMessage{Message: chat.Message{Team: "T1", Channel: "C1", TS: ts(n), UserID: "U1", Text: "secret"}, Handled: true, Stored: second(n)}
}

// in moves a message into a thread.
func in(thread int, m store.StoredMessage) store.StoredMessage { m.ThreadTS = ts(thread); return m }

func bots(m store.StoredMessage) store.StoredMessage { m.BotID = "B1"; return m }

// read is a message that was read from Slack's history so many seconds after it was sent.
func read(m store.StoredMessage, later int) store.StoredMessage {
	m.Handled, m.Stored = false, m.Time().Add(time.Duration(later)*time.Second)
	return m
}

func deleted(m store.StoredMessage) store.StoredMessage { m.Deleted = true; return m }

// of is a message's conversation.
func of(m store.StoredMessage) string {
	return chat.Conversation{Team: m.Team, Channel: m.Channel, Thread: m.ThreadTS}.ID()
}

// passed is a change that was recorded at a second and relayed at once.
func passed(m store.StoredMessage, kind conversation.Kind, at int) store.RecordedChange {
	return store.RecordedChange{Change: conversation.Change{TS: m.TS, Kind: kind}, WorkflowID: of(m), Stored: second(at), Relayed: second(at)}
}

// decided is a decision about a message at a second.
func decided(key string, m store.StoredMessage, at int, outcome conversation.Outcome) store.Decision {
	us := second(at).UnixMicro()
	return store.Decision{Key: key, WorkflowID: of(m), TriggerTS: m.TS, Source: "rule", Rule: "too_old", Outcome: outcome, DecidedUS: us, SettledUS: &us}
}

func droppedBy(d store.Decision, by string) store.Decision { d.OutcomeBy = by; return d }

func TestExplain(t *testing.T) {
	m := heard(10)
	said := passed(m, conversation.Said, 10)
	later, reply := heard(20), in(10, heard(20))
	mention := passed(heard(15), conversation.Addressed, 15)
	hushed := passed(m, conversation.Hushed, 12)
	hushed.By = "slack:U2"
	other := passed(later, conversation.Hushed, 22)
	other.By = "slack:U2"
	unrelayed := said
	unrelayed.Relayed = time.Time{}
	drop := store.Order{Kind: "drop", By: "cli:ann", At: second(13)}
	mute, snooze := drop, drop
	mute.Kind, snooze.Kind = "mute", "snooze"
	inThread := decided("thread", m, 30, "posted")
	inThread.WorkflowID = chat.Conversation{Team: "T1", Channel: "C1", Thread: m.TS}.ID()
	known := store.Channel{ID: "C1", KnownSince: second(0)}
	settings := config.ChannelSettings{Bots: config.BotsIgnore, MaxMessageAge: time.Minute}
	judging := config.ChannelSettings{Bots: config.BotsJudge}
	mode := func(m config.Mode) Options { return Options{Settings: config.ChannelSettings{Mode: m}} }
	mentioning := func(m store.StoredMessage) store.StoredMessage { m.Text = "<@UBOT> hello"; return m }
	for name, c := range map[string]struct {
		m    store.StoredMessage
		rows rows
		keys []string // of the decisions about the message
		note string   // a part of the note
	}{
		"decided about": {m, rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{decided("a", m, 15, "silent")}}, []string{"a"}, ""},
		"decided about with a later one": {
			m, rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{decided("a", later, 25, "silent")}}, []string{"a"}, "together with " + later.TS,
		},
		"withdrawn, and decided about again": {m, rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{
			decided("a", m, 15, "withdrawn"), decided("b", later, 25, "posted"), decided("c", heard(30), 35, "silent"),
		}}, []string{"a", "b"}, "together with " + later.TS},
		"overruled, and answered": {m, rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{
			decided("a", m, 15, "overruled"), decided("b", m, 16, "posted"),
		}}, []string{"a", "b"}, ""},
		"dropped once decided": {m, rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{
			decided("a", m, 12, "dropped"), decided("b", later, 25, "posted"),
		}, orders: []store.Order{drop}}, []string{"a"}, ""},
		"dropped while it waited": {m, rows{changes: []store.RecordedChange{said}, orders: []store.Order{drop}, decisions: []store.Decision{
			decided("b", later, 25, "posted"),
		}}, nil, "dropped by cli:ann"},
		"dropped by a mute": {m, rows{changes: []store.RecordedChange{said}, orders: []store.Order{mute}, decisions: []store.Decision{
			decided("b", later, 25, "posted"),
		}}, nil, "dropped by cli:ann, who muted"},
		"dropped by a snooze, and nothing since": {m, rows{changes: []store.RecordedChange{said}, orders: []store.Order{snooze}}, nil, "dropped by cli:ann, who snoozed"},
		"unmuted":                                {m, rows{changes: []store.RecordedChange{said}, orders: []store.Order{{Kind: "unmute", By: "cli:ann", At: second(13)}}}, nil, "nothing decided yet"},
		"dropped in a thread":                    {m, rows{changes: []store.RecordedChange{said}, orders: []store.Order{{Kind: "drop", Scope: chat.Scope{Thread: ts(1)}, At: second(13)}}}, nil, "nothing decided yet"},
		"hushed":                                 {m, rows{changes: []store.RecordedChange{said, hushed}, decisions: []store.Decision{decided("b", later, 25, "posted")}}, nil, "slack:U2 asked for no answer"},
		"hushed while it was decided about":      {m, rows{changes: []store.RecordedChange{said, hushed}, decisions: []store.Decision{decided("a", m, 13, "dropped")}}, []string{"a"}, ""},
		"hushed, and asked again": {m, rows{changes: []store.RecordedChange{said, hushed, passed(m, conversation.Addressed, 14)}, decisions: []store.Decision{
			decided("b", heard(20), 25, "silent"), decided("a", m, 26, "posted"),
		}}, []string{"a"}, ""},
		"another one was hushed": {m, rows{changes: []store.RecordedChange{said, other}, decisions: []store.Decision{
			droppedBy(decided("a", later, 21, "dropped"), "slack:U2"), decided("b", m, 25, "posted"),
		}}, []string{"a", "b"}, ""},
		"gave way to a mention": {
			m, rows{changes: []store.RecordedChange{said, mention}, decisions: []store.Decision{decided("b", later, 25, "posted")}}, nil, "given up for " + ts(15),
		},
		"gave way to the first of several mentions": {
			m, rows{changes: []store.RecordedChange{said, mention, passed(later, conversation.Addressed, 20)}}, nil, "given up for " + ts(15),
		},
		"a mention before another one": {
			m, rows{changes: []store.RecordedChange{passed(m, conversation.Addressed, 10), mention}}, nil, "which answers in its thread",
		},
		"withdrawn with a later one, which gave way to a mention": {
			m, rows{changes: []store.RecordedChange{said, passed(heard(40), conversation.Addressed, 40)}, decisions: []store.Decision{
				decided("a", later, 25, "withdrawn"),
			}}, []string{"a"}, "given up for " + ts(40),
		},
		"decided about before a mention": {
			m, rows{changes: []store.RecordedChange{said, mention}, decisions: []store.Decision{decided("a", m, 12, "silent")}}, []string{"a"}, "",
		},
		"a mention": {m, rows{changes: []store.RecordedChange{passed(m, conversation.Addressed, 10)}}, nil, "`starter why C1 " + m.TS + "`"},
		"a mention, in its thread's story": {
			m, rows{conversation: chat.Conversation{Team: "T1", Channel: "C1", Thread: m.TS}, changes: []store.RecordedChange{passed(m, conversation.Addressed, 10)}},
			nil, "nothing decided yet",
		},
		"a mention with what was decided in its thread": {
			m, rows{changes: []store.RecordedChange{passed(m, conversation.Addressed, 10)}, decisions: []store.Decision{inThread}}, []string{"thread"}, "",
		},
		"a mention in a thread, which answers all": {
			in(5, m), rows{changes: []store.RecordedChange{passed(in(5, m), conversation.Said, 10), passed(in(5, later), conversation.Addressed, 20)}, decisions: []store.Decision{
				decided("a", in(5, later), 25, "posted"),
			}}, []string{"a"}, "together with " + later.TS,
		},
		"in another conversation":    {m, rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{decided("a", reply, 25, "posted")}}, nil, "nothing decided yet"},
		"decided before it came":     {m, rows{changes: []store.RecordedChange{passed(m, conversation.Said, 30)}, decisions: []store.Decision{decided("a", later, 25, "posted")}}, nil, "nothing decided yet"},
		"deleted":                    {deleted(m), rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{decided("b", later, 25, "posted")}}, nil, "deleted before anything was decided"},
		"deleted after a decision":   {deleted(m), rows{changes: []store.RecordedChange{said}, decisions: []store.Decision{decided("a", m, 15, "withdrawn")}}, []string{"a"}, ""},
		"not relayed":                {m, rows{changes: []store.RecordedChange{unrelayed}}, nil, "waiting to be relayed"},
		"waiting":                    {m, rows{changes: []store.RecordedChange{said}}, nil, "`starter show`"},
		"a bot's, ignored":           {bots(m), rows{}, nil, "a message of the bot B1, and the channel's bots setting is ignore"},
		"of a bot that is not named": {bots(m), rows{options: Options{Settings: config.ChannelSettings{Bots: config.Bots{"A0ALERTS", "B2"}}}}, nil, "bots setting is [A0ALERTS B2]"},
		"a bot's, ignored then":      {bots(m), rows{options: Options{Settings: judging}}, nil, "bots setting left out B1"},
		"the bot's own, in a story":  {store.StoredMessage{Message: chat.Message{TS: m.TS, Own: true}}, rows{}, nil, ""},
		"the bot's own, alone":       {store.StoredMessage{Message: chat.Message{TS: m.TS, Own: true}}, rows{options: Options{MessageTS: m.TS}}, nil, "the bot's own message"},
		"before the bot came":        {read(heard(-10), 5), rows{channel: known}, nil, "before the bot knew the channel"},
		"in a channel never listed":  {read(m, 5), rows{}, nil, "before the bot knew the channel"},
		"found too late":             {read(m, 61), rows{channel: known, options: Options{Settings: settings}}, nil, "max_message_age_seconds (60)"},
		"not caught up with":         {read(m, 59), rows{channel: known, options: Options{Settings: settings}}, nil, "not heard yet"},
		"only an edit was heard":     {read(m, 5), rows{channel: known, changes: []store.RecordedChange{passed(m, conversation.Edited, 15)}, decisions: []store.Decision{decided("b", later, 25, "posted")}}, nil, "only got an edit of it"},
		"heard after its edit":       {m, rows{changes: []store.RecordedChange{passed(m, conversation.Edited, 10), passed(m, conversation.Said, 11)}}, nil, "nothing decided yet"},
		"deleted unheard":            {deleted(m), rows{channel: known}, nil, "deleted before the bot saw it"},
		"mode off":                   {m, rows{channel: known, options: mode(config.ModeOff)}, nil, "not heard: the channel's mode is off"},
		"mode mention":               {m, rows{channel: known, options: mode(config.ModeMention)}, nil, "not heard: the channel's mode is mention"},
		"mode mention, a bot's":      {bots(m), rows{channel: known, options: mode(config.ModeMention)}, nil, "not heard: the channel's mode is mention"},
		"mode off then, a mention":   {mentioning(m), rows{channel: known, options: mode(config.ModeMention)}, nil, "when it came, the channel's mode was off"},
		"mode mention then":          {m, rows{channel: known, options: mode(config.ModeJudge)}, nil, "when it came, the channel's mode was off, or was mention"},
		"mode mention, heard":        {m, rows{changes: []store.RecordedChange{said}, options: mode(config.ModeMention)}, nil, "`starter show`"},
		"kept no longer":             {m, rows{channel: known, options: Options{LedgerSince: second(11)}}, nil, "were deleted after retention.ledger_days"},
		"a change kept longer":       {m, rows{changes: []store.RecordedChange{passed(m, conversation.Addressed, 10)}, conversation: chat.Conversation{Team: "T1", Channel: "C1", Thread: m.TS}, options: Options{LedgerSince: second(11)}}, nil, "were deleted after retention.ledger_days"},
		"kept yet":                   {m, rows{changes: []store.RecordedChange{said}, options: Options{LedgerSince: second(10)}}, nil, "nothing decided yet"},
		"the bot's own, long ago":    {store.StoredMessage{Message: chat.Message{TS: m.TS, Own: true}}, rows{options: Options{LedgerSince: second(11)}}, nil, ""},
	} {
		if c.rows.conversation == (chat.Conversation{}) {
			c.rows.conversation = top
		}
		got := c.rows.explain(c.m)
		var keys []string
		for _, d := range got.decisions {
			keys = append(keys, d.Key)
		}
		if want := c.note; !slices.Equal(keys, c.keys) || !strings.Contains(got.note, want) || want == "" && got.note != "" {
			t.Errorf("%s: decisions %v, note %q; want %v, %q", name, keys, got.note, c.keys, want)
		}
	}
}

// Whatever the rows are, a timeline has every message once and every decision once, in order of
// time.
func TestTimelineIsInOrder(t *testing.T) {
	m, later := heard(10), heard(20)
	r := rows{
		conversation: top, messages: []store.StoredMessage{m, later},
		changes:   []store.RecordedChange{passed(m, conversation.Said, 10), passed(later, conversation.Said, 20)},
		decisions: []store.Decision{decided("a", m, 15, "withdrawn"), decided("b", later, 25, "posted")},
		orders:    []store.Order{{Kind: "mute", By: "slack:U1", At: second(30)}, {Kind: "unmute", By: "cli:ann", At: second(5)}},
	}
	want := []string{"unmute", m.TS, "a", later.TS, "b with " + m.TS, "mute"}
	if got := outline(r.timeline()); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Restricted to the first message: the second one's decision is also about it; orders after
	// that decision are not.
	r.options.MessageTS, r.messages = m.TS, r.messages[:1]
	want = []string{"unmute", m.TS, "a", "b with " + m.TS}
	if got := outline(r.timeline()); !slices.Equal(got, want) {
		t.Errorf("of one message: %q, want %q", got, want)
	}
}

func outline(s Timeline) (got []string) {
	for _, e := range s.Entries {
		switch {
		case e.Message != nil:
			got = append(got, e.Message.TS)
		case e.Order != nil:
			got = append(got, e.Order.Kind)
		default:
			line := e.Decision.Key
			for _, with := range e.Decision.With {
				line += fmt.Sprint(" with ", with)
			}
			got = append(got, line)
		}
	}
	return got
}

// Only messages of people are undecided that their conversation was told of, and that nothing has ended.
func TestUndecided(t *testing.T) {
	t.Parallel()
	m, later, mention := heard(10), heard(20), heard(15)
	said := passed(m, conversation.Said, 10)
	unrelayed, byHimself, toThread := said, passed(mention, conversation.Addressed, 15), passed(mention, conversation.Addressed, 15)
	unrelayed.Relayed, byHimself.Author = time.Time{}, m.UserID
	byAnother := byHimself
	byAnother.Author = "U2"
	toThread.WorkflowID = of(in(15, mention))
	answered := decided("thread", mention, 16, "posted")
	answered.WorkflowID = toThread.WorkflowID
	by := func(d store.Decision, ts string) store.Decision { d.OutcomeBy = ts; return d }
	changes := func(c ...store.RecordedChange) []store.RecordedChange { return append(c, said) }
	for name, c := range map[string]struct {
		rows rows
		m    store.StoredMessage
		want bool
	}{
		"nothing decided":            {rows{changes: changes()}, m, true},
		"not relayed":                {rows{changes: []store.RecordedChange{unrelayed}}, m, false},
		"never told":                 {rows{}, m, false},
		"deleted":                    {rows{changes: changes()}, deleted(m), false},
		"of an app":                  {rows{changes: changes()}, bots(m), false},
		"earlier":                    {rows{changes: changes(), options: Options{Since: second(11)}}, m, false},
		"decided":                    {rows{changes: changes(), decisions: []store.Decision{decided("a", m, 11, "silent")}}, m, false},
		"decided with a later one":   {rows{changes: changes(), decisions: []store.Decision{decided("a", later, 21, "silent")}}, m, false},
		"pending":                    {rows{changes: changes(), decisions: []store.Decision{decided("a", m, 11, "pending")}}, m, true},
		"pending, then decided":      {rows{changes: changes(), decisions: []store.Decision{decided("a", m, 11, "pending"), decided("b", m, 12, "posted")}}, m, false},
		"withdrawn by a later one":   {rows{changes: changes(passed(later, conversation.Said, 20)), decisions: []store.Decision{by(decided("a", m, 11, "withdrawn"), later.TS)}}, m, true},
		"withdrawn in a thread":      {rows{changes: changes(), decisions: []store.Decision{by(decided("a", m, 11, "withdrawn"), ts(12))}}, m, false},
		"overruled":                  {rows{changes: changes(), decisions: []store.Decision{decided("a", m, 11, "overruled")}}, m, true},
		"dropped":                    {rows{changes: changes(), orders: []store.Order{{Kind: "drop", At: second(12)}}}, m, false},
		"hushed":                     {rows{changes: changes(passed(m, conversation.Hushed, 12))}, m, false},
		"given up for a mention":     {rows{changes: changes(byHimself)}, m, false},
		"others' before a mention":   {rows{changes: changes(byAnother)}, m, true},
		"a mention":                  {rows{changes: []store.RecordedChange{byHimself, toThread}}, mention, true},
		"a mention that is answered": {rows{changes: []store.RecordedChange{byHimself, toThread}, decisions: []store.Decision{answered}}, mention, false},
	} {
		c.rows.conversation, c.rows.messages = top, []store.StoredMessage{c.m}
		got := c.rows.undecided()
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %+v, want one: %v", name, got, c.want)
		}
		if c.m.TS == mention.TS && c.want && !slices.Equal(got[0].Told, []string{top.ID(), toThread.WorkflowID}) {
			t.Errorf("%s: told %q", name, got[0].Told)
		}
		if name == "pending" && !slices.Equal(got[0].Pending, []string{"a"}) {
			t.Errorf("%s: pending are %q", name, got[0].Pending)
		}
	}
}
