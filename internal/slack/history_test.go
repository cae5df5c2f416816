package slack

import (
	"encoding/json"
	"reflect"
	"testing"

	"myao/internal/chat"
)

func TestHistoryAndReplies(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, page("c1",
		`{"type":"message","user":"U1","text":"a","ts":"1700000003.000100","thread_ts":"1700000003.000100","reply_count":1,"latest_reply":"1700000008.000100","blocks":[{"type":7}]}`,
		`{"type":"message","subtype":"channel_join","user":"U1","ts":"1700000002.000100"}`,
		`7`,
		`{"type":"message","user":"UBOT","bot_id":"BBOT","text":"b","ts":"1700000001.000100","edited":{"ts":"1700000009.000000"}}`))
	want := Page{Skipped: 2, Next: "c1", Messages: []chat.Message{
		{Team: "T1", Channel: "C1", TS: "1700000003.000100", UserID: "U1", Text: "a"},
		{Team: "T1", Channel: "C1", TS: "1700000001.000100", UserID: "UBOT", BotID: "BBOT", Own: true, Text: "b", Revision: "1700000009.000000"},
	}, Threads: map[string]string{"1700000003.000100": "1700000008.000100"}}
	got, err := c.History(t.Context(), "C1", Range{Oldest: "1700000000.000000", Limit: 15}, me)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("history: got %+v, %v", got, err)
	}
	got, err = c.Replies(t.Context(), "C1", "1700000003.000100", Range{Cursor: "c0"}, me)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("replies: got %+v, %v", got, err)
	}
	calls := f.seen()
	if calls[0].method != "conversations.history" || calls[0].form.Get("limit") != "15" ||
		calls[1].method != "conversations.replies" || calls[1].form.Get("limit") != "200" || calls[1].form.Get("cursor") != "c0" {
		t.Errorf("calls %v", calls)
	}
	if _, err := c.Replies(t.Context(), "C1", "", Range{}, me); asError(t, err).Kind != Final {
		t.Errorf("no thread: %v", err)
	}
}

func TestHistoryRefusesAnAnswerWithoutMessages(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"ok":true}`, `{"ok":true,"has_more":false}`, `{"ok":true,"messages":null}`, `{"ok":true,"messages":{}}`, `{"ok":true,"messages":"none"}`,
		`{"ok":true,"messages":[],"has_more":true}`, `{"ok":true,"messages":[],"response_metadata":{"next_cursor":{}}}`,
	} {
		_, c := newFake(t, says(body))
		_, err := c.History(t.Context(), "C1", Range{}, me)
		if e := asError(t, err); e.Code != "unreadable_answer" || !e.Retryable() {
			t.Errorf("history of %s: %+v", body, e)
		}
		_, err = c.Replies(t.Context(), "C1", "1700000000.000100", Range{}, me)
		if e := asError(t, err); e.Code != "unreadable_answer" || !e.Retryable() {
			t.Errorf("replies of %s: %+v", body, e)
		}
	}
	_, c := newFake(t, says(`{"ok":true,"messages":[]}`))
	if got, err := c.History(t.Context(), "C1", Range{}, me); err != nil || !reflect.DeepEqual(got, Page{}) {
		t.Errorf("nothing said: got %+v, %v", got, err)
	}
}

// TestMessagesOfHistory reads message objects as conversations.history and
// conversations.replies give them: without a channel, and not wrapped in an event.
func TestMessagesOfHistory(t *testing.T) {
	t.Parallel()
	const ts, parent = "1700000005.000100", "1700000000.000100"
	message := func(change func(*chat.Message)) *chat.Message {
		m := &chat.Message{Team: "T1", Channel: "C1", TS: ts, UserID: "U1", Text: "hello"}
		change(m)
		return m
	}
	for _, tc := range []struct {
		name, object string
		want         *chat.Message // nil: skipped
		threads      map[string]string
	}{
		{name: "plain", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","team":"T1","client_msg_id":"x","blocks":[]}`,
			want: message(func(*chat.Message) {})},
		{name: "of another workspace", object: `{"type":"message","user":"U1","user_team":"T2","source_team":"T2","team":"T2","text":"hello","ts":"1700000005.000100"}`,
			want: message(func(*chat.Message) {})},
		{name: "of another channel, as it says", object: `{"type":"message","channel":"C2","user":"U1","text":"hello","ts":"1700000005.000100"}`,
			want: message(func(*chat.Message) {})},
		{name: "edited", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","edited":{"user":"U1","ts":"1700000009.000000"}}`,
			want: message(func(m *chat.Message) { m.Revision = "1700000009.000000" })},
		{name: "edited by nobody knows when", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","edited":{"user":"U1","ts":9}}`,
			want: message(func(*chat.Message) {})},
		{name: "reply", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000000.000100","parent_user_id":"U2"}`,
			want: message(func(m *chat.Message) { m.ThreadTS = parent })},
		{name: "reply sent to the channel", object: `{"type":"message","subtype":"thread_broadcast","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000000.000100",
			"root":{"user":"U2","text":"root","ts":"1700000000.000100","thread_ts":"1700000000.000100","reply_count":3,"latest_reply":"1700000005.000100"}}`,
			want: message(func(m *chat.Message) { m.ThreadTS = parent })},
		{name: "file", object: `{"type":"message","subtype":"file_share","user":"U1","text":"hello","ts":"1700000005.000100","upload":true,"files":[{"id":"F1","name":"cat.png","mimetype":"image/png"},{"id":"F2","mode":"tombstone"}]}`,
			want: message(func(m *chat.Message) { m.Files = []chat.File{{ID: "F1", Name: "cat.png", MIME: "image/png"}} })},
		{name: "file without subtype or text", object: `{"type":"message","user":"U1","text":"","ts":"1700000005.000100","files":[{"id":"F1","name":"cat.png","mimetype":"image/png"}]}`,
			want: message(func(m *chat.Message) {
				m.Text, m.Files = "", []chat.File{{ID: "F1", Name: "cat.png", MIME: "image/png"}}
			})},
		{name: "/me", object: `{"type":"message","subtype":"me_message","user":"U1","text":"hello","ts":"1700000005.000100"}`,
			want: message(func(*chat.Message) {})},
		{name: "webhook", object: `{"type":"message","subtype":"bot_message","bot_id":"B1","username":"deploys","text":"","ts":"1700000005.000100","attachments":[{"fallback":"hello"}]}`,
			want: message(func(m *chat.Message) { m.UserID, m.BotID, m.Name = "", "B1", "deploys" })},
		{name: "forward of a mention, which is none here", object: `{"type":"message","user":"U1","text":"","ts":"1700000005.000100","attachments":[{"is_msg_unfurl":true,"is_share":true,"author_name":"Bob","text":"<@UBOT> hello"}]}`,
			want: message(func(m *chat.Message) { m.Text = "[forwarded message by Bob]\n@myao hello" })},
		{name: "another app", object: `{"type":"message","user":"U1","bot_id":"B1","app_id":"A1","text":"hello","ts":"1700000005.000100","bot_profile":{"name":"helper"},"metadata":{"event_type":"x","event_payload":{}}}`,
			want: message(func(m *chat.Message) { m.BotID = "B1" })},
		{name: "our own", object: `{"type":"message","user":"UBOT","bot_id":"BBOT","text":"hello","ts":"1700000005.000100","metadata":{"event_type":"myao_reply","event_payload":{"key":"k"}}}`,
			want: message(func(m *chat.Message) { m.UserID, m.BotID, m.Own = "UBOT", "BBOT", true })},

		{name: "parent", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":2,"reply_users_count":1,"latest_reply":"1700000007.000100","reply_users":["U2"],"is_locked":false,"subscribed":false}`,
			want: message(func(*chat.Message) {}), threads: map[string]string{ts: "1700000007.000100"}},
		{name: "parent without its newest reply", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":2}`,
			want: message(func(*chat.Message) {}), threads: map[string]string{ts: ""}},
		{name: "parent by its thread_ts alone", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100"}`,
			want: message(func(*chat.Message) {}), threads: map[string]string{ts: ""}},
		{name: "parent by its newest reply alone", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","latest_reply":"1700000007.000100"}`,
			want: message(func(*chat.Message) {}), threads: map[string]string{ts: "1700000007.000100"}},
		{name: "parent with nonsense", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":"many","latest_reply":[]}`,
			want: message(func(*chat.Message) {}), threads: map[string]string{ts: ""}},
		{name: "parent with a reply before it", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":1,"latest_reply":"999999999.000100"}`,
			want: message(func(*chat.Message) {}), threads: map[string]string{ts: ""}},
		{name: "parent whose replies were deleted", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":0}`,
			want: message(func(*chat.Message) {})},
		{name: "never replied to", object: `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","reply_count":0}`,
			want: message(func(*chat.Message) {})},
		{name: "deleted parent", object: `{"type":"message","subtype":"tombstone","hidden":true,"user":"USLACKBOT","text":"This message was deleted.","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":1,"latest_reply":"1700000007.000100"}`,
			threads: map[string]string{ts: "1700000007.000100"}},
		{name: "join with a thread", object: `{"type":"message","subtype":"channel_join","user":"U1","text":"<@U1> has joined","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":1,"latest_reply":"1700000007.000100"}`,
			threads: map[string]string{ts: "1700000007.000100"}},

		{name: "join", object: `{"type":"message","subtype":"channel_join","user":"U1","text":"x","ts":"1700000005.000100"}`},
		{name: "topic", object: `{"type":"message","subtype":"channel_topic","user":"U1","topic":"x","text":"x","ts":"1700000005.000100"}`},
		{name: "renamed", object: `{"type":"message","subtype":"channel_name","user":"U1","old_name":"a","name":"b","text":"x","ts":"1700000005.000100"}`},
		{name: "hidden", object: `{"type":"message","hidden":true,"user":"U1","text":"x","ts":"1700000005.000100"}`},
		{name: "no author", object: `{"type":"message","text":"x","ts":"1700000005.000100"}`},
		{name: "ts a number", object: `{"type":"message","user":"U1","text":"x","ts":1700000005.000100,"reply_count":1}`},
		{name: "thread_ts malformed", object: `{"type":"message","user":"U1","text":"x","ts":"1700000005.000100","thread_ts":"x"}`},
		{name: "null", object: `null`},
	} {
		_, c := newFake(t, page("", tc.object))
		want := Page{Skipped: 1, Threads: tc.threads}
		if tc.want != nil {
			want = Page{Messages: []chat.Message{*tc.want}, Threads: tc.threads}
		}
		if got, err := c.History(t.Context(), "C1", Range{}, me); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: history\n got %+v, %v\nwant %+v", tc.name, got, err, want)
		}
		if got, err := c.Replies(t.Context(), "C1", parent, Range{}, me); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: replies\n got %+v, %v\nwant %+v", tc.name, got, err, want)
		}
	}
}

func FuzzReadPage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":2,"latest_reply":"1700000007.000100"}`,
		`{"subtype":"tombstone","hidden":true,"user":"USLACKBOT","ts":"1700000005.000100","thread_ts":"1700000005.000100","reply_count":1e0,"latest_reply":null}`,
		`{"subtype":"thread_broadcast","user":"U1","ts":"1700000005.000100","thread_ts":"1700000000.000100","root":{"reply_count":1}}`,
		`{"user":"U1","ts":"1.1","reply_count":-1,"latest_reply":"0.1"}`,
		`[]`, `null`, `"x"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		page := readPage([]json.RawMessage{body, body}, "", "C1", me)
		if len(page.Messages)+page.Skipped != 2 {
			t.Errorf("%d messages and %d skipped of 2", len(page.Messages), page.Skipped)
		}
		for _, m := range page.Messages {
			if m.Team != "T1" || m.Channel != "C1" || !chat.ValidTS(m.TS) || m.ThreadTS == m.TS || m.UserID == "" && m.BotID == "" {
				t.Errorf("accepted %+v", m)
			}
			if m.ThreadTS != "" && len(page.Threads) != 0 {
				t.Errorf("a reply with replies: %+v, %v", m, page.Threads)
			}
		}
		for parent, newest := range page.Threads {
			if !chat.ValidTS(parent) || newest != "" && !chat.Time(newest).After(chat.Time(parent)) {
				t.Errorf("thread %q: newest %q", parent, newest)
			}
		}
	})
}
