package slack

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// channels are objects as Slack sends them, and what is read of them. Member is tested separately.
var channels = []struct {
	name, object string
	want         Channel
}{
	{"public", `{"id":"C1","name":"general","is_channel":true,"is_group":false,"is_im":false,"is_mpim":false,"is_private":false,"is_archived":false}`, Channel{ID: "C1", Name: "general"}},
	{"public, archived", `{"id":"C1","name":"old","is_channel":true,"is_private":false,"is_archived":true}`, Channel{ID: "C1", Name: "old", Archived: true}},
	{"public, told by is_channel alone", `{"id":"C1","name":"general","is_channel":true}`, Channel{ID: "C1", Name: "general"}},
	{"public, told by is_private alone", `{"id":"C1","name":"general","is_private":false}`, Channel{ID: "C1", Name: "general"}},
	{"private", `{"id":"C1","name":"secret","is_channel":true,"is_group":false,"is_private":true}`, Channel{ID: "C1", Name: "secret", Private: true}},
	{"private, of old", `{"id":"G1","name":"secret","is_channel":false,"is_group":true}`, Channel{ID: "G1", Name: "secret", Private: true}},
	{"private, and a group that says it is not", `{"id":"C1","name":"x","is_channel":true,"is_group":true,"is_private":false}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"several people", `{"id":"C1","name":"mpdm-a--b-1","is_mpim":true}`, Channel{ID: "C1", Name: "mpdm-a--b-1", Private: true}},
	{"several people, not private", `{"id":"C1","name":"x","is_channel":true,"is_mpim":true,"is_private":false}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"nothing sent", `{"id":"C1","name":"x"}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"only that it is no group", `{"id":"C1","name":"x","is_group":false,"is_im":false}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"shared with another company", `{"id":"C1","name":"x","is_private":false,"is_shared":true,"is_ext_shared":true,"is_org_shared":false}`, Channel{ID: "C1", Name: "x", External: true}},
	{"shared within the organisation", `{"id":"C1","name":"x","is_private":true,"is_shared":true,"is_ext_shared":false,"is_org_shared":true}`, Channel{ID: "C1", Name: "x", Private: true, OrgShared: true}},
	{"of the whole organisation", `{"id":"C1","name":"x","is_private":false,"is_global_shared":true}`, Channel{ID: "C1", Name: "x", OrgShared: true}},
	{"shared with a second workspace", `{"id":"C1","name":"x","is_private":false,"shared_team_ids":["T1","T2"]}`, Channel{ID: "C1", Name: "x", OrgShared: true}},
	{"shared with nobody", `{"id":"C1","name":"x","is_private":false,"is_org_shared":false,"shared_team_ids":["T1"]}`, Channel{ID: "C1", Name: "x"}},
	{"shared with the workspace of another company", `{"id":"C1","name":"x","is_private":false,"is_ext_shared":true,"shared_team_ids":["T1","T2"]}`, Channel{ID: "C1", Name: "x", External: true}},
	{"is_private null", `{"id":"C1","name":"x","is_channel":true,"is_private":null}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"is_private no boolean", `{"id":"C1","name":"x","is_channel":true,"is_private":"false"}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"is_mpim no boolean", `{"id":"C1","name":"x","is_private":false,"is_mpim":0}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"is_channel no boolean", `{"id":"C1","name":"x","is_channel":1}`, Channel{ID: "C1", Name: "x", Private: true}},
	{"name of several lines", `{"id":"C1","name":"a\u0000\n# b","is_private":false}`, Channel{ID: "C1", Name: "a # b"}},
	{"name no string", `{"id":"C1","name":7,"is_private":false}`, Channel{ID: "C1"}},
	{"direct", `{"id":"D1","created":1498500348,"is_im":true,"is_org_shared":false,"user":"U1","is_user_deleted":false,"priority":0}`, Channel{ID: "D1", Private: true, Direct: true}},
	{"direct, account closed", `{"id":"D1","is_im":true,"user":"U1","is_user_deleted":true}`, Channel{ID: "D1", Private: true, Direct: true, Archived: true}},
	{"direct by its id", `{"id":"D1","is_channel":true,"is_private":false,"name":"x"}`, Channel{ID: "D1", Private: true, Direct: true}},
	{"a channel is_user_deleted says nothing of", `{"id":"C1","name":"x","is_private":false,"is_user_deleted":true}`, Channel{ID: "C1", Name: "x"}},
}

func TestChannel(t *testing.T) {
	t.Parallel()
	for _, tc := range channels {
		for _, member := range []bool{false, true} {
			object := fmt.Sprintf(`{"is_member":%v,`, member) + tc.object[1:]
			want := tc.want
			want.Member = member || want.Direct
			_, c := newFake(t, says(`{"ok":true,"channel":`+object+`}`))
			if got, err := c.Channel(t.Context(), want.ID); err != nil || got != want {
				t.Errorf("%s: got %+v, %v, want %+v", tc.name, got, err, want)
			}
		}
	}
	_, c := newFake(t, says(`{"ok":true}`))
	if _, err := c.Channel(t.Context(), "C1"); asError(t, err).Code != "unreadable_answer" {
		t.Errorf("no channel: got %v", err)
	}
}

func listing(next string, objects ...string) answer {
	return says(fmt.Sprintf(`{"ok":true,"channels":[%s],"response_metadata":{"next_cursor":%q}}`, strings.Join(objects, ","), next))
}

func TestConversations(t *testing.T) {
	t.Parallel()
	var objects []string
	var want []Channel
	for _, tc := range channels {
		objects = append(objects, tc.object)
		tc.want.Member = true
		want = append(want, tc.want)
	}
	f, c := newFake(t, listing("c1", objects...), listing(""), says(`{"ok":true,"channels":[]}`))
	page, err := c.Conversations(t.Context(), "")
	if err != nil || page.Next != "c1" || !reflect.DeepEqual(page.Channels, want) {
		t.Errorf("got %+v, %v, want %+v", page, err, want)
	}
	for _, cursor := range []string{page.Next, ""} {
		if page, err = c.Conversations(t.Context(), cursor); err != nil || page.Next != "" || len(page.Channels) != 0 {
			t.Errorf("an empty page: got %+v, %v", page, err)
		}
	}
	calls := f.seen()
	form := calls[0].form
	if calls[0].method != "users.conversations" || form.Get("types") != "public_channel,private_channel,im,mpim" || form.Get("limit") != "999" ||
		form.Has("exclude_archived") || form.Has("user") || form.Has("cursor") {
		t.Errorf("first call %v", calls[0])
	}
	if form := calls[1].form; form.Get("cursor") != "c1" || form.Get("types") != "public_channel,private_channel,im,mpim" {
		t.Errorf("second call %v", form)
	}
}

// A token that may not list group direct messages lists the rest, page by page.
func TestConversationsWithoutGroups(t *testing.T) {
	t.Parallel()
	const known = `{"id":"C1","name":"general","is_private":false}`
	refused := says(`{"ok":false,"error":"missing_scope","needed":"mpim:read","provided":"channels:read,groups:read,im:read"}`)
	f, c := newFake(t, refused, listing("c1", known), listing(""), refused, refused)
	page, err := c.Conversations(t.Context(), "")
	if err != nil || !page.NoGroups || len(page.Channels) != 1 || page.Next == "" {
		t.Fatalf("got %+v, %v", page, err)
	}
	if page, err = c.Conversations(t.Context(), page.Next); err != nil || !page.NoGroups || page.Next != "" {
		t.Errorf("got %+v, %v", page, err)
	}
	if page, err = c.Conversations(t.Context(), ""); asError(t, err).Code != "missing_scope" || !reflect.DeepEqual(page, ChannelPage{}) {
		t.Errorf("another scope is missing, too: got %+v, %v", page, err)
	}
	var asked []string
	for _, call := range f.seen() {
		asked = append(asked, call.form.Get("cursor")+" "+call.form.Get("types"))
	}
	const all, some = "public_channel,private_channel,im,mpim", "public_channel,private_channel,im"
	if want := []string{" " + all, " " + some, "c1 " + some, " " + all, " " + some}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestConversationsErrors(t *testing.T) {
	t.Parallel()
	const known = `{"id":"C1","name":"general","is_private":false}`
	for _, tc := range []struct {
		name   string
		answer answer
		kind   ErrorKind
		code   string
	}{
		{"no list", says(`{"ok":true,"response_metadata":{"next_cursor":""}}`), Ambiguous, "unreadable_answer"},
		{"list null", says(`{"ok":true,"channels":null}`), Ambiguous, "unreadable_answer"},
		{"no list but an object", says(`{"ok":true,"channels":{"0":` + known + `}}`), Ambiguous, "unreadable_answer"},
		{"more without a cursor", says(`{"ok":true,"has_more":true,"channels":[` + known + `]}`), Ambiguous, "unreadable_answer"},
		{"cursor no string", says(`{"ok":true,"channels":[` + known + `],"response_metadata":{"next_cursor":7}}`), Ambiguous, "unreadable_answer"},
		{"entry without an id", listing("", known, `{"name":"x","is_private":false}`), Ambiguous, "unreadable_answer"},
		{"entry with an empty id", listing("", known, `{"id":"","is_private":false}`), Ambiguous, "unreadable_answer"},
		{"entry with a malformed id", listing("", known, `{"id":"C/1","is_private":false}`), Ambiguous, "unreadable_answer"},
		{"entry with a number for an id", listing("", known, `{"id":7}`), Ambiguous, "unreadable_answer"},
		{"entry no object", listing("", known, `"C2"`), Ambiguous, "unreadable_answer"},
		{"entry null", listing("", known, `null`), Ambiguous, "unreadable_answer"},
		{"missing scope", says(`{"ok":false,"error":"missing_scope","needed":"groups:read","provided":"channels:read"}`), Final, "missing_scope"},
		{"cursor expired", says(`{"ok":false,"error":"invalid_cursor"}`), Final, "invalid_cursor"},
		{"limited", status(429, "Retry-After", "30"), RateLimited, "ratelimited"},
		{"down", status(503), Ambiguous, "http_503"},
		{"dropped", drops, Ambiguous, "connection_failed"},
	} {
		_, c := newFake(t, tc.answer)
		page, err := c.Conversations(t.Context(), "")
		e := asError(t, err)
		if e.Kind != tc.kind || e.Code != tc.code || e.Method != "users.conversations" || e.Retryable() != (tc.kind != Final) {
			t.Errorf("%s: got %+v", tc.name, e)
		}
		if !reflect.DeepEqual(page, ChannelPage{}) {
			t.Errorf("%s: %+v beside the error", tc.name, page)
		}
	}
}

// FuzzChannel searches for an object that counts as a public channel without saying so.
func FuzzChannel(f *testing.F) {
	for _, tc := range channels {
		f.Add([]byte(tc.object))
	}
	f.Add([]byte(`{"is_private":false,"is_private":true}`))
	f.Add([]byte(`{"IS_PRIVATE":false,"is_channel":[true]}`))
	client := New(Config{})
	f.Fuzz(func(t *testing.T, body []byte) {
		o, ok := parseObject(body)
		if !ok {
			return
		}
		c := client.readChannel(o, "C1")
		if c.Direct && !c.Private {
			t.Errorf("a direct message for all: %+v", c)
		}
		if strings.ContainsAny(c.Name, "\x00\n") {
			t.Errorf("name %q", c.Name)
		}
		if c.Private {
			return
		}
		var plain map[string]any
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"is_private", "is_group", "is_mpim", "is_im"} {
			if value, told := plain[key]; told && value != false {
				t.Errorf("public with %s %v", key, value)
			}
		}
		if plain["is_private"] != false && plain["is_channel"] != true {
			t.Errorf("public without a word: %s", body)
		}
	})
}
