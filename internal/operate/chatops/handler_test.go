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
	"myao/internal/operate/operator"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/storetest"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	here = chat.Conversation{Team: "T1", Channel: "C1"}
	own  = slack.Identity{TeamID: "T1", UserID: "UBOT", URL: "https://example.slack.com/"}
)

// fakeOperator records the orders that it gets.
type fakeOperator struct {
	orders  []string
	waiting []operator.Listed
	filter  operator.Filter
	err     error
}

func (f *fakeOperator) Order(_ context.Context, in chat.Conversation, update string, o conversation.Order, id string) error {
	f.orders = append(f.orders, fmt.Sprintf("%s %s by %s for %d as %s", in.ID(), update, o.By, o.Seconds, id))
	return f.err
}

func (f *fakeOperator) ForgetPerson(_ context.Context, p chat.Person) error {
	f.orders = append(f.orders, "forget "+p.Team+" "+p.User)
	return f.err
}

func (f *fakeOperator) Conversations(_ context.Context, filter operator.Filter) ([]operator.Listed, error) {
	f.filter = filter
	return f.waiting, f.err
}

// fakeDirectory has the same settings for all channels. The bot is in all of them except CELSEWHERE.
type fakeDirectory struct{ settings config.ChannelSettings }

func (f *fakeDirectory) Absent(_ context.Context, _, channel string) bool {
	return channel == "CELSEWHERE"
}

func (f *fakeDirectory) Facts(_ context.Context, _, channel string) config.ChannelFacts {
	return config.ChannelFacts{ID: channel}
}

func (f *fakeDirectory) Settings(context.Context, string, string) config.ChannelSettings {
	return f.settings
}

type bundle struct {
	*Handler
	operator  *fakeOperator
	directory *fakeDirectory
	temporal  error
}

func setup(t *testing.T) *bundle {
	t.Helper()
	db := storetest.Open(t)
	b := &bundle{operator: &fakeOperator{}, directory: &fakeDirectory{settings: config.Default().Channel(config.ChannelFacts{ID: "C1"})}}
	b.Handler = &Handler{
		Config: config.Default(), Store: db, Operator: b.operator, Directory: b.directory, Clock: func() time.Time { return noon },
		CheckTemporal: func(context.Context) error { return b.temporal }, Logger: slog.New(slog.DiscardHandler),
		Members: NewMembership(isIn{"C1"}, func() time.Time { return noon }, slog.New(slog.DiscardHandler)),
	}
	b.Handler.Config.Slack.Operators = []string{"UBOSS"}
	b.directory.settings.Language = "" // that of the configuration, which tests change
	return b
}

// say types a text after the command and returns the answer.
func (b *bundle) say(t *testing.T, user, text string) (answer, result string) {
	t.Helper()
	return b.sayIn(t, "C1", user, text)
}

func (b *bundle) sayIn(t *testing.T, channel, user, text string) (answer, result string) {
	t.Helper()
	told, _, result := b.Answer(t.Context(), slack.Command{
		Request: slack.Request{User: user, Channel: channel, ID: "1.2.x"}, Name: "/myao", Text: text,
	}, own, strings.HasPrefix(user, "UOUT"))
	return told.Text, result
}

// propose has a proposal that nobody has decided about, and one that is approved, in a conversation.
func (b *bundle) propose(t *testing.T, in chat.Conversation) {
	t.Helper()
	p := &store.Proposal{Choice: store.Choice{Asker: "U1"}, Server: "desk", LapsesUS: time.Now().Add(time.Hour).UnixMicro()}
	steps, err := b.Store.SaveTurn(t.Context(), in, in.Thread, store.Turn{Decision: "r/1", Steps: []store.Step{
		{Tool: "desk__create", Input: `{"title":"secret"}`, State: store.StepProposed, Proposal: p}, {Tool: "desk__close", Input: "{}", State: store.StepProposed, Proposal: p},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.ShowProposals(t.Context(), "r/1", "1772366401.000100"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := b.Store.DecideProposal(t.Context(), steps[1].ID, conversation.Approved, "slack:U1"); err != nil {
		t.Fatal(err)
	}
}

// share has people of another company in the channel, or only its own.
func (b *bundle) share(t *testing.T, external bool) {
	t.Helper()
	must(t, b.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: "C1", Name: "one", Member: true, External: external}))
}

// record stores a message, and hands on what it changes.
func (b *bundle) record(t *testing.T, m chat.Message, handled bool, changes ...store.Change) {
	t.Helper()
	_, err := b.Store.Record(t.Context(), m, func(store.Known) store.Entry {
		return store.Entry{Message: &m, Handled: handled, Changes: changes}
	})
	must(t, err)
}

// promise has a promise that is confirmed, due some hours after noon.
func (b *bundle) promise(t *testing.T, p store.Promise, hours int) {
	t.Helper()
	p.TeamID, p.Decision, p.DueUS, p.Zone = "T1", "r/"+p.ID, noon.Add(time.Duration(hours)*time.Hour).UnixMicro(), "Europe/Berlin"
	if p.ChannelID == "" {
		p.ChannelID = "C1"
	}
	if _, err := b.Store.AddPromise(t.Context(), p, store.PromiseLimits{Conversation: 50}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.ShowPromises(t.Context(), p.Decision, "1772366401.000100"); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
	wants(t, answer, "I do not know the command `&lt;!channel&gt;`.", "/myao status")
}

// Whoever may not use a subcommand is told who may.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for what, order := range subcommands {
		b := setup(t)
		b.Config.Slack.EveryoneMay = nil
		answer, result := b.say(t, "U1", what)
		if result != refused || len(b.operator.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", what, result, b.operator.orders)
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

// Outsiders may ask for the status and for promises alone, unless the configuration says otherwise. They read no
// reasons from before the channel was shared.
func TestOutsiders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, order := range subcommands {
		if answer, result := b.say(t, "UOUT", what+" yes"); what != "status" && what != "promises" && (result != refused || !strings.Contains(answer, "may not")) {
			t.Errorf("%s: %s, %q", what, result, answer)
		}
		if b.Config.Slack.May("U1", false, order.permission) {
			answer, _ := b.say(t, "UOUT", what)
			if refusal := "guests and people from other companies"; strings.Contains(answer, refusal) == (order.permission == config.MayStatus) {
				t.Errorf("%s: %q", what, answer)
			}
		}
	}
	if len(b.operator.orders) > 0 {
		t.Errorf("carried out %v", b.operator.orders)
	}
	b.Config.Slack.OutsidersMay, b.Config.Slack.Operators = []config.Permission{config.MayWhy}, []string{"UOUTBOSS"}
	decide := func(reason string) {
		t.Helper()
		ts := chat.TS(time.Now())
		d := store.Decision{Key: reason, WorkflowID: here.ID(), TriggerTS: ts, Source: "judgment", Reason: reason, Outcome: conversation.Silent}
		must(t, errors.Join(b.Store.SaveHistory(t.Context(), []chat.Message{{Team: "T1", Channel: "C1", TS: ts, UserID: "U1", Text: "hello"}}), b.Store.Decide(t.Context(), d)))
	}
	reads := func(when string, outsiderReads ...string) {
		t.Helper()
		for user, want := range map[string][]string{"U1": {"the merger", "the party"}, "UOUT": outsiderReads, "UOUTBOSS": {"the merger", "the party"}} {
			answer, result := b.say(t, user, "why")
			for _, reason := range []string{"the merger", "the party"} {
				if result != done || strings.Contains(answer, reason) != slices.Contains(want, reason) {
					t.Errorf("%s, %s reads %q", when, user, answer)
				}
			}
			if len(want) == 0 {
				wants(t, answer, "since this channel has been shared")
			}
		}
	}
	decide("the merger")
	b.share(t, true)
	b.share(t, true)
	decide("the party")
	reads("shared since the first", "the party")
	b.share(t, false)
	reads("not shared")
	b.share(t, true)
	reads("shared anew")
}

// Everybody may have themselves forgotten, whatever the configuration says, guests too, and wherever they
// are.
func TestForgetMe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Slack.EveryoneMay = nil
	for _, text := range []string{"forget me", "forget me now", "FORGET me yes please"} {
		answer, result := b.say(t, "U1", text)
		if result != done || len(b.operator.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", text, result, b.operator.orders)
		}
		wants(t, answer, "`/myao forget me yes`")
	}
	answer, what, result := b.Answer(t.Context(), slack.Command{
		Request: slack.Request{User: "U1", Channel: "CELSEWHERE"}, Name: "/myao", Text: "Forget Me YES",
	}, own, true)
	if want := []string{"forget T1 U1"}; result != done || what != "forget_me" || !slices.Equal(b.operator.orders, want) {
		t.Errorf("%s, %s: ordered %q, want %q", what, result, b.operator.orders, want)
	}
	wants(t, answer.Text, "I am forgetting you.")
	b.operator.err = errors.New("the password of postgres is hello")
	if answer, result := b.say(t, "U1", "forget me yes"); result != failed || strings.Contains(answer, "hello") {
		t.Errorf("%s: %q", result, answer)
	}
	b.temporal, b.operator.orders = errors.New("connection refused"), nil
	if answer, result := b.say(t, "U1", "forget me yes"); result != failed || len(b.operator.orders) > 0 || !strings.Contains(answer, "Temporal") {
		t.Errorf("without Temporal %s: %q", result, answer)
	}
}

// Whoever was forgotten is told when they may be again.
func TestForgetMeOnceADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	guest := chat.Person{Team: "T1", User: "UGUEST"}
	if err := b.Store.ForgetPerson(t.Context(), guest, "slack:UGUEST", "o", func(string, int, int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	last, err := b.Store.Forgotten(t.Context(), guest)
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []chat.Language{chat.English, chat.Japanese} {
		b.Config.Language = language
		b.Clock = func() time.Time { return last.Add(24*time.Hour - time.Second) }
		for _, text := range []string{"forget me", "forget me yes"} {
			answer, result := b.say(t, guest.User, text)
			if result != refused || len(b.operator.orders) > 0 {
				t.Errorf("%s: %s, ordered %q", text, result, b.operator.orders)
			}
			wants(t, answer, fmt.Sprintf("<!date^%d^", last.Add(24*time.Hour).Unix()))
		}
	}
	if _, result := b.say(t, "U1", "forget me yes"); result != done {
		t.Errorf("somebody else: %s", result)
	}
	b.Clock = func() time.Time { return last.Add(24 * time.Hour) }
	if _, result := b.say(t, guest.User, "forget me yes"); result != done || len(b.operator.orders) != 2 {
		t.Errorf("a day later: %s, ordered %q", result, b.operator.orders)
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, order := range subcommands {
		if order.anywhere {
			continue
		}
		answer, result := b.sayIn(t, "CELSEWHERE", "UBOSS", what)
		if result != refused || len(b.operator.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", what, result, b.operator.orders)
		}
		wants(t, answer, "I am not in this conversation")
	}
}

// An operator stops the bot everywhere, from any channel and without Temporal.
func TestStopAndGo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.temporal = errors.New("down")
	say := func(channel, text string) string {
		t.Helper()
		answer, _, result := b.Answer(t.Context(), slack.Command{
			Request: slack.Request{User: "UBOSS", Channel: channel, ID: text + "/" + channel}, Name: "/myao", Text: text,
		}, own, false)
		if result != done && text != "status" {
			t.Errorf("%s: %s, %q", text, result, answer)
		}
		return answer.Text
	}
	wants(t, say("CELSEWHERE", "stop"), "I am silent in the whole workspace", "`/myao go`")
	if o, err := b.Store.MutedEverywhere(t.Context(), "T1"); err != nil || o == nil || o.By != "slack:UBOSS" {
		t.Fatalf("%+v, %v", o, err)
	}
	wants(t, say("C1", "status"), "I am muted in the whole workspace", "`/myao go`")
	b.temporal = nil
	wants(t, say("C1", "unmute"), "I am muted everywhere")
	wants(t, say("C1", "go"), "I may speak again")
	if o, err := b.Store.MutedEverywhere(t.Context(), "T1"); err != nil || o != nil {
		t.Fatalf("%+v, %v", o, err)
	}
	if answer := say("C1", "status"); strings.Contains(answer, "muted") {
		t.Errorf("after go: %q", answer)
	}
}

func TestSilenceOrders(t *testing.T) {
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
		if result != done || !slices.Equal(b.operator.orders, []string{want}) || answer == "" {
			t.Errorf("%s: %s, %q, ordered %q, want %q", text, result, answer, b.operator.orders, want)
		}
		for err, part := range map[error]string{
			&operator.Refused{Text: "nothing <there>"}:      "Not done: nothing &lt;there&gt;.",
			&operator.PausedError{WorkflowID: here.ID()}:    "Nothing was changed: somebody has paused me",
			fmt.Errorf("x: %w", operator.ErrNoWorker):       "I have no confirmation of that",
			fmt.Errorf("x: %w", operator.ErrNoServer):       "I have no confirmation of that",
			fmt.Errorf("x: %w", context.DeadlineExceeded):   "I have no confirmation of that",
			errors.New("the password of postgres is hello"): "That did not work",
		} {
			b.operator.err = err
			answer, result := b.say(t, "U1", text)
			if result == done || strings.Contains(answer, "hello") {
				t.Errorf("%s, %v: %s, %q", text, err, result, answer)
			}
			wants(t, answer, part)
		}
		before := len(b.operator.orders)
		b.temporal = errors.New("connection refused")
		answer, result = b.say(t, "U1", text)
		if result != failed || len(b.operator.orders) != before {
			t.Errorf("%s without Temporal: %s, ordered %q", text, result, b.operator.orders)
		}
		wants(t, answer, "Temporal", "Nothing was changed")
	}
}

// Whoever adds an argument wants something that the subcommand does not do.
func TestSubcommandsWithoutArguments(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"mute 2h":       "use `/myao snooze 2h`",
		"MUTE <now>":    "`mute` takes no arguments",
		"unmute please": "`unmute` takes no arguments",
		"status C2":     "`status` takes no arguments",
	} {
		b := setup(t)
		answer, result := b.say(t, "U1", text)
		if result != refused || len(b.operator.orders) > 0 || b.operator.filter.Team != "" {
			t.Errorf("%s: %s, ordered %q", text, result, b.operator.orders)
		}
		wants(t, answer, part, "`/myao status`")
	}
}

func TestBadSnooze(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, span := range []string{"0m", "30s", "-2h", "2", "h", "1.5h", "367d", "8785h", "99999999999h", "12h1d", "1h 30m", "tomorrow"} {
		answer, result := b.say(t, "U1", "snooze "+span)
		if result != refused || len(b.operator.orders) > 0 {
			t.Errorf("%s: %s, ordered %q", span, result, b.operator.orders)
		}
		wants(t, answer, "`1m` to `366d`")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.directory.settings.DailyTokens = 100
	answer, result := b.say(t, "U1", "status")
	if result != done || answer != "Nothing is waiting here.\nUsed today: 0 model calls and 0 of 100 tokens. "+
		"Used today in the whole workspace: 0 of 10000 model calls and 0 of 50000000 tokens." {
		t.Errorf("%s: %q", result, answer)
	}
	busy := []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying, conversation.Replying}
	if b.operator.filter.Team != "T1" || !slices.Equal(b.operator.filter.Channels, []string{"C1"}) || !slices.Equal(b.operator.filter.Phases, busy) {
		t.Errorf("asked for %+v", b.operator.filter)
	}

	thread := here
	thread.Thread = "1772366400.000100"
	b.operator.waiting = []operator.Listed{
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
	b.directory.settings.Mode, b.directory.settings.DailyCalls, b.directory.settings.DailyTokens, b.directory.settings.QuietHours = config.ModeMention, 2, 0, quiet
	for range 2 {
		must(t, b.Store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: "C1"}, TokensIn: 40, TokensOut: 2, Ended: noon}))
	}
	must(t, b.Store.ApplyOrder(t.Context(), store.Order{ID: "1", Scope: chat.Scope(here), Kind: conversation.UpdateSnooze, Until: noon.Add(2 * time.Hour)}))
	b.propose(t, thread)
	answer, result = b.say(t, "U1", "status")
	if result != done {
		t.Error(result)
	}
	wants(t, answer,
		"• Top level: I wait for quiet and decide at <!date^1772366460^{date_short_pretty} {time_secs}|2026-03-01 12:01:00 UTC> (3 messages), since",
		"• <https://example.slack.com/archives/C1/p1772366400000100|Thread of 2026-03-01 12:00:00>: I plan to answer at <!date^1772370000^{date_short_pretty} {time_secs}|2026-03-01 13:00:00 UTC>, since",
		"Thread of 2026-03-01 12:00:00>: I propose `desk__create`, which <@U1> or an operator may decide about until <!date^",
		": I was told to do `desk__close`, which is under way",
		": I am deciding whether to speak, since", ": I am answering, since",
		"its state is not known", ": somebody has paused me in Temporal",
		"I am silent here until <!date^1772373600^",
		"My mode here is `mention`.", "These are my quiet hours",
		"Used today: 2 of 2 model calls and 84 tokens. Used today in the whole workspace: 2 of 10000 model calls and 84 of 50000000 tokens. That is all for today")

	b.directory.settings.DailyCalls, b.Config.Response.WorkspaceDailyCalls, b.Config.Response.WorkspaceDailyTokens = 0, 2, 0
	answer, _ = b.say(t, "U1", "status")
	wants(t, answer, "\nUsed today in the whole workspace: 2 of 2 model calls and 84 tokens. That is all for today")
	answer, _ = b.say(t, "UOUT", "status")
	if wants(t, answer, "\nThat is all for today"); strings.Contains(answer, "Used") {
		t.Errorf("an outsider is told %q", answer)
	}

	must(t, b.Store.ApplyOrder(t.Context(), store.Order{ID: "2", Scope: chat.Scope(here), Kind: conversation.UpdateMute, Until: noon.AddDate(100, 0, 0)}))
	b.operator.err = errors.New("unavailable")
	answer, result = b.say(t, "U1", "status")
	if result != failed {
		t.Error(result)
	}
	wants(t, answer, "Temporal gave no answer", "I am muted here")
	b.temporal = errors.New("connection refused")
	answer, result = b.say(t, "U1", "status")
	if result != failed {
		t.Error(result)
	}
	wants(t, answer, "Temporal", "I cannot tell what is waiting", "I am muted here until somebody types `unmute`.", "2 of 2 model calls")
	if strings.Contains(answer, "another id") {
		t.Errorf("%q", answer)
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if answer, result := b.say(t, "U1", "promises"); result != done || answer != "I have promised nothing here that is still open." {
		t.Errorf("%s: %q", result, answer)
	}
	thread := here
	thread.Thread = "1772366400.000100"
	b.promise(t, store.Promise{Choice: store.Choice{ID: "look", ThreadTS: thread.Thread, Asker: "U1"}, What: "the <!channel> & <@U9>", Unless: "it is <out>"}, 26)
	b.promise(t, store.Promise{Choice: store.Choice{ID: "weekly", Asker: "U2"}, What: "stand-up", Every: "week"}, 1)
	b.promise(t, store.Promise{Choice: store.Choice{ID: "elsewhere", ChannelID: "C2"}, What: "of another channel"}, 1)
	must(t, b.Store.HoldPromises(t.Context(), here, noon.Add(3*time.Hour)))
	answer, result := b.say(t, "U1", "promises")
	want := "• <https://example.slack.com/archives/C1/p1772366401000100|every week, next Sun 1 Mar 2026, 14:00 (Europe/Berlin)>, " +
		"held up until <!date^1772377200^{date_short_pretty} {time_secs}|2026-03-01 16:00:00 CET>: stand-up – <@U2>\n" +
		"• <https://example.slack.com/archives/C1/p1772366401000100?thread_ts=1772366400.000100&amp;cid=C1|Mon 2 Mar 2026, 15:00 (Europe/Berlin)>: " +
		"the &lt;!channel&gt; &amp; &lt;@U9&gt; (unless: it is &lt;out&gt;) – <@U1>\nThe button under its message cancels a promise."
	if result != done || answer != want {
		t.Errorf("%s: %s\nwant %s", result, answer, want)
	}
	answer, _ = b.say(t, "U1", "status")
	wants(t, answer, "\n2 promises, next <!date^1772377200^{date_short_pretty} {time_secs}|2026-03-01 16:00:00 CET>. `/myao promises` lists them.")
	for i := range maxPromises {
		b.promise(t, store.Promise{Choice: store.Choice{ID: fmt.Sprint(i)}, What: "more"}, 100+i)
	}
	answer, _ = b.say(t, "U1", "promises")
	wants(t, answer, "\n… and 2 more\n")
	if n := strings.Count(answer, "•"); n != maxPromises {
		t.Errorf("%d are listed", n)
	}
}

// Outsiders see what they asked for, and what was promised since the channel has been shared.
func TestPromisesForOutsiders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sees := func(when, user string, want ...string) {
		t.Helper()
		answer, result := b.say(t, user, "promises")
		for _, what := range []string{"the merger", "the party", "my visit"} {
			if result != done || strings.Contains(answer, what) != slices.Contains(want, what) {
				t.Errorf("%s, %s sees %q", when, user, answer)
			}
		}
		status, _ := b.say(t, user, "status")
		if n := fmt.Sprintf("\n%d promise", len(want)); strings.Contains(status, n) != (len(want) > 0) || len(want) == 0 && strings.Contains(status, "promise") {
			t.Errorf("%s, %s reads %q", when, user, status)
		}
	}
	b.promise(t, store.Promise{Choice: store.Choice{ID: "1", Asker: "U1"}, What: "the merger"}, 1)
	sees("not shared", "UOUT")
	answer, _ := b.say(t, "UOUT", "promises")
	wants(t, answer, "since this channel has been shared")
	b.share(t, true)
	b.promise(t, store.Promise{Choice: store.Choice{ID: "2", Asker: "U1"}, What: "the party"}, 2)
	b.promise(t, store.Promise{Choice: store.Choice{ID: "3", Asker: "UOUT"}, What: "my visit"}, 3)
	sees("shared", "U1", "the merger", "the party", "my visit")
	sees("shared", "UOUT", "the party", "my visit")
	sees("shared", "UOUT2", "the party", "my visit")
	b.share(t, false)
	sees("not shared any more", "UOUT", "my visit")
}

func TestStatusOfAChannelWithANewID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Channels = map[string]config.Channel{"G1": {Mode: config.ModeOff}}
	must(t, b.Store.MoveChannel(t.Context(), store.Move{Team: "T1", From: "G1", To: "C1", Mute: noon.AddDate(100, 0, 0)}))
	answer, _ := b.say(t, "U1", "status")
	wants(t, answer, "I am muted here until somebody types `unmute`.", "another id", "under the old one, `G1`", "to `C1`")
	b.Config.Channels["C1"] = config.Channel{}
	answer, _ = b.say(t, "U1", "status")
	wants(t, answer, "muted here", "The old id was `G1`.")
	must(t, b.Store.ApplyOrder(t.Context(), store.Order{ID: "1", Scope: chat.Scope(here), Kind: conversation.UpdateUnmute}))
	if answer, _ = b.say(t, "U1", "status"); strings.Contains(answer, "another id") {
		t.Errorf("%q", answer)
	}
}

// englishWords returns the English words of a Japanese answer, except code and names.
func englishWords(answer string) []string {
	answer = regexp.MustCompile("`[^`]*`|<[^>|]*[>|]|2026[-年][^>]*>").ReplaceAllString(answer, "")
	words := regexp.MustCompile(`[A-Za-z]{2,}`).FindAllString(answer, -1)
	return slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains([]string{"Slack", "Temporal", "ID", "ts", "mute", "snooze", "unmute"}, w)
	})
}

// With Japanese configured, every answer is in Japanese.
func TestAnswersInJapanese(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Language = chat.Japanese
	says := func(user, text string) {
		t.Helper()
		answer, _ := b.say(t, user, text)
		if left := englishWords(answer); len(left) > 0 || !regexp.MustCompile(`\p{Hiragana}`).MatchString(answer) {
			t.Errorf("%s: %q is in English in %q", text, left, answer)
		}
	}
	all := []string{
		"help", "nonsense", "status", "why", "why yesterday", "why https://x.slack.com/archives/C2/p1700000000000100", "why 1700000000.000100",
		"snooze", "snooze for long", "mute", "mute 2h", "unmute", "forget", "forget yes", "promises",
	}
	for _, text := range all {
		says("UBOSS", text)
	}
	for name, set := range map[string]func(){
		"not confirmed":    func() { b.operator.err = operator.ErrNoWorker },
		"paused":           func() { b.operator.err = &operator.PausedError{} },
		"not possible":     func() { b.operator.err = &operator.Refused{Text: "ない"} },
		"out of order":     func() { b.operator.err = errors.New("no") },
		"without Temporal": func() { b.temporal = errors.New("connection refused") },
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
	b.Config.Language = chat.Japanese
	b.Config.Channels = map[string]config.Channel{"G1": {Mode: config.ModeOff}}
	must(t, b.Store.MoveChannel(t.Context(), store.Move{Team: "T1", From: "G1", To: "C1", Mute: noon.AddDate(100, 0, 0)}))
	thread := here
	thread.Thread = "1772366400.000100"
	for _, phase := range []conversation.Phase{conversation.Waiting, conversation.Judging, conversation.Delaying, conversation.Replying, operator.Unknown, operator.Paused} {
		for _, c := range []chat.Conversation{here, thread} {
			b.operator.waiting = append(b.operator.waiting, operator.Listed{Conversation: c, Phase: phase, DueAt: noon, Since: noon, Pending: new(3)})
		}
	}
	quiet, err := config.ParseQuietHours("11:00-13:00")
	if err != nil {
		t.Fatal(err)
	}
	b.directory.settings.Mode, b.directory.settings.DailyTokens, b.directory.settings.QuietHours = config.ModeMention, 1, quiet
	b.propose(t, thread)
	b.promise(t, store.Promise{Choice: store.Choice{ID: "1", ThreadTS: thread.Thread, Asker: "U1"}, What: "明日の会議", Unless: "終わった", Every: "weekday"}, 1)
	must(t, b.Store.HoldPromises(t.Context(), thread, noon.Add(3*time.Hour)))
	says("U1", "promises")
	says("UOUT", "promises")
	says("U1", "status")
	must(t, b.Store.SaveCall(t.Context(), store.Call{Scope: chat.Scope{Team: "T1", Channel: "C1"}, TokensIn: 40, TokensOut: 2, Ended: noon}))
	b.directory.settings.DailyCalls, b.directory.settings.DailyTokens = 1, 0
	b.Config.Channels["C1"] = config.Channel{}
	says("U1", "status")
	must(t, b.Store.ApplyOrder(t.Context(), store.Order{ID: "1", Scope: chat.Scope(here), Kind: conversation.UpdateSnooze, Until: noon.Add(time.Hour)}))
	says("U1", "status")
	answer, _ := b.sayIn(t, "CELSEWHERE", "U1", "status")
	if left := englishWords(answer); len(left) > 0 {
		t.Errorf("%q", answer)
	}
}

func TestParseMessage(t *testing.T) {
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
		channel, ts, ok := ParseMessage(s)
		if channel != want[0] || ts != want[1] || ok != (want[1] != "") {
			t.Errorf("%q is %q in %q, %v; want %q", s, ts, channel, ok, want)
		}
	}
}

// Where the mode leaves nothing to decide there are no decisions to list.
func TestWhyByMode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(noon), UserID: "U1", Text: "hello?"}
	b.record(t, m, true)
	for mode, want := range map[config.Mode]string{
		config.ModeOff: "its mode is `off`", config.ModeMention: "its mode is `mention`", config.ModeJudge: "I have decided nothing about that yet.",
	} {
		b.directory.settings.Mode = mode
		for _, order := range []string{"why", "why " + m.TS} {
			answer, _ := b.say(t, "U1", order)
			wants(t, answer, want)
		}
	}
	decision := store.Decision{Key: "1", WorkflowID: here.ID(), TriggerTS: chat.TS(noon.Add(-time.Minute)), Source: "addressed", Reason: "somebody addressed the bot", Outcome: conversation.OutcomePosted}
	must(t, b.Store.Decide(t.Context(), decision))
	b.directory.settings.Mode = config.ModeMention
	answer, _ := b.say(t, "U1", "why")
	wants(t, answer, "somebody addressed the bot", "its mode is `mention`")
}

func TestWhyOfAnUnknownMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for text, part := range map[string]string{
		"why yesterday": "I do not know which message you mean",
		"why https://x.slack.com/archives/C2/p1700000000000100": "in another channel",
		"why 1700000000.000100":                                 "I do not know that message",
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
		noon.AddDate(0, 0, -1000): "That is too long ago: I no longer have a record of it.",
	} {
		reply := chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(parent.Add(time.Minute)), ThreadTS: chat.TS(parent), UserID: "U1", Text: "hello?"}
		b.record(t, reply, true)
		for _, ts := range []string{reply.ThreadTS, reply.TS} {
			if answer, result := b.say(t, "U1", "why "+ts); result != done || answer != want {
				t.Errorf("%s: %s, %q, want %q", ts, result, answer, want)
			}
		}
	}
}

// An edit of a message that the bot never saw asks for nothing.
func TestWhyOfAnEditAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	edited := chat.Message{Team: "T1", Channel: "C1", TS: chat.TS(noon.Add(-time.Hour)), UserID: "U1", Text: "hello?", Revision: chat.TS(noon)}
	change := store.Change{Conversation: here, Change: conversation.Change{TS: edited.TS, Kind: conversation.Edited, Revision: edited.Revision}}
	b.record(t, edited, false, change)
	answer, result := b.say(t, "U1", "why "+edited.TS)
	if want := "only an edit of that message"; result != done || !strings.Contains(answer, want) {
		t.Errorf("%s, %q, want %q", result, answer, want)
	}
}

// A failed write is not reported as done, nor a failed read as nothing.
func TestWithoutADatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	must(t, b.Store.Close())
	for _, text := range []string{"status", "why", "forget yes"} {
		answer, result := b.say(t, "UBOSS", text)
		if result != failed {
			t.Errorf("%s: %s", text, result)
		}
		wants(t, answer, "That did not work")
	}
}

// Forgetting needs confirmation. It is for operators unless the configuration says otherwise.
func TestForget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scope := chat.Scope{Team: "T1", Channel: "C1"}
	memory := store.Memory{Scope: scope, Term: chat.ShortTerm, Text: "they talk of cats", Made: noon}
	must(t, b.Store.SaveDraft(t.Context(), memory, store.Cursor{}))
	must(t, b.Store.SaveMemories(t.Context(), store.MemoryUpdate{Scope: scope, Long: store.KeepMemory, Short: store.RenewMemory, Read: noon}))
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

// Who may set something is who has the permission and is in the channel; a guest never may.
func TestWhoMaySet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Slack.EveryoneMay = append(b.Config.Slack.EveryoneMay, config.MaySettings)
	for _, test := range []struct{ user, channel, want string }{
		{"U1", "C1", "`mode` is `mention` here from now on"},
		{"U1", "C2", "I do not see you among the members"},
		{"UBOSS", "C2", "I do not see you among the members"},
		{"UOUT1", "C1", "guests and people from other companies may not do that"},
	} {
		answer, _, _ := b.Answer(t.Context(), slack.Command{
			Request: slack.Request{User: test.user, Channel: test.channel, ID: test.user + test.channel}, Name: "/myao", Text: "settings mode mention",
		}, own, strings.HasPrefix(test.user, "UOUT"))
		wants(t, answer.Text, test.want)
	}
}
