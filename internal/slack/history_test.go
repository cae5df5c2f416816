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
// conversations.replies give them: without a channel, and not wrapped in an event. What else they may
// hold is read as in events.
func TestMessagesOfHistory(t *testing.T) {
	t.Parallel()
	const ts, parent, later = "1700000005.000100", "1700000000.000100", "1700000007.000100"
	said := func(fields string) string {
		return `{"type":"message","user":"U1","text":"hello","ts":"1700000005.000100"` + fields + `}`
	}
	root := func(fields string) string { return said(`,"thread_ts":"1700000005.000100"` + fields) }
	plain := &chat.Message{Team: "T1", Channel: "C1", TS: ts, UserID: "U1", Text: "hello"}
	reply := &chat.Message{Team: "T1", Channel: "C1", TS: ts, UserID: "U1", Text: "hello", ThreadTS: parent}
	for _, tc := range []struct {
		name, object string
		want         *chat.Message // nil: skipped
		threads      map[string]string
	}{
		{name: "plain", object: said(`,"team":"T1","client_msg_id":"x","blocks":[]`), want: plain},
		{name: "of another channel, as it says", object: said(`,"channel":"C2"`), want: plain},
		{name: "edited by nobody knows when", object: said(`,"edited":{"user":"U1","ts":9}`), want: plain},
		{name: "reply", object: said(`,"thread_ts":"1700000000.000100","parent_user_id":"U2"`), want: reply},
		{name: "reply sent to the channel", object: said(`,"subtype":"thread_broadcast","thread_ts":"1700000000.000100",
			"root":{"user":"U2","ts":"1700000000.000100","thread_ts":"1700000000.000100","reply_count":3}`), want: reply},

		{name: "parent", object: root(`,"reply_count":2,"reply_users_count":1,"latest_reply":"1700000007.000100",
			"reply_users":["U2"],"is_locked":false,"subscribed":false`), want: plain, threads: map[string]string{ts: later}},
		{name: "parent without its newest reply", object: root(`,"reply_count":2`), want: plain,
			threads: map[string]string{ts: ""}},
		{name: "parent by its thread_ts alone", object: root(""), want: plain, threads: map[string]string{ts: ""}},
		{name: "parent by its newest reply alone", object: said(`,"latest_reply":"1700000007.000100"`), want: plain,
			threads: map[string]string{ts: later}},
		{name: "parent with nonsense", object: root(`,"reply_count":"many","latest_reply":[]`), want: plain,
			threads: map[string]string{ts: ""}},
		{name: "parent with a reply before it", object: root(`,"reply_count":1,"latest_reply":"999999999.000100"`),
			want: plain, threads: map[string]string{ts: ""}},
		{name: "parent whose replies were deleted", object: root(`,"reply_count":0`), want: plain},
		{name: "never replied to", object: said(`,"reply_count":0`), want: plain},
		{name: "deleted parent", object: root(`,"reply_count":1,"latest_reply":"1700000007.000100",
			"subtype":"tombstone","hidden":true`),
			threads: map[string]string{ts: later}},
		{name: "join with a thread", object: root(`,"subtype":"channel_join","reply_count":1,
			"latest_reply":"1700000007.000100"`), threads: map[string]string{ts: later}},

		{name: "join", object: said(`,"subtype":"channel_join"`)},
		{name: "ts a number", object: `{"type":"message","user":"U1","text":"x","ts":1700000005.000100,"reply_count":1}`},
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
