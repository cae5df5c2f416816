package workspace

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

func TestListingMissesNoChannelWhenOthersAreLeftMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{PageSize: 2})
	bot := b.Bot().UserID
	want := []string{b.general}
	for i := range 6 {
		want = append(want, b.AddChannel(Public, fmt.Sprint("c", i), bot))
	}
	b.Faults().Add(Fault{Method: "users.conversations", Times: 1, Alter: func(map[string]any) {
		b.Leave(want[0], bot)
		b.Leave(want[2], bot) // where the next page would have begun
	}})
	var got []string
	for cursor := ""; ; {
		page, next, err := b.api.GetConversationsForUser(&slack.GetConversationsForUserParameters{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page {
			got = append(got, c.ID)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if want = slices.Delete(want, 2, 3); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

func TestRenameIsAnnounced(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	secret := b.AddChannel(Private, "secret", b.alice, b.Bot().UserID)
	b.Rename(b.general, "commons")
	b.Rename(b.general, "commons")
	b.Rename(secret, "hidden")
	events := b.events(t)
	if got, want := kinds(events), []string{"message/channel_name", "message/group_name"}; !slices.Equal(got, want) {
		t.Fatalf("events = %v, want %v", got, want)
	}
	if e := events[0].Event; e["old_name"] != "general" || e["name"] != "commons" || e["user"] != b.alice || e["channel"] != b.general {
		t.Errorf("event = %v", e)
	}
	if m := b.Messages(b.general); len(m) != 1 || m[0].Subtype != "channel_name" {
		t.Errorf("messages = %+v", m)
	}
}

func TestOnlyMembersReadHistory(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	secret := b.AddChannel(Private, "secret", b.alice, b.Bot().UserID)
	for channel, want := range map[string]any{b.general: "not_in_channel", secret: "channel_not_found"} {
		root := b.Say(channel, b.alice, "root")
		for _, method := range []string{"conversations.history", "conversations.replies"} {
			b.Join(channel, b.Bot().UserID)
			args := url.Values{"channel": {channel}, "ts": {root}}
			b.Archive(channel, true)
			if got := b.raw(t, method, args); got["ok"] != true {
				t.Errorf("%s of an archived channel: %v", method, got["error"])
			}
			b.Archive(channel, false)
			b.Leave(channel, b.Bot().UserID)
			if got := b.raw(t, method, args); got["error"] != want {
				t.Errorf("%s from outside: %v, want %v", method, got, want)
			}
		}
	}
}

func TestSuppressedMessagesAreOnlyInHistory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	b := setup(t, Config{Clock: func() time.Time { return now }})
	hook := App{BotID: "B0HOOK", Name: "deploys"}
	ago := func(d time.Duration) SayOption { return At(now.Add(-d)) }
	fresh := b.Say(b.general, b.alice, "now")
	b.events(t)

	b.Faults().SuppressEvents(true)
	root := b.Say(b.general, b.alice, "root", ago(72*time.Hour))
	other := b.SayAsApp(b.general, hook, "deployed", ago(48*time.Hour))
	late := b.SayAsApp(b.general, hook, "late", ago(time.Hour), InThread(root))
	early := b.Say(b.general, b.bob, "early", ago(24*time.Hour), InThread(root))
	b.Say(b.general, b.alice, "meanwhile <@"+b.Bot().UserID+">", ago(time.Minute))
	b.Edit(b.general, root, "Root")
	b.Delete(b.general, other)
	b.Faults().SuppressEvents(false)
	if events := b.events(t); len(events) != 0 {
		t.Errorf("delivered %v", kinds(events))
	}
	if want := "1767787200.000000"; root != want {
		t.Errorf("ts = %s, want %s", root, want)
	}
	answer, err := b.api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: b.general})
	if err != nil || len(answer.Messages) != 3 || answer.Messages[0].Timestamp != fresh {
		t.Fatalf("history = %+v, %v", answer, err)
	}
	if parent := answer.Messages[2]; parent.Timestamp != root || parent.ReplyCount != 2 || parent.LatestReply != late || parent.Edited == nil {
		t.Errorf("parent = %+v", parent.Msg)
	}
	thread, _, _, err := b.api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: b.general, Timestamp: root})
	if err != nil || len(thread) != 3 || thread[1].Timestamp != early || thread[2].Timestamp != late || thread[2].BotID != "B0HOOK" {
		t.Errorf("thread = %+v, %v", thread, err)
	}
	if next := b.Say(b.general, b.alice, "again"); next <= fresh || len(b.events(t)) != 1 {
		t.Errorf("after the silence: ts %s after %s", next, fresh)
	}
}

func TestSuppressingEventsKeepsThoseUnderWay(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Faults().AddEvent(EventFault{Times: 1, Hold: 1})
	b.Say(b.general, b.alice, "before")
	b.Faults().SuppressEvents(true)
	b.Say(b.general, b.alice, "suppressed")
	b.Faults().Clear()
	b.Say(b.general, b.alice, "after")
	var got []any
	for _, e := range b.events(t) {
		got = append(got, e.Event["text"])
	}
	if !slices.Contains(got, "before") || !slices.Contains(got, "after") || len(got) != 2 {
		t.Errorf("delivered %v", got)
	}
}

func TestHistoryCanBeginWithTheOldestPage(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{PageSize: 2, OldestPageFirst: true})
	var said []string
	for i := range 6 {
		said = append(said, b.Say(b.general, b.alice, fmt.Sprint(i)))
	}
	read := func(oldest, latest string) []string {
		t.Helper()
		all, _ := b.history(t, slack.GetConversationHistoryParameters{Oldest: oldest, Latest: latest}, func() {})
		return all
	}
	if got, want := read(said[0], ""), []string{said[2], said[1], said[4], said[3], said[5]}; !slices.Equal(got, want) {
		t.Errorf("since = %v, want %v", got, want)
	}
	if got := read(said[0], said[4]); !slices.Equal(got, reversed(said[1:4])) {
		t.Errorf("between two = %v", got)
	}
	if got := read("", ""); !slices.Equal(got, reversed(said)) {
		t.Errorf("all = %v", got)
	}
}

func TestListingFaultsApplyToChosenPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault Fault
		// want is the error of the first and of the second page.
		want [2]any
	}{
		{"one page", Fault{Times: 1, Error: "missing_scope"}, [2]any{"missing_scope", nil}},
		{"two pages", Fault{Times: 2, Error: "internal_error"}, [2]any{"internal_error", "internal_error"}},
		{"until cleared", Fault{Status: 503}, [2]any{"internal_error", "internal_error"}},
		{"limited", Fault{Times: 1, Status: 429, RetryAfter: "1"}, [2]any{"ratelimited", nil}},
		{"the second page", Fault{Match: LaterPage, Error: "fatal_error"}, [2]any{nil, "fatal_error"}},
	} {
		for _, method := range []string{"users.conversations", "conversations.history", "conversations.replies"} {
			t.Run(c.name+"/"+method, func(t *testing.T) {
				t.Parallel()
				b := setup(t, Config{})
				b.AddChannel(Public, "other", b.Bot().UserID)
				root := b.Say(b.general, b.alice, "root")
				b.Say(b.general, b.alice, "reply", InThread(root), Broadcast())
				args := url.Values{"limit": {"1"}, "channel": {b.general}, "ts": {root}}
				cursor := b.raw(t, method, args)["response_metadata"].(map[string]any)["next_cursor"].(string)

				fault := c.fault
				fault.Method = method
				b.Faults().Add(fault)
				for i, cursor := range []string{"", cursor} {
					args.Set("cursor", cursor)
					if got := b.raw(t, method, args); got["error"] != c.want[i] {
						t.Errorf("page %d: %v, want %v", i+1, got["error"], c.want[i])
					}
				}
				b.Faults().Clear()
				if got := b.raw(t, method, args); got["ok"] != true {
					t.Errorf("cleared: %v", got)
				}
				if calls := b.Calls(method); len(calls) != 4 || calls[1].Args.Get("cursor") != "" || calls[2].Args.Get("cursor") != cursor {
					t.Errorf("calls = %+v", calls)
				}
				if all, others := b.Calls(), b.Calls("chat.postMessage", "auth.test"); len(all) != 4 || len(others) != 0 {
					t.Errorf("%d calls, %d of other methods", len(all), len(others))
				}
			})
		}
	}
}

func TestFaultAltersOneAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Faults().Add(Fault{Method: "users.conversations", Times: 1, Alter: func(answer map[string]any) {
		answer["channels"].([]any)[0].(map[string]any)["is_private"] = "perhaps"
		delete(answer, "response_metadata")
	}})
	got := b.raw(t, "users.conversations", url.Values{})
	if got["ok"] != true || got["channels"].([]any)[0].(map[string]any)["is_private"] != "perhaps" || got["response_metadata"] != nil {
		t.Errorf("answer = %v", got)
	}
	if got = b.raw(t, "users.conversations", url.Values{}); got["response_metadata"] == nil {
		t.Errorf("after the fault: %v", got)
	}
}
