package workspace

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

func TestMentionFiresTwoEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, mention := range []string{"<@" + b.Bot().UserID + ">", "<@" + b.Bot().UserID + "|myao>"} {
		ts := b.Say(b.general, b.alice, mention+" hi")
		events := b.events(t)
		if got := kinds(events); !slices.Equal(got, []string{"message", "app_mention"}) {
			t.Fatalf("events = %v", got)
		}
		if events[0].EventID == events[1].EventID {
			t.Error("both events of a mention have the same event_id")
		}
		for _, e := range events {
			if e.Event["ts"] != ts || e.Event["event_ts"] != ts || e.Event["user"] != b.alice || e.Type != "event_callback" || e.TeamID != b.Team() || e.EventTime == 0 {
				t.Errorf("event = %s", e.body)
			}
		}
		if _, has := events[1].Event["channel_type"]; has || events[0].Event["channel_type"] != "channel" {
			t.Errorf("channel_type: %v, %v", events[0].Event["channel_type"], events[1].Event["channel_type"])
		}
	}
	dm := b.AddChannel(DM, "", b.alice)
	b.Say(dm, b.alice, "<@"+b.Bot().UserID+"> hi")
	if events := b.events(t); len(events) != 1 || events[0].Event["channel_type"] != "im" {
		t.Errorf("DM: %v", kinds(events))
	}
	group := b.AddChannel(Private, "secret", b.alice, b.Bot().UserID)
	b.Say(group, b.alice, "hi")
	if events := b.events(t); len(events) != 1 || events[0].Event["channel_type"] != "group" {
		t.Errorf("private: %v", kinds(events))
	}
	b.Say(b.AddChannel(Public, "lobby", b.alice), b.alice, "<@"+b.Bot().UserID+"> hi")
	if events := b.events(t); len(events) != 0 {
		t.Errorf("events from a channel the bot is not in: %v", kinds(events))
	}
}

func TestMessageEventsHaveSlacksFields(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	root := b.Say(b.general, b.alice, "root")
	guest := b.AddUserAs(User{Name: "gina", Team: "T0ELSE"}).ID
	b.Say(b.general, b.alice, "look", WithFile("cat.png", "image/png", nil))
	b.Say(b.general, b.alice, "waves", Me())
	b.Say(b.general, b.bob, "for all", InThread(root), Broadcast())
	b.SayAsApp(b.general, App{BotID: "B0HOOK", Name: "deploys"}, "done")
	b.SayAsApp(b.general, App{BotID: "B0APP", Name: "helper", UserID: "U0APP"}, "done")
	b.Join(b.general, guest)
	b.Say(b.general, guest, "hello from outside")
	if _, _, err := b.api.PostMessage(b.general, slack.MsgOptionText("I, <@"+b.Bot().UserID+">", false)); err != nil {
		t.Fatal(err)
	}
	events := b.events(t)
	want := []string{"message", "message/file_share", "message/me_message", "message/thread_broadcast", "message/bot_message", "message",
		"message/channel_join", "member_joined_channel", "message", "message"}
	if got := kinds(events); !slices.Equal(got, want) {
		t.Fatalf("events = %v, want %v", got, want)
	}
	file := events[1].Event["files"].([]any)[0].(map[string]any)
	if file["name"] != "cat.png" || file["mimetype"] != "image/png" || file["id"] == "" {
		t.Errorf("file = %v", file)
	}
	broadcast := events[3].Event
	parent, _ := broadcast["root"].(map[string]any)
	if broadcast["thread_ts"] != root || parent["ts"] != root || parent["reply_count"] != 1.0 || parent["latest_reply"] != broadcast["ts"] || broadcast["parent_user_id"] != b.alice {
		t.Errorf("broadcast = %v", broadcast)
	}
	if hook := events[4].Event; hook["bot_id"] != "B0HOOK" || hook["username"] != "deploys" || hook["user"] != nil {
		t.Errorf("hook = %v", hook)
	}
	if app := events[5].Event; app["bot_id"] != "B0APP" || app["user"] != "U0APP" || app["bot_profile"] == nil {
		t.Errorf("app = %v", app)
	}
	if outside := events[8]; outside.Event["user_team"] != "T0ELSE" || !outside.Shared || events[0].Shared {
		t.Errorf("outside = %s", outside.body)
	}
	if own := events[9].Event; own["bot_id"] != b.Bot().BotID || own["app_id"] != b.Bot().AppID || own["user"] != b.Bot().UserID {
		t.Errorf("own = %v", own)
	}
}

func TestEditsFireMessageChangedAndAppMention(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	ts := b.Say(b.general, b.alice, "frist")
	b.Edit(b.general, ts, "first")
	b.Edit(b.general, ts, "first <@"+b.Bot().UserID+">")
	b.Edit(b.general, ts, "First <@"+b.Bot().UserID+">")
	events := b.events(t)
	want := []string{"message", "message/message_changed", "message/message_changed", "app_mention", "message/message_changed", "app_mention"}
	if got := kinds(events); !slices.Equal(got, want) {
		t.Fatalf("events = %v, want %v", got, want)
	}
	first, second := events[1].Event, events[2].Event
	inner, before := first["message"].(map[string]any), first["previous_message"].(map[string]any)
	if inner["ts"] != ts || inner["text"] != "first" || before["text"] != "frist" || before["edited"] != nil || first["hidden"] != true ||
		first["ts"] == ts || first["event_ts"] != first["ts"] || first["user"] != nil || first["text"] != nil {
		t.Errorf("changed = %s", events[1].body)
	}
	edited := func(m any) string { return m.(map[string]any)["edited"].(map[string]any)["ts"].(string) }
	if at := edited(first["message"]); !strings.HasSuffix(at, ".000000") {
		t.Errorf("edited.ts = %s, want whole seconds", at)
	}
	if first["event_ts"] == second["event_ts"] {
		t.Error("two edits share an event_ts")
	}
	if again := events[3].Event; again["ts"] != ts || again["event_ts"] == ts || again["edited"] == nil {
		t.Errorf("mention by edit = %v", again)
	}
}

func TestDeletionsFireMessageDeletedOrLeaveATombstone(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	root := b.Say(b.general, b.alice, "root")
	reply := b.Say(b.general, b.bob, "reply", InThread(root))
	lone := b.Say(b.general, b.bob, "lone")
	b.events(t)
	b.Delete(b.general, lone)
	e := b.events(t)[0].Event
	if e["subtype"] != "message_deleted" || e["deleted_ts"] != lone || e["hidden"] != true || e["previous_message"].(map[string]any)["text"] != "lone" || e["ts"] == lone {
		t.Errorf("deleted = %v", e)
	}
	b.Delete(b.general, root)
	e = b.events(t)[0].Event
	stone := e["message"].(map[string]any)
	if e["subtype"] != "message_changed" || stone["subtype"] != "tombstone" || stone["user"] != "USLACKBOT" || stone["ts"] != root || stone["reply_count"] != 1.0 {
		t.Errorf("tombstone = %v", e)
	}
	messages, _, _, err := b.api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: b.general, Timestamp: root})
	if err != nil || len(messages) != 2 {
		t.Errorf("thread under a tombstone = %d messages, %v", len(messages), err)
	}
	b.Delete(b.general, reply)
	if got := b.events(t); len(got) != 2 || got[1].Event["deleted_ts"] != root || len(b.Messages(b.general)) != 0 {
		t.Errorf("after the last reply: %v, %d messages left", kinds(got), len(b.Messages(b.general)))
	}
}

func TestUnacknowledgedEventsAreRetriedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		cfg      Config
		answer   http.HandlerFunc
		attempts int
		reason   string
	}{
		{"acknowledged", Config{}, nil, 1, ""},
		{"500", Config{}, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }, 4, "http_error"},
		{"no retry wanted", Config{}, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Slack-No-Retry", "1")
			rw.WriteHeader(500)
		}, 1, ""},
		{"too slow", Config{AckTimeout: 20 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 4, "http_timeout"},
		{"closed", Config{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 4, "connection_failed"},
		{"redirects", Config{}, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/", http.StatusTemporaryRedirect) }, 4, "too_many_redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.cfg)
			b.answer(c.answer)
			b.Say(b.general, b.alice, "x")
			b.events(t)
			log := b.Deliveries()
			if len(log) != c.attempts {
				t.Fatalf("%d tries, want %d", len(log), c.attempts)
			}
			for i, d := range log {
				if d.Retry != i || d.ID != log[0].ID || i > 0 && d.Reason != c.reason {
					t.Errorf("try %d: retry %d, reason %q, event %s", i, d.Retry, d.Reason, d.ID)
				}
			}
		})
	}
}

func TestWhatIsDeliveredLaterDoesNotDelayLaterEvents(t *testing.T) {
	t.Parallel()
	first := func(e Event) bool { return e.Text == "0" }
	for name, c := range map[string]struct {
		fault EventFault
		fails bool // the first try
		want  []string
	}{
		"a retry":           {EventFault{}, true, []string{"0", "1", "2"}},
		"a late event":      {EventFault{Match: first, Delay: time.Hour}, false, []string{"1", "2"}},
		"a second delivery": {EventFault{Match: first, RedeliverAfter: []time.Duration{time.Hour}}, false, []string{"0", "1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Config{RetryAfter: []time.Duration{time.Hour}})
			var asked atomic.Bool
			b.answer(func(rw http.ResponseWriter, r *http.Request) {
				if c.fails && !asked.Swap(true) {
					rw.WriteHeader(500)
				}
			})
			b.Faults().AddEvent(c.fault)
			for i := range 3 {
				b.Say(b.general, b.alice, fmt.Sprint(i))
			}
			if err := b.Await(within(t, time.Minute), func() bool { return len(b.Deliveries()) == len(c.want) }); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range b.Deliveries() {
				got = append(got, d.Event.Text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("arrived %v, want %v", got, c.want)
			}
		})
	}
}

func TestEventFaultsDropDelayAndReorder(t *testing.T) {
	t.Parallel()
	plain := func(e Event) bool { return e.Text == "0" }
	for _, c := range []struct {
		name  string
		fault EventFault
		say   []string
		want  []string
	}{
		{"dropped", EventFault{Match: plain, Drop: true}, []string{"0", "1"}, []string{"message 1"}},
		{"late", EventFault{Match: plain, Delay: time.Millisecond}, []string{"0"}, []string{"message 0"}},
		{"out of order", EventFault{Match: plain, Hold: 2}, []string{"0", "1", "2", "3"}, []string{"message 1", "message 2", "message 0", "message 3"}},
		{"twice, later", EventFault{Match: plain, RedeliverAfter: []time.Duration{time.Millisecond}}, []string{"0"}, []string{"message 0", "message 0 retry 1 http_timeout"}},
		{"only the message", EventFault{Match: AppMention, Drop: true}, []string{"<@U0BOT>"}, []string{"message <@U0BOT>"}},
		{"only the mention", EventFault{Match: MentionMessage, Drop: true}, []string{"<@U0BOT>"}, []string{"app_mention <@U0BOT>"}},
		{"once", EventFault{Times: 1, Drop: true}, []string{"0", "1"}, []string{"message 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Config{})
			b.Faults().AddEvent(c.fault)
			for _, text := range c.say {
				b.Say(b.general, b.alice, text)
			}
			var got []string
			for _, e := range b.events(t) {
				line := fmt.Sprint(e.Event["type"], " ", e.Event["text"])
				if n := e.header.Get("X-Slack-Retry-Num"); n != "" {
					line += " retry " + n + " " + e.header.Get("X-Slack-Retry-Reason")
				}
				got = append(got, line)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("arrived %v, want %v", got, c.want)
			}
		})
	}
}

func TestHeldEventsCanBeReleased(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Faults().AddEvent(EventFault{Hold: 5, Times: 1})
	b.Say(b.general, b.alice, "0")
	b.Say(b.general, b.alice, "1") // delivered once the first event is held
	if err := b.Await(t.Context(), func() bool { return len(b.Deliveries()) == 1 }); err != nil {
		t.Fatal(err)
	}
	b.ReleaseHeld()
	var got []any
	for _, e := range b.events(t) {
		got = append(got, e.Event["text"])
	}
	if want := []any{"1", "0"}; !slices.Equal(got, want) {
		t.Errorf("arrived %v, want %v", got, want)
	}
}

func TestURLVerificationNeedsTheChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	if err := b.VerifyURL(t.Context()); err == nil {
		t.Error("passes without the challenge")
	}
	b.answer(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "3eZbrw1aB10FEMAGAZd4FyFQ") })
	if err := b.VerifyURL(t.Context()); err != nil {
		t.Error(err)
	}
}
