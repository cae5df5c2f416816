package chatops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/operator"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/store/storetest"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	here = chat.Conversation{Team: "T1", Channel: "C1"}
	own  = slack.Identity{TeamID: "T1", UserID: "UBOT", URL: "https://example.slack.com/"}
)

// crew is an operator that remembers what it was told.
type crew struct {
	orders  []string
	waiting []operator.Listed
	filter  operator.Filter
	err     error
}

func (c *crew) Order(_ context.Context, in chat.Conversation, update string, o conversation.Order, id string) error {
	c.orders = append(c.orders, fmt.Sprintf("%s %s by %s for %d as %s", in.ID(), update, o.By, o.Seconds, id))
	return c.err
}

func (c *crew) Conversations(_ context.Context, f operator.Filter) ([]operator.Listed, error) {
	c.filter = f
	return c.waiting, c.err
}

// rooms are channels, all alike, the bot in all of them but one.
type rooms struct{ settings config.ChannelSettings }

func (r *rooms) Absent(_ context.Context, _, channel string) bool { return channel == "CELSEWHERE" }

func (r *rooms) Settings(context.Context, string, string) config.ChannelSettings { return r.settings }

type bench struct {
	*Handler
	crew  *crew
	rooms *rooms
	reach error
}

func setup(t *testing.T) *bench {
	t.Helper()
	db := storetest.Open(t)
	b := &bench{crew: &crew{}, rooms: &rooms{settings: config.Default().Channel(config.ChannelFacts{ID: "C1"})}}
	b.Handler = &Handler{
		Config: config.Default(), Store: db, Operator: b.crew, Directory: b.rooms, Clock: func() time.Time { return noon },
		CheckTemporal: func(context.Context) error { return b.reach }, Logger: slog.New(slog.DiscardHandler),
	}
	b.Handler.Config.Slack.Operators = []string{"UBOSS"}
	return b
}

// say types something after the command and returns the answer.
func (b *bench) say(t *testing.T, user, text string) (answer, result string) {
	t.Helper()
	answer, _, result = b.Answer(t.Context(), slack.Command{
		Request: slack.Request{User: user, Channel: "C1", ID: "1.2.x"}, Name: "/myao", Text: text,
	}, own)
	return answer, result
}

func wants(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not hold %q", got, part)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, text := range []string{"", "help", "HELP me"} {
		answer, result := b.say(t, "U1", text)
		if result != done {
			t.Errorf("%q: %s", text, result)
		}
		for order := range subcommands {
			wants(t, answer, "`/myao "+order)
		}
	}
	answer, result := b.say(t, "U1", "`<!channel>` & more")
	if result != unknown || strings.Contains(answer, "<!") {
		t.Errorf("%s: %q", result, answer)
	}
	wants(t, answer, "I do not know `&lt;!channel&gt;`.", "/myao status")
}

// Each order is for those alone who may; everybody else is told who that is.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for what, order := range subcommands {
		b := setup(t)
		b.Config.Slack.EveryoneMay = nil
		answer, result := b.say(t, "U1", what)
		if result != refused || len(b.crew.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", what, result, b.crew.orders)
		}
		wants(t, answer, "You may not ", "<@UBOSS>")
		if answer, _ := b.say(t, "UBOSS", what); strings.Contains(answer, "may not") {
			t.Errorf("%s by an operator: %q", what, answer)
		}
		b.Config.Slack.EveryoneMay = []config.Permission{order.permission}
		if answer, _ := b.say(t, "U1", what); strings.Contains(answer, "may not") {
			t.Errorf("%s, which everybody may: %q", what, answer)
		}
		b.Config.Slack = config.Slack{}
		answer, _ = b.say(t, "U1", what)
		wants(t, answer, "You may not ", "slack.operators")
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what := range subcommands {
		answer, _, result := b.Answer(t.Context(), slack.Command{
			Request: slack.Request{User: "UBOSS", Channel: "CELSEWHERE"}, Name: "/myao", Text: what,
		}, own)
		if result != refused || len(b.crew.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", what, result, b.crew.orders)
		}
		wants(t, answer, "I am not in this conversation")
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"snooze":       "channel/T1/C1 snooze by slack:U1 for 3600 as slack/1.2.x",
		"snooze 30m":   "channel/T1/C1 snooze by slack:U1 for 1800 as slack/1.2.x",
		"snooze 1m":    "channel/T1/C1 snooze by slack:U1 for 60 as slack/1.2.x",
		"SNOOZE 1d12h": "channel/T1/C1 snooze by slack:U1 for 129600 as slack/1.2.x",
		"snooze 366d":  "channel/T1/C1 snooze by slack:U1 for 31622400 as slack/1.2.x",
		"mute":         "channel/T1/C1 mute by slack:U1 for 0 as slack/1.2.x",
		"unmute":       "channel/T1/C1 unmute by slack:U1 for 0 as slack/1.2.x",
	} {
		b := setup(t)
		answer, result := b.say(t, "U1", text)
		if result != done || !slices.Equal(b.crew.orders, []string{want}) || answer == "" {
			t.Errorf("%s: %s, %q, ordered %q, want %q", text, result, answer, b.crew.orders, want)
		}
		for err, part := range map[error]string{
			&operator.Refused{Text: "nothing <there>"}:      "Not done: nothing &lt;there&gt;.",
			&operator.PausedError{WorkflowID: here.ID()}:    "Nothing was changed: somebody has paused me",
			fmt.Errorf("x: %w", operator.ErrNoWorker):       "Nobody has confirmed that",
			fmt.Errorf("x: %w", operator.ErrNoServer):       "Nobody has confirmed that",
			fmt.Errorf("x: %w", context.DeadlineExceeded):   "Nobody has confirmed that",
			errors.New("the password of postgres is hello"): "That did not work",
		} {
			b.crew.err = err
			answer, result := b.say(t, "U1", text)
			if result == done || strings.Contains(answer, "hello") {
				t.Errorf("%s, %v: %s, %q", text, err, result, answer)
			}
			wants(t, answer, part)
		}
		before := len(b.crew.orders)
		b.reach = errors.New("connection refused")
		answer, result = b.say(t, "U1", text)
		if result != failed || len(b.crew.orders) != before {
			t.Errorf("%s without Temporal: %s, ordered %q", text, result, b.crew.orders)
		}
		wants(t, answer, "Temporal", "Nothing was changed")
	}
}

// Who adds something to an order wants more than it does.
func TestOrdersThatTakeNothing(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"mute 2h":       "For a time there is `/myao snooze 2h`.",
		"MUTE <now>":    "nothing goes behind `mute`",
		"unmute please": "nothing goes behind `unmute`",
		"status C2":     "nothing goes behind `status`",
	} {
		b := setup(t)
		answer, result := b.say(t, "U1", text)
		if result != refused || len(b.crew.orders) > 0 || b.crew.filter.Team != "" {
			t.Errorf("%s: %s, ordered %q", text, result, b.crew.orders)
		}
		wants(t, answer, part, "`/myao status`")
	}
}

func TestBadSnooze(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, span := range []string{"0m", "30s", "-2h", "2", "h", "1.5h", "367d", "8785h", "99999999999h", "12h1d", "1h 30m", "tomorrow"} {
		answer, result := b.say(t, "U1", "snooze "+span)
		if result != refused || len(b.crew.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", span, result, b.crew.orders)
		}
		wants(t, answer, "`1m` to `366d`")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rooms.settings.DailyTokens = 100
	answer, result := b.say(t, "U1", "status")
	if result != done || answer != "Nothing waits here.\nToday, 0 calls and 0 of 100 tokens of models." {
		t.Errorf("%s: %q", result, answer)
	}
	busy := []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying, conversation.Replying}
	if b.crew.filter.Team != "T1" || b.crew.filter.Channel != "C1" || !slices.Equal(b.crew.filter.Phases, busy) {
		t.Errorf("asked for %+v", b.crew.filter)
	}

	thread := here
	thread.Thread = "1772366400.000100"
	b.crew.waiting = []operator.Listed{
		{Conversation: here, Phase: conversation.Waiting, DueAt: noon.Add(time.Minute), Since: noon, Pending: new(3)},
		{Conversation: thread, Phase: conversation.Delaying, DueAt: noon.Add(time.Hour), Since: noon, Pending: new(1)},
		{Conversation: thread, Phase: conversation.Judging, Since: noon},
		{Conversation: thread, Phase: conversation.Replying, Since: noon},
		{Conversation: thread, Phase: operator.Unknown},
		{Conversation: thread, Phase: operator.Paused},
	}
	quiet, err := config.ParseQuietHours("11:00-13:00")
	if err != nil {
		t.Fatal(err)
	}
	b.rooms.settings.Mode, b.rooms.settings.DailyCalls, b.rooms.settings.DailyTokens, b.rooms.settings.QuietHours = config.ModeMention, 2, 0, quiet
	for range 2 {
		if err := b.Store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: "C1"}, TokensIn: 40, TokensOut: 2, Ended: noon}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: "1", Scope: chat.Scope(here), Kind: conversation.UpdateSnooze, Until: noon.Add(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	answer, result = b.say(t, "U1", "status")
	if result != done {
		t.Error(result)
	}
	wants(t, answer,
		"• Top level: I wait for it to be quiet, and judge at <!date^1772366460^{date_short_pretty} {time_secs}|2026-03-01 12:01:00 UTC> (3 messages), since",
		"• <https://example.slack.com/archives/C1/p1772366400000100|Thread of 2026-03-01 12:00:00>: I mean to answer, and hold it back until <!date^1772370000^{date_short_pretty} {time_secs}|2026-03-01 13:00:00 UTC>, since",
		": I judge whether to say something, since", ": I am answering, since",
		"does not tell where it stands", ": somebody has paused me in Temporal",
		"I am silent here until <!date^1772373600^",
		"My mode here is `mention`.", "These are my quiet hours",
		"Today, 2 of 2 calls and 84 tokens of models. That is all for today")

	if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: "2", Scope: chat.Scope(here), Kind: conversation.UpdateMute, Until: noon.AddDate(100, 0, 0)}); err != nil {
		t.Fatal(err)
	}
	b.crew.err = errors.New("unavailable")
	answer, result = b.say(t, "U1", "status")
	if result != failed {
		t.Error(result)
	}
	wants(t, answer, "Temporal did not say", "I am muted here")
	b.reach = errors.New("connection refused")
	answer, result = b.say(t, "U1", "status")
	if result != failed {
		t.Error(result)
	}
	wants(t, answer, "Temporal", "What waits I cannot tell", "I am muted here until somebody says `unmute`.", "2 of 2 calls")
	if strings.Contains(answer, "another id") {
		t.Errorf("%q", answer)
	}
}

func TestStatusOfAChannelWithANewID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Channels = map[string]config.Channel{"G1": {Mode: config.ModeOff}}
	if err := b.Store.MoveChannel(t.Context(), store.Move{Team: "T1", From: "G1", To: "C1", Mute: noon.AddDate(100, 0, 0)}); err != nil {
		t.Fatal(err)
	}
	answer, _ := b.say(t, "U1", "status")
	wants(t, answer, "I am muted here until somebody says `unmute`.", "another id", "under the old one, `G1`", "to `C1`")
	b.Config.Channels["C1"] = config.Channel{}
	answer, _ = b.say(t, "U1", "status")
	wants(t, answer, "muted here", "the old one was `G1`.")
	if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: "1", Scope: chat.Scope(here), Kind: conversation.UpdateUnmute}); err != nil {
		t.Fatal(err)
	}
	if answer, _ = b.say(t, "U1", "status"); strings.Contains(answer, "another id") {
		t.Errorf("%q", answer)
	}
}

// foreign is what of an answer in Japanese is in English, but for what is typed or a name.
func foreign(answer string) []string {
	answer = regexp.MustCompile("`[^`]*`|<[^>|]*[>|]|2026-[^>]*>").ReplaceAllString(answer, "")
	words := regexp.MustCompile(`[A-Za-z]{2,}`).FindAllString(answer, -1)
	return slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains([]string{"Slack", "Temporal", "ID", "ts", "mute", "snooze", "unmute"}, w)
	})
}

// Where the configuration's language is Japanese, so is all that is answered.
func TestAnswersInJapanese(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Language = config.Japanese
	says := func(user, text string) {
		t.Helper()
		answer, _ := b.say(t, user, text)
		if left := foreign(answer); len(left) > 0 || !regexp.MustCompile(`\p{Hiragana}`).MatchString(answer) {
			t.Errorf("%s: %q is in English in %q", text, left, answer)
		}
	}
	all := []string{
		"help", "nonsense", "status", "why", "why yesterday", "why https://x.slack.com/archives/C2/p1700000000000100", "why 1700000000.000100",
		"snooze", "snooze for long", "mute", "mute 2h", "unmute", "forget", "forget yes",
	}
	for _, text := range all {
		says("UBOSS", text)
	}
	for name, set := range map[string]func(){
		"not confirmed":    func() { b.crew.err = operator.ErrNoWorker },
		"paused":           func() { b.crew.err = &operator.PausedError{} },
		"not possible":     func() { b.crew.err = &operator.Refused{Text: "ない"} },
		"out of order":     func() { b.crew.err = errors.New("no") },
		"without Temporal": func() { b.reach = errors.New("connection refused") },
		"for operators":    func() { b.Config.Slack = config.Slack{Operators: []string{"UCHIEF"}} },
		"for nobody":       func() { b.Config.Slack = config.Slack{} },
	} {
		t.Log(name)
		set()
		for _, text := range all {
			says("UBOSS", text)
		}
	}

	b = setup(t)
	b.Config.Language = config.Japanese
	b.Config.Channels = map[string]config.Channel{"G1": {Mode: config.ModeOff}}
	if err := b.Store.MoveChannel(t.Context(), store.Move{Team: "T1", From: "G1", To: "C1", Mute: noon.AddDate(100, 0, 0)}); err != nil {
		t.Fatal(err)
	}
	thread := here
	thread.Thread = "1772366400.000100"
	for _, phase := range []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying, conversation.Replying, operator.Unknown, operator.Paused} {
		for _, c := range []chat.Conversation{here, thread} {
			b.crew.waiting = append(b.crew.waiting, operator.Listed{Conversation: c, Phase: phase, DueAt: noon, Since: noon, Pending: new(3)})
		}
	}
	quiet, err := config.ParseQuietHours("11:00-13:00")
	if err != nil {
		t.Fatal(err)
	}
	b.rooms.settings.Mode, b.rooms.settings.DailyTokens, b.rooms.settings.QuietHours = config.ModeMention, 1, quiet
	says("U1", "status")
	if err := b.Store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: "C1"}, TokensIn: 40, TokensOut: 2, Ended: noon}); err != nil {
		t.Fatal(err)
	}
	b.rooms.settings.DailyCalls, b.rooms.settings.DailyTokens = 1, 0
	b.Config.Channels["C1"] = config.Channel{}
	says("U1", "status")
	if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: "1", Scope: chat.Scope(here), Kind: conversation.UpdateSnooze, Until: noon.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	says("U1", "status")
	answer, _, _ := b.Answer(t.Context(), slack.Command{Request: slack.Request{User: "U1", Channel: "CELSEWHERE"}, Name: "/myao", Text: "status"}, own)
	if left := foreign(answer); len(left) > 0 {
		t.Errorf("%q", answer)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][2]string{
		"1700000000.000100": {"", "1700000000.000100"},
		"p1700000000000100": {"", "1700000000.000100"},
		"https://x.slack.com/archives/C1/p1700000000000100":                    {"C1", "1700000000.000100"},
		"<https://x.slack.com/archives/C1/p1700000000000100>":                  {"C1", "1700000000.000100"},
		"<https://x.slack.com/archives/C1/p1700000000000100|that one>":         {"C1", "1700000000.000100"},
		"https://x.slack.com/archives/C1/p1700000000000100?thread_ts=17.1&cid": {"C1", "1700000000.000100"},
		"https://x.slack.com/archives/C1":                                      {},
		"http://x.slack.com/archives/C1/p1700000000000100":                     {},
		"yesterday": {},
		"p17":       {},
		"":          {},
	} {
		channel, ts, ok := parseMessage(s)
		if channel != want[0] || ts != want[1] || ok != (want[1] != "") {
			t.Errorf("%q is %q in %q, %v; want %q", s, ts, channel, ok, want)
		}
	}
}

func TestWhyOfNoMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for text, part := range map[string]string{
		"why yesterday": "I do not know which message that is",
		"why https://x.slack.com/archives/C2/p1700000000000100": "in another channel",
		"why 1700000000.000100":                                 "I have not heard of that message",
	} {
		answer, _ := b.say(t, "U1", text)
		wants(t, answer, part)
	}
}

// The bot may have been called into a thread whose parent it never saw.
func TestWhyOfAThreadWithoutItsParent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for parent, want := range map[time.Time]string{
		noon.Add(-time.Hour):      "I have decided nothing about that yet.",
		noon.AddDate(0, 0, -1000): "That is so long ago that I do not know any more.",
	} {
		reply := chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(parent.Add(time.Minute)), ThreadTS: chat.TS(parent), UserID: "U1", Text: "hello?"}
		if _, err := b.Store.Record(t.Context(), reply, func(store.Known) store.Entry { return store.Entry{Message: &reply, Handled: true} }); err != nil {
			t.Fatal(err)
		}
		for _, ts := range []string{reply.ThreadTS, reply.TS} {
			if answer, result := b.say(t, "U1", "why "+ts); result != done || answer != want {
				t.Errorf("%s: %s, %q, want %q", ts, result, answer, want)
			}
		}
	}
}

// An edit of what the bot never heard of asks for nothing, and never will.
func TestWhyOfAnEditAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	edited := chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(noon.Add(-time.Hour)), UserID: "U1", Text: "hello?", Revision: chat.TS(noon)}
	change := store.Change{Conversation: here, Change: conversation.Change{TS: edited.TS, Kind: conversation.Edited, Revision: edited.Revision}}
	if _, err := b.Store.Record(t.Context(), edited, func(store.Known) store.Entry {
		return store.Entry{Message: &edited, Changes: []store.Change{change}}
	}); err != nil {
		t.Fatal(err)
	}
	answer, result := b.say(t, "U1", "why "+edited.TS)
	if want := "only of an edit of it"; result != done || !strings.Contains(answer, want) {
		t.Errorf("%s, %q, want %q", result, answer, want)
	}
}

// What the database does not take is not told as done, nor what it does not give as nothing.
func TestWithoutADatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"status", "why", "forget yes"} {
		answer, result := b.say(t, "UBOSS", text)
		if result != failed {
			t.Errorf("%s: %s", text, result)
		}
		wants(t, answer, "That did not work")
	}
}

// Forgetting is asked for twice, and is for operators unless the configuration says otherwise.
func TestForget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scope := chat.Scope{Team: "T1", Channel: "C1"}
	memory := store.Memory{Scope: scope, Term: chat.ShortTerm, Text: "they talk of cats", Made: noon}
	if err := b.Store.SaveDraft(t.Context(), memory, store.Cursor{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.SaveMemories(t.Context(), store.MemoryUpdate{Scope: scope, Long: store.KeepMemory, Short: store.PromoteDraft, Read: noon}); err != nil {
		t.Fatal(err)
	}
	remembered := func() bool {
		standing, err := b.Store.CurrentMemory(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		return standing.Short != nil
	}
	if _, result := b.say(t, "U1", "forget yes"); result != refused || !remembered() {
		t.Errorf("anybody: %s, remembered %v", result, remembered())
	}
	answer, result := b.say(t, "UBOSS", "forget")
	if result != done || !remembered() {
		t.Errorf("asked once: %s, remembered %v", result, remembered())
	}
	wants(t, answer, "`/myao forget yes`")
	for range 2 { // the request comes again
		answer, result = b.say(t, "UBOSS", "forget yes")
		if result != done || remembered() {
			t.Errorf("%s, %q, remembered %v", result, answer, remembered())
		}
	}
}
