package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/language/words"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

// commandHandler answers every command with what was typed, once it may.
type commandHandler struct{ hold chan struct{} }

func (d *commandHandler) Answer(_ context.Context, c slack.Command, _ slack.Identity, outsider bool) (a slack.Answer, order, result string) {
	if d.hold != nil {
		<-d.hold
	}
	a.Text = "you said " + c.Text
	if outsider {
		a.Text += " from outside"
	}
	return a, "status", "done"
}

func (*commandHandler) Undo(context.Context, slack.BlockAction, slack.Identity, bool) (a slack.Answer, result string) {
	return a, "done"
}

// responder receives late answers.
type responder struct{ said chan string }

func (a *responder) Respond(_ context.Context, address string, told slack.Answer) error {
	a.said <- address + " " + told.Text
	return nil
}

func (a *responder) next(t *testing.T) string {
	t.Helper()
	select {
	case text := <-a.said:
		return text
	case <-time.After(time.Minute):
		t.Fatal("no answer in a minute")
		return ""
	}
}

func form(text string) string {
	return "command=%2Fmyao&team_id=T1&user_id=U1&channel_id=C1&trigger_id=1.2.x&response_url=https%3A%2F%2Fhooks%2Fx&text=" + url.QueryEscape(text)
}

// said returns the text of an immediate answer.
func said(t *testing.T, answer string) string {
	t.Helper()
	var body struct {
		Type string `json:"response_type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal([]byte(answer), &body); err != nil || body.Type != "ephemeral" {
		t.Errorf("answered %q, %v", answer, err)
	}
	return body.Text
}

func TestCommandIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := form("status")
	status, answer := b.postTo(t, commands, body, sign(body, secret, noon), false)
	if status != 200 || said(t, answer) != "you said status" {
		t.Errorf("status %d, %s", status, answer)
	}
	if n := b.counted(t, "myao_slack_orders_total", "status"); n != 1 {
		t.Errorf("%v orders counted, want 1", n)
	}
	along, err := b.Receive(timeout.Extend(t.Context()), slack.Delivery{Kind: slack.DeliveredCommand,
		Body: []byte(`{"command":"/myao","text":"why","team_id":"T1","user_id":"U1","channel_id":"C1"}`)})
	if err != nil || said(t, string(along)) != "you said why" {
		t.Errorf("by socket: %s, %v", along, err)
	}
}

// A command that names another workspace is answered where the channel is shared with that, as an
// outsider's.
func TestCommandFromElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for id, external := range map[string]bool{"C1": true, "C2": false} {
		if err := b.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: id, Member: true, External: external}); err != nil {
			t.Fatal(err)
		}
	}
	theirs := strings.Replace(form("status"), "team_id=T1", "team_id=T2", 1)
	for _, test := range []struct{ name, body, want string }{
		{"in a shared channel", theirs + "&api_app_id=A1", "you said status from outside"},
		{"a colleague in it", form("status") + "&api_app_id=A1", "you said status"},
		{"in another channel", strings.Replace(theirs, "C1", "C2", 1) + "&api_app_id=A1", ""},
		{"in an unknown one", strings.Replace(theirs, "C1", "C3", 1) + "&api_app_id=A1", ""},
		{"of another app", theirs + "&api_app_id=A2", ""},
		{"of an app that is not named", theirs, ""},
		{"without a user", strings.Replace(theirs, "user_id=U1", "user_id=", 1) + "&api_app_id=A1", ""},
	} {
		status, answer := b.postTo(t, commands, test.body, sign(test.body, secret, noon), false)
		if test.want == "" && answer != "" || test.want != "" && said(t, answer) != test.want || status != 200 {
			t.Errorf("%s: status %d, %q; want %q", test.name, status, answer, test.want)
		}
	}
}

// A slow command is acknowledged in time and answered later. Close waits for the answer.
func TestCommandIsAnsweredLater(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, commandIsAnsweredLater)
}

func commandIsAnsweredLater(t *testing.T, b *bundle) {
	b.commands.hold = make(chan struct{})
	asked := time.Now()
	answer, err := b.Receive(t.Context(), slack.Delivery{Kind: slack.DeliveredCommand, Body: []byte(
		`{"command":"/myao","text":"status","team_id":"T1","user_id":"U1","channel_id":"C1","response_url":"https://hooks/x"}`)})
	if err != nil || said(t, string(answer)) != replyLater || time.Since(asked) != replyTimeout {
		t.Errorf("answered %s after %s, %v", answer, time.Since(asked), err)
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Close(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed with an answer to give: %v", err)
	}
	close(b.commands.hold)
	if got := b.answers.next(t); got != "https://hooks/x you said status" {
		t.Errorf("answered %q", got)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func shortcut(user, channel, ts, more string) string {
	return payload(fmt.Sprintf(`{"type":"message_action","callback_id":"answer_now","trigger_id":"t.%[1]s.%[3]s","response_url":"https://hooks/x","team":{"id":"T1"},
		"user":{"id":%[1]q},"channel":{"id":%[2]q},"message_ts":%[3]q,"message":{"type":"message","user":"U2","text":"what now?","ts":%[3]q%[4]s}}`, user, channel, ts, more))
}

// click uses the shortcut and returns the answer.
func (b *bundle) click(t *testing.T, body string) string {
	t.Helper()
	if status, answer := b.postTo(t, interactions, body, sign(body, secret, noon), false); status != 200 || answer != "" {
		t.Fatalf("status %d, %q", status, answer)
	}
	return strings.TrimPrefix(b.answers.next(t), "https://hooks/x ")
}

func (b *bundle) changes(t *testing.T, c chat.Conversation) (all []string) {
	t.Helper()
	waiting, err := b.Store.PendingChanges(t.Context(), c.ID(), 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range waiting {
		all = append(all, strings.TrimSpace(w.TS+" "+string(w.Kind)+" "+w.By))
	}
	return all
}

func (b *bundle) mayAll() {
	b.Config = config.Default()
	b.Config.Slack.SigningSecret = secret
}

// The shortcut is answered in the configured language.
func TestShortcutInJapanese(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.Config.Language = chat.Japanese
	japanese := words.In(chat.Japanese)
	if got := b.click(t, shortcut("U1", "C1", "101.000001", "")); got != japanese[replyAccepted] {
		t.Errorf("%q", got)
	}
	for _, sentence := range []string{replyAccepted, replyNotMember, replyAlreadyAsked, replyAlreadyAnswered, replyOwnMessage, replyDeleted, replyNothingSaid, replyModeOff, replyMuted, replyLater, replyUnknownPromise, replyMayNotCancel, replyEnded} {
		if japanese[sentence] == "" {
			t.Errorf("no Japanese: %s", sentence)
		}
	}
	b.Config.Slack.EveryoneMay = nil
	if got := b.click(t, shortcut("U1", "C1", "101.000001", "")); !strings.Contains(got, "メッセージに答えさせることはできません") {
		t.Errorf("%q", got)
	}
}

func TestShortcutMakesAMessageAddressed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	here := chat.Conversation{Team: "T1", Channel: "C1"}
	thread := chat.Conversation{Team: "T1", Channel: "C1", Thread: "100.000001"}
	b.deliver(t, callback(hello))
	// One that the door has heard of, one that it has not, and one in a thread; each twice.
	for _, ts := range []string{"100.000001", "101.000001"} {
		if got := b.click(t, shortcut("U1", "C1", ts, "")); got != replyAccepted {
			t.Errorf("%s: %q", ts, got)
		}
		if got := b.click(t, shortcut("U3", "C1", ts, "")); got != replyAlreadyAsked {
			t.Errorf("%s again: %q", ts, got)
		}
	}
	if got := b.click(t, shortcut("U1", "C1", "102.000001", `,"thread_ts":"100.000001"`)); got != replyAccepted {
		t.Errorf("in a thread: %q", got)
	}
	for c, want := range map[chat.Conversation][]string{
		here:   {"100.000001 said", "100.000001 addressed slack:U1", "101.000001 addressed slack:U1"},
		thread: {"100.000001 addressed slack:U1", "102.000001 addressed slack:U1"},
		{Team: "T1", Channel: "C1", Thread: "101.000001"}: {"101.000001 addressed slack:U1"},
	} {
		if got := b.changes(t, c); !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", c.ID(), got, want)
		}
	}
	if m, err := b.Store.Message(t.Context(), "T1", "C1", "101.000001"); err != nil || m.Text != "what now?" || m.UserID != "U2" {
		t.Errorf("stored %+v, %v", m, err)
	}
	orders, err := b.Store.Orders(t.Context(), "T1", "C1", time.Time{}, 10)
	if err != nil || len(orders) != 3 {
		t.Errorf("%d orders are kept, %v", len(orders), err)
	}
	for _, o := range orders {
		if o.Kind != "answer-now" || o.By != "slack:U1" || (o.Scope.Thread != "") != (o.Subject == "102.000001") {
			t.Errorf("kept the order %+v", o)
		}
	}
	// Its own event, when it comes, is no news any more.
	b.deliver(t, callback(strings.ReplaceAll(hello, "100.000001", "101.000001")))
	if got := b.changes(t, here); len(got) != 3 {
		t.Errorf("then %q", got)
	}
	if !slices.Contains(b.notified.targets(), thread.ID()) {
		t.Error("the relay was not told")
	}
}

// An edit that adds a mention asks for an answer, even if the message was answered on request before.
// Slack reports such an edit twice, in any order, and may repeat both.
func TestMentionEditedIntoAnAnsweredMessage(t *testing.T) {
	t.Parallel()
	mention := callback(`{"type":"app_mention","channel":"C1","user":"U1","ts":"100.000001","text":"<@UBOT> hello","edited":{"user":"U1","ts":"101.000000"}}`)
	change := callback(`{"type":"message","subtype":"message_changed","channel":"C1","channel_type":"channel","ts":"101.1","message":{"type":"message","user":"U1","ts":"100.000001","text":"<@UBOT> hello","edited":{"user":"U1","ts":"101.000000"}},"previous_message":{"user":"U1","ts":"100.000001","text":"hello"}}`)
	for name, events := range map[string][]string{
		"the app_mention first": {mention, change, mention, change},
		"its twin first":        {change, mention, change, mention},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.mayAll()
			b.deliver(t, callback(hello))
			if got := b.click(t, shortcut("U2", "C1", "100.000001", "")); got != replyAccepted {
				t.Fatalf("the shortcut says %q", got)
			}
			for _, event := range events {
				b.deliver(t, event)
			}
			got := b.changes(t, chat.Conversation{Team: "T1", Channel: "C1", Thread: "100.000001"})
			if want := []string{"100.000001 addressed slack:U2", "100.000001 addressed"}; !slices.Equal(got, want) {
				t.Errorf("the thread gets %q, want %q", got, want)
			}
		})
	}
}

func TestShortcutIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.Config.Channels = map[string]config.Channel{"COFF00000": {Mode: config.ModeOff}}
	for id, muted := range map[string]chat.Scope{"o": {Team: "T1", Channel: "CMUTED000"}, "p": {Team: "T1", Channel: "C1", Thread: "200.000001"}} {
		if err := b.Store.ApplyOrder(t.Context(), store.Order{ID: id, Scope: muted, Kind: "snooze", Until: noon.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	gonePart := store.Part{Key: "k", Reply: "r", Team: "T1", Channel: "C1", Trigger: "300.000001", Text: "x", State: store.Composed}
	if err := b.Store.Compose(t.Context(), []store.Part{gonePart}, store.Decision{Key: "d"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.BeginSend(t.Context(), gonePart, time.Second, time.Minute); err != nil {
		t.Fatal(err)
	}
	b.deliver(t, callback(strings.ReplaceAll(hello, "100.000001", "400.000001")))
	b.deliver(t, callback(`{"type":"message","subtype":"message_deleted","channel":"C1","ts":"401.1","deleted_ts":"400.000001"}`))
	before, _, err := b.Store.BacklogSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, body, want string }{
		{"not here", shortcut("U1", "CELSEWHERE", "100.000001", ""), replyNotMember},
		{"off", shortcut("U1", "COFF00000", "100.000001", ""), replyModeOff},
		{"muted", shortcut("U1", "CMUTED000", "100.000001", ""), replyMuted},
		{"muted in the thread under it", shortcut("U1", "C1", "200.000001", ""), replyMuted},
		{"muted, in a thread", shortcut("U1", "CMUTED000", "100.000001", `,"thread_ts":"90.000001"`), replyMuted},
		{"own", shortcut("U1", "C1", "100.000001", `,"user":"UBOT"`), replyOwnMessage},
		{"being answered", shortcut("U1", "C1", "300.000001", ""), replyAlreadyAsked},
		{"deleted", shortcut("U1", "C1", "400.000001", ""), replyDeleted},
		{"nothing said", shortcut("U1", "C1", "100.000001", `,"subtype":"channel_join"`), replyNothingSaid},
	} {
		if got := b.click(t, test.body); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	if err := b.Store.MarkPosted(t.Context(), gonePart, chat.Message{Team: "T1", Channel: "C1", TS: "500.000001", Own: true}); err != nil {
		t.Fatal(err)
	}
	if got := b.click(t, shortcut("U1", "C1", "300.000001", "")); got != replyAlreadyAnswered {
		t.Errorf("answered: %q", got)
	}
	b.Config.Slack.EveryoneMay, b.Config.Slack.Operators = nil, []string{"UBOSS"}
	if got := b.click(t, shortcut("U1", "C1", "100.000001", "")); !strings.Contains(got, "may not") || !strings.Contains(got, "<@UBOSS>") {
		t.Errorf("not allowed: %q", got)
	}
	if after, _, err := b.Store.BacklogSize(t.Context()); err != nil || after != before {
		t.Errorf("%d changes, %v; want %d", after, err, before)
	}
}

// The shortcut carries the message. It does not store again what a person had said who was forgotten since.
func TestShortcutOnAForgottenMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	if err := b.Store.ForgetPerson(t.Context(), chat.Person{Team: "T1", User: "U2"}, "cli:ann", "o", func(string, int, int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := b.click(t, shortcut("U1", "C1", "100.000001", "")); got != replyDeleted {
		t.Errorf("%q, want %q", got, replyDeleted)
	}
	if m, err := b.Store.Message(t.Context(), "T1", "C1", "100.000001"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("stored: %+v, %v", m, err)
	}
}

// A click that cannot be stored is not acknowledged, so that the user sees the failure. A click in another
// workspace is acknowledged and does nothing.
func TestShortcutThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	click := func(why, body string, want int) {
		t.Helper()
		if status, _ := b.postTo(t, interactions, body, sign(body, secret, noon), false); status != want || len(b.notified.targets()) > 0 {
			t.Errorf("%s: status %d, want %d; notified %q", why, status, want, b.notified.targets())
		}
	}
	body := shortcut("U1", "C1", "100.000001", "")
	click("another workspace", strings.Replace(body, "T1", "T2", 1), 200)
	b.directory.fail(errors.New("Slack is away"))
	click("not known who the bot is", body, 503)
	b.directory.fail(nil)
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	click("database down", body, 503)
}

func reaction(user, name, author, ts string) string {
	return callback(fmt.Sprintf(`{"type":"reaction_added","user":%q,"reaction":%q,"item_user":%q,"item":{"type":"message","channel":"C1","ts":%q},"event_ts":"200.1"}`, user, name, author, ts))
}

const shh = "shushing_face"

func TestReactionHushes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	here := chat.Conversation{Team: "T1", Channel: "C1"}
	thread := chat.Conversation{Team: "T1", Channel: "C1", Thread: "101.000001"}
	b.deliver(t, callback(hello))
	b.deliver(t, callback(strings.NewReplacer("100.000001", "101.000001", "hello", "<@UBOT> hello").Replace(hello)))
	b.deliver(t, callback(strings.NewReplacer("100.000001", "102.000001", `"ts"`, `"thread_ts":"101.000001","ts"`).Replace(hello)))
	for _, ts := range []string{"100.000001", "101.000001", "102.000001"} {
		for range 2 { // Slack resends, and somebody else reacts, too
			if status := b.deliver(t, reaction("U1", shh+"::skin-tone-2", "U1", ts)); status != 200 {
				t.Errorf("status %d", status)
			}
			b.deliver(t, reaction("U2", shh, "U1", ts))
		}
	}
	for c, want := range map[chat.Conversation][]string{
		here:   {"100.000001 said", "100.000001 hushed slack:U1", "101.000001 addressed", "101.000001 hushed slack:U1"},
		thread: {"101.000001 addressed", "101.000001 hushed slack:U1", "102.000001 said", "102.000001 hushed slack:U1"},
	} {
		if got := b.changes(t, c); !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", c.ID(), got, want)
		}
	}
	if n := b.counted(t, "myao_events_total", "hushed"); n != 12 {
		t.Errorf("%v counted, want 12", n)
	}
	if got := b.notified.targets(); len(got) != 8 {
		t.Errorf("notified %q, want each conversation of each change once", got)
	}
}

const robot = "robot_face"

// A reaction asks for an answer as the shortcut does: once, whoever reacts, and on what the bot has not heard, too.
func TestReactionAsksForAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.Config.Slack.AnswerReaction = robot
	b.deliver(t, callback(`{"type":"message","subtype":"bot_message","channel":"C1","channel_type":"channel","bot_id":"B9","ts":"100.000001","text":"disk full"}`))
	b.directory.page.Messages = []chat.Message{{Team: "T1", Channel: "C1", TS: "90.000001", BotID: "B9", Text: "disk nearly full"}}
	for _, ts := range []string{"100.000001", "90.000001"} {
		for _, user := range []string{"U1", "U1", "U2"} {
			if status := b.deliver(t, reaction(user, robot+"::skin-tone-2", "", ts)); status != 200 {
				t.Errorf("status %d", status)
			}
		}
	}
	for c, want := range map[chat.Conversation][]string{
		{Team: "T1", Channel: "C1"}:                       {"90.000001 addressed slack:U1", "100.000001 addressed slack:U1"},
		{Team: "T1", Channel: "C1", Thread: "100.000001"}: {"100.000001 addressed slack:U1"},
		{Team: "T1", Channel: "C1", Thread: "90.000001"}:  {"90.000001 addressed slack:U1"},
	} {
		if got := b.changes(t, c); !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", c.ID(), got, want)
		}
	}
	if m, err := b.Store.Message(t.Context(), "T1", "C1", "90.000001"); err != nil || m.Text != "disk nearly full" {
		t.Errorf("stored %+v, %v", m, err)
	}
	orders, err := b.Store.Orders(t.Context(), "T1", "C1", time.Time{}, 10)
	if err != nil || len(orders) != 2 || orders[0].Kind != "answer-now" || orders[0].By != "slack:U1" {
		t.Errorf("orders %+v, %v", orders, err)
	}
	if n := len(b.notified.targets()); n != 4 {
		t.Errorf("the relay was told of %d conversations, want 4", n)
	}
}

func TestReactionsThatAskForNoAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.Config.Slack.AnswerReaction = robot
	b.directory.guests = map[string]bool{"UGUEST": true}
	b.deliver(t, callback(hello))
	b.deliver(t, callback(strings.NewReplacer("100.000001", "101.000001", `"U1"`, `"UBOT"`).Replace(hello)))
	b.deliver(t, callback(strings.Replace(hello, "100.000001", "102.000001", 1)))
	b.deliver(t, callback(`{"type":"message","subtype":"message_deleted","channel":"C1","channel_type":"channel","ts":"103.1","deleted_ts":"102.000001","previous_message":{"user":"U1","ts":"102.000001","text":"hello"}}`))
	before, _, err := b.Store.BacklogSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks := reaction("U1", robot, "U1", "100.000001")
	off := map[string]config.Channel{"C1": {Mode: config.ModeOff}}
	for name, test := range map[string]struct {
		event string
		set   func(*config.Config)
	}{
		"a bot's":                 {reaction("UROBOT", robot, "U1", "100.000001"), nil},
		"the bot's own":           {reaction("UBOT", robot, "U1", "100.000001"), nil},
		"a guest's":               {reaction("UGUEST", robot, "U1", "100.000001"), nil},
		"on the bot's message":    {reaction("U1", robot, "UBOT", "101.000001"), nil},
		"on a deleted message":    {reaction("U1", robot, "U1", "102.000001"), nil},
		"on what is no message":   {reaction("U1", robot, "U1", "99.000001"), nil},
		"taken back":              {strings.Replace(asks, "reaction_added", "reaction_removed", 1), nil},
		"where it is off":         {asks, func(c *config.Config) { c.Channels = off }},
		"by whom it is not for":   {asks, func(c *config.Config) { c.Slack.EveryoneMay = nil }},
		"without such a reaction": {asks, func(c *config.Config) { c.Slack.AnswerReaction = "" }},
	} {
		kept := b.Config
		if test.set != nil {
			test.set(&b.Config)
		}
		if status := b.deliver(t, test.event); status != 200 {
			t.Errorf("%s: status %d", name, status)
		}
		b.Config = kept
		if after, _, err := b.Store.BacklogSize(t.Context()); err != nil || after != before {
			t.Fatalf("%s: %d changes, %v; want %d", name, after, err, before)
		}
	}
	b.directory.pageErr = &slack.Error{Code: "http_503", Kind: slack.Transient}
	if status := b.deliver(t, reaction("U1", robot, "U1", "99.000001")); status != http.StatusServiceUnavailable {
		t.Errorf("Slack does not tell the message: status %d, want 503", status)
	}
}

// A reaction may come before its message; it takes effect when the message comes. A message that was
// hushed and asks again after an edit can be hushed again.
func TestReactionAfterAnEdit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.deliver(t, callback(hello))
	b.deliver(t, reaction("U1", shh, "U1", "100.000001"))
	b.deliver(t, callback(`{"type":"message","subtype":"message_changed","channel":"C1","channel_type":"channel","ts":"101.1","message":{"type":"message","user":"U1","ts":"100.000001","text":"<@UBOT> hello","edited":{"user":"U1","ts":"101.000000"}},"previous_message":{"user":"U1","ts":"100.000001","text":"hello"}}`))
	for range 2 {
		b.deliver(t, reaction("U2", shh, "U1", "100.000001"))
	}
	for c, want := range map[chat.Conversation][]string{
		{Team: "T1", Channel: "C1"}:                       {"100.000001 said", "100.000001 hushed slack:U1", "100.000001 addressed", "100.000001 hushed slack:U2"},
		{Team: "T1", Channel: "C1", Thread: "100.000001"}: {"100.000001 addressed", "100.000001 hushed slack:U2"},
	} {
		if got := b.changes(t, c); !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", c.ID(), got, want)
		}
	}
	orders, err := b.Store.Orders(t.Context(), "T1", "C1", time.Time{}, 10)
	if err != nil || len(orders) != 2 || orders[0].By != "slack:U1" || orders[1].By != "slack:U2" {
		t.Errorf("orders %+v, %v", orders, err)
	}
}

func TestReactionBeforeItsMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.deliver(t, reaction("U1", shh, "U1", "100.000001"))
	if b.stored(t, "100.000001") || len(b.notified.targets()) > 0 {
		t.Error("a reaction alone has stored a message, or notified the relay")
	}
	b.deliver(t, callback(strings.Replace(hello, "hello", "<@UBOT> hello", 1)))
	for _, c := range []chat.Conversation{{Team: "T1", Channel: "C1"}, {Team: "T1", Channel: "C1", Thread: "100.000001"}} {
		if got, want := b.changes(t, c), []string{"100.000001 addressed", "100.000001 hushed slack:U1"}; !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", c.ID(), got, want)
		}
	}
	// Read from history, and reacted to before its own event.
	m := chat.Message{Team: "T1", Channel: "C1", TS: "110.000001", UserID: "U1", Text: "hello"}
	if err := b.Store.SaveHistory(t.Context(), []chat.Message{m}); err != nil {
		t.Fatal(err)
	}
	b.deliver(t, reaction("U1", shh, "U1", m.TS))
	b.deliver(t, callback(strings.Replace(hello, "100.000001", m.TS, 1)))
	if got, want := b.changes(t, chat.Conversation{Team: "T1", Channel: "C1"})[2:], []string{"110.000001 said", "110.000001 hushed slack:U1"}; !slices.Equal(got, want) {
		t.Errorf("hears %q, want %q", got, want)
	}
}

// A user who is known to be an app stays one while Slack does not answer. An unknown user counts as a
// person, and is asked about again.
func TestReactionsOfUnknownUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.deliver(t, callback(hello))
	b.deliver(t, reaction("UROBOT", shh, "U1", "100.000001"))
	b.Slack = &mute{directory: b.directory}
	for _, test := range []struct {
		user string
		want []string
	}{
		{"UROBOT", []string{"100.000001 said"}},
		{"U3", []string{"100.000001 said", "100.000001 hushed slack:U3"}},
	} {
		b.deliver(t, reaction(test.user, shh, "U1", "100.000001"))
		if got := b.changes(t, chat.Conversation{Team: "T1", Channel: "C1"}); !slices.Equal(got, test.want) {
			t.Errorf("%s: gets %q, want %q", test.user, got, test.want)
		}
	}
	if users, err := b.Store.Users(t.Context(), "T1", []string{"UROBOT", "U3"}); err != nil || len(users) != 1 || !users["UROBOT"].Bot {
		t.Errorf("kept %+v, %v; want the user whom Slack described", users, err)
	}
}

func TestReactionsWithoutEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mayAll()
	b.deliver(t, callback(hello))
	b.deliver(t, callback(strings.NewReplacer("100.000001", "101.000001", `"U1"`, `"UBOT"`).Replace(hello)))
	before, _, err := b.Store.BacklogSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, event := range map[string]string{
		"another emoji":              reaction("U1", "thumbsup", "U1", "100.000001"),
		"the bot's own":              reaction("UBOT", shh, "U1", "100.000001"),
		"a bot's":                    reaction("UROBOT", shh, "U1", "100.000001"),
		"on the bot's message":       reaction("U1", shh, "UBOT", "101.000001"),
		"on it, and Slack tells not": reaction("U1", shh, "", "101.000001"),
		"another workspace's":        strings.Replace(reaction("U1", shh, "U1", "100.000001"), `"T1"`, `"T2"`, 1),
		"taken back":                 strings.Replace(reaction("U1", shh, "U1", "100.000001"), "reaction_added", "reaction_removed", 1),
	} {
		if status := b.deliver(t, event); status != 200 {
			t.Errorf("%s: status %d", name, status)
		}
		if after, _, err := b.Store.BacklogSize(t.Context()); err != nil || after != before {
			t.Fatalf("%s: %d changes, %v; want %d", name, after, err, before)
		}
	}
	b.Config.Slack.EveryoneMay = nil
	b.deliver(t, reaction("U1", shh, "U1", "100.000001"))
	b.Config.Slack.EveryoneMay, b.Config.Slack.HushReaction = []config.Permission{config.MayHush}, ""
	b.deliver(t, reaction("U1", "", "U1", "100.000001"))
	b.deliver(t, reaction("U1", shh, "U1", "100.000001"))
	if after, _, err := b.Store.BacklogSize(t.Context()); err != nil || after != before {
		t.Errorf("not allowed, and without such a reaction: %d changes, %v; want %d", after, err, before)
	}
}
