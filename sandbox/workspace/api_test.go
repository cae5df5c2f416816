package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// raw calls a method without slack-go's client.
func (b *fixture) raw(t *testing.T, method string, args url.Values) map[string]any {
	t.Helper()
	args.Set("token", b.cfg.BotToken)
	answer, err := http.PostForm(b.url+"/api/"+method, args)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUsersAndBotsCanBeLookedUp(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	who, err := b.api.AuthTest()
	if err != nil || who.TeamID != "T0SANDBOX" || who.UserID != b.Bot().UserID || who.BotID != b.Bot().BotID {
		t.Fatalf("auth.test = %+v, %v", who, err)
	}
	u, err := b.api.GetUserInfo(b.alice)
	if err != nil || u.Profile.DisplayName != "alice" || u.RealName != "Alice" || u.TeamID != "T0SANDBOX" {
		t.Errorf("users.info = %+v, %v", u, err)
	}
	if _, err := b.api.GetUserInfo("U404"); err == nil || err.Error() != "user_not_found" {
		t.Errorf("users.info of nobody: %v", err)
	}
	all, err := b.api.GetUsers()
	if err != nil || len(all) != 3 {
		t.Errorf("users.list = %d users, %v", len(all), err)
	}
	b.Deactivate(b.bob)
	if u, err := b.api.GetUserInfo(b.bob); err != nil || !u.Deleted {
		t.Errorf("users.info of a closed account = %+v, %v", u, err)
	}
	bot, err := b.api.GetBotInfo(slack.GetBotInfoParameters{Bot: b.Bot().BotID})
	if err != nil || bot.UserID != b.Bot().UserID {
		t.Errorf("bots.info = %+v, %v", bot, err)
	}
}

func TestTokensAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	call := func(method, contentType, body, bearer string) string {
		req, _ := http.NewRequest(http.MethodPost, b.url+"/api/"+method, strings.NewReader(body))
		req.Header.Set("Content-Type", contentType)
		if bearer != "" {
			req.Header.Set("Authorization", "Bearer "+bearer)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var out struct{ Error string }
		json.NewDecoder(answer.Body).Decode(&out)
		return out.Error
	}
	const form, object = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
	for _, c := range []struct{ name, method, contentType, body, bearer, want string }{
		{"in the form", "auth.test", form, "token=xoxb-sandbox", "", ""},
		{"in the header", "auth.test", form, "", "xoxb-sandbox", ""},
		{"header and JSON", "auth.test", object, "{}", "xoxb-sandbox", ""},
		{"none", "auth.test", form, "", "", "not_authed"},
		{"wrong", "auth.test", form, "token=xoxb-other", "", "invalid_auth"},
		{"bot token for sockets", "apps.connections.open", object, "", "xoxb-sandbox", "invalid_auth"},
		{"no such method", "chat.shout", form, "token=xoxb-sandbox", "", "unknown_method"},
		{"broken JSON", "auth.test", object, "{", "xoxb-sandbox", "invalid_json"},
		{"no such type", "users.conversations", form, "types=public_channel,im,rooms", "xoxb-sandbox", "invalid_types"},
	} {
		if got := call(c.method, c.contentType, c.body, c.bearer); got != c.want {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
	// Nested objects are objects in a JSON body and strings in a form.
	got := call("chat.postMessage", object, `{"channel":"`+b.general+`","text":"x","metadata":{"event_type":"k","event_payload":{"key":"1"}}}`, "xoxb-sandbox")
	if got != "" || b.Posts()[0].Metadata.EventPayload["key"] != "1" {
		t.Errorf("JSON post: error %q, posts %+v", got, b.Posts())
	}
}

func TestChannelsAreListedByTypeAndMembership(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	secret := b.AddChannel(Private, "secret", b.alice)
	lobby := b.AddChannel(Public, "lobby", b.alice)
	dm := b.AddChannel(DM, "", b.alice)
	names := func(types ...string) []string {
		var out []string
		cursor := ""
		for {
			page, next, err := b.api.GetConversationsForUser(&slack.GetConversationsForUserParameters{Types: types, Limit: 1, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				if out = append(out, c.ID); c.IsMember { // the examples in its reference do not say so
					t.Errorf("users.conversations tells is_member of %s", c.ID)
				}
			}
			if cursor = next; cursor == "" {
				return out
			}
		}
	}
	if got, want := names(), []string{b.general}; !slices.Equal(got, want) {
		t.Errorf("users.conversations = %v, want %v", got, want)
	}
	if got, want := names("public_channel", "private_channel", "im"), []string{b.general, dm}; !slices.Equal(got, want) {
		t.Errorf("users.conversations of all types = %v, want %v", got, want)
	}
	listed, _, err := b.api.GetConversations(&slack.GetConversationsParameters{})
	if err != nil || len(listed) != 2 || listed[0].IsMember == listed[1].IsMember {
		t.Errorf("conversations.list = %+v, %v", listed, err)
	}
	info := func(id string) (*slack.Channel, error) {
		return b.api.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: id, IncludeNumMembers: true})
	}
	if c, err := info(dm); err != nil || !c.IsIM || c.User != b.alice || c.Name != "" {
		t.Errorf("info of the DM = %+v, %v", c, err)
	}
	if c, err := info(lobby); err != nil || c.Name != "lobby" || c.IsMember || c.NumMembers != 1 {
		t.Errorf("info of a channel from outside = %+v, %v", c, err)
	}
	if _, err := info(secret); err == nil || err.Error() != "channel_not_found" {
		t.Errorf("info of a private channel from outside: %v", err)
	}
	members, _, err := b.api.GetUsersInConversation(&slack.GetUsersInConversationParameters{ChannelID: b.general})
	if err != nil || !slices.Equal(members, []string{b.alice, b.bob, b.Bot().UserID}) {
		t.Errorf("members = %v, %v", members, err)
	}
	opened, _, _, err := b.api.OpenConversation(&slack.OpenConversationParameters{Users: []string{b.alice}})
	if err != nil || opened.ID != dm {
		t.Errorf("conversations.open = %+v, %v", opened, err)
	}
}

func TestTimeZones(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for zone, want := range map[string]string{"": "Etc/UTC UTC 0", "Asia/Tokyo": "Asia/Tokyo JST 32400"} {
		u, err := b.api.GetUserInfo(b.AddUserAs(User{Name: "dora", Zone: zone}).ID)
		if err != nil || fmt.Sprint(u.TZ, " ", u.TZLabel, " ", u.TZOffset) != want {
			t.Errorf("%q: got %s, %s, %d, %v", zone, u.TZ, u.TZLabel, u.TZOffset, err)
		}
	}
}

// history reads the history of #general, and calls between before each page but the first.
func (b *fixture) history(t *testing.T, p slack.GetConversationHistoryParameters, between func()) (all []string, n int) {
	t.Helper()
	p.ChannelID = b.general
	for {
		answer, err := b.api.GetConversationHistory(&p)
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, m := range answer.Messages {
			all = append(all, m.Timestamp)
		}
		if answer.HasMore != (answer.ResponseMetaData.NextCursor != "") {
			t.Errorf("has_more %v with cursor %q", answer.HasMore, answer.ResponseMetaData.NextCursor)
		}
		if p.Cursor = answer.ResponseMetaData.NextCursor; p.Cursor == "" {
			return all, n
		}
		between()
	}
}

func TestHistoryIsNewestFirstAndPages(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	var said []string
	for i := range 7 {
		said = append(said, b.Say(b.general, b.alice, fmt.Sprint(i)))
	}
	hidden := b.Say(b.general, b.bob, "in the thread", InThread(said[0]))
	shown := b.Say(b.general, b.bob, "for all", InThread(said[0]), Broadcast())
	read := func(p slack.GetConversationHistoryParameters) (all []string, pages int) {
		t.Helper()
		// must not shift the pages
		return b.history(t, p, func() { b.Say(b.general, b.alice, "meanwhile", WithoutEvent()) })
	}
	want := append([]string{shown}, reversed(said)...)
	got, pages := read(slack.GetConversationHistoryParameters{Limit: 3})
	if !slices.Equal(got, want) || pages != 3 {
		t.Errorf("history = %v in %d pages, want %v in 3", got, pages, want)
	}
	if slices.Contains(got, hidden) {
		t.Error("history shows a reply")
	}
	if got, _ := read(slack.GetConversationHistoryParameters{Oldest: said[2], Latest: said[5]}); !slices.Equal(got, []string{said[4], said[3]}) {
		t.Errorf("between two = %v", got)
	}
	if got, _ := read(slack.GetConversationHistoryParameters{Oldest: said[2], Latest: said[5], Inclusive: true}); !slices.Equal(got, reversed(said[2:6])) {
		t.Errorf("between two, inclusive = %v", got)
	}
	answer, _ := b.api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: b.general, Oldest: said[0], Latest: said[0], Inclusive: true})
	parent := answer.Messages[0]
	if parent.ThreadTimestamp != said[0] || parent.ReplyCount != 2 || parent.LatestReply != shown || !slices.Equal(parent.ReplyUsers, []string{b.bob}) {
		t.Errorf("parent = %+v", parent.Msg)
	}
	for _, c := range []struct{ key, value, want string }{
		{"limit", "1000", "invalid_limit"}, {"cursor", "x", "invalid_cursor"}, {"oldest", "yesterday", "invalid_ts_oldest"}, {"channel", "C404", "channel_not_found"},
	} {
		if got := b.raw(t, "conversations.history", url.Values{"channel": {b.general}, c.key: {c.value}}); c.key != "channel" && got["error"] != c.want {
			t.Errorf("%s=%s: %v, want %s", c.key, c.value, got["error"], c.want)
		}
	}
}

func reversed(list []string) []string {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

func TestRepliesAreOldestFirstAndPage(t *testing.T) {
	t.Parallel()
	for _, repeat := range []bool{false, true} {
		b := setup(t, Config{PageSize: 2, RepeatRoot: repeat})
		root := b.Say(b.general, b.alice, "root")
		alone := b.Say(b.general, b.alice, "alone")
		want := []string{root}
		for i := range 5 {
			want = append(want, b.Say(b.general, b.bob, fmt.Sprint(i), InThread(root)))
		}
		read := func(ts, oldest string) (all []string, pages int) {
			cursor := ""
			for {
				messages, more, next, err := b.api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: b.general, Timestamp: ts, Oldest: oldest, Cursor: cursor, Limit: 200})
				if err != nil {
					t.Fatal(err)
				}
				pages++
				for _, m := range messages {
					if !slices.Contains(all, m.Timestamp) {
						all = append(all, m.Timestamp)
					}
				}
				if cursor = next; !more {
					return all, pages
				}
			}
		}
		if got, pages := read(root, ""); !slices.Equal(got, want) || pages != 3 {
			t.Errorf("repeat %v: thread = %v in %d pages, want %v in 3", repeat, got, pages, want)
		}
		if got, _ := read(root, want[3]); !slices.Equal(got[len(got)-2:], want[4:]) || len(got) != 2+map[bool]int{true: 1}[repeat] {
			t.Errorf("repeat %v: since = %v", repeat, got)
		}
		if got, _ := read(want[2], ""); !slices.Equal(got, want[2:3]) && !repeat {
			t.Errorf("of a reply = %v, want it alone", got)
		}
		if got, _ := read(alone, ""); !slices.Equal(got, []string{alone}) {
			t.Errorf("without replies = %v", got)
		}
		if got := b.raw(t, "conversations.replies", url.Values{"channel": {b.general}, "ts": {"1.000001"}}); got["error"] != "thread_not_found" {
			t.Errorf("of nothing: %v", got)
		}
	}
}

func TestMetadataOnlyOnRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	root := b.Say(b.general, b.alice, "root")
	key := slack.SlackMetadata{EventType: "reply", EventPayload: map[string]any{"key": "abc"}}
	for _, opts := range [][]slack.MsgOption{{}, {slack.MsgOptionTS(root)}} {
		_, ts, err := b.api.PostMessage(b.general, append(opts, slack.MsgOptionText("x", false), slack.MsgOptionMetadata(key))...)
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range []bool{false, true} {
			var found slack.Message
			if len(opts) == 0 {
				answer, err := b.api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: b.general, Oldest: ts, Inclusive: true, IncludeAllMetadata: all})
				if err != nil {
					t.Fatal(err)
				}
				found = answer.Messages[0]
			} else {
				messages, _, _, err := b.api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: b.general, Timestamp: root, Oldest: ts, Inclusive: true, IncludeAllMetadata: all})
				if err != nil {
					t.Fatal(err)
				}
				found = messages[0]
			}
			if got := found.Metadata.EventPayload["key"] == "abc"; found.Timestamp != ts || got != all {
				t.Errorf("metadata asked for %v, got %v", all, got)
			}
		}
	}
	for _, e := range b.events(t) {
		if strings.Contains(string(e.body), `"metadata"`) {
			t.Errorf("event with metadata: %s", e.body)
		}
	}
}

func TestPostsAreCheckedLikeSlack(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	lobby := b.AddChannel(Public, "lobby", b.alice)
	secret := b.AddChannel(Private, "secret", b.alice)
	old := b.AddChannel(Public, "old", b.Bot().UserID)
	b.Archive(old, true)
	root := b.Say(b.general, b.alice, "root")
	block := func(kind, text string) string {
		raw, _ := json.Marshal([]map[string]any{{"type": kind, "text": text}})
		return string(raw)
	}
	for _, c := range []struct {
		name, want string
		args       url.Values
	}{
		{"no such channel", "channel_not_found", url.Values{"channel": {"C404"}, "text": {"x"}}},
		{"outside", "not_in_channel", url.Values{"channel": {lobby}, "text": {"x"}}},
		{"private, outside", "channel_not_found", url.Values{"channel": {secret}, "text": {"x"}}},
		{"archived", "is_archived", url.Values{"channel": {old}, "text": {"x"}}},
		{"nothing", "no_text", url.Values{"channel": {b.general}}},
		{"empty blocks", "no_text", url.Values{"channel": {b.general}, "blocks": {"[]"}}},
		{"a block without type", "invalid_blocks", url.Values{"channel": {b.general}, "blocks": {`[{}]`}}},
		{"no list", "invalid_blocks_format", url.Values{"channel": {b.general}, "blocks": {`{`}}},
		{"51 blocks", "invalid_blocks", url.Values{"channel": {b.general}, "blocks": {"[" + strings.Repeat(`{"type":"divider"},`, 50) + `{"type":"divider"}]`}}},
		{"long markdown", "msg_too_long", url.Values{"channel": {b.general}, "blocks": {block("markdown", strings.Repeat("é", 12_001))}}},
		{"much markdown", "msg_blocks_too_long", url.Values{"channel": {b.general}, "blocks": {`[{"type":"markdown","text":"` + strings.Repeat("x", 12_000) + `"},{"type":"markdown","text":"` + strings.Repeat("x", 1201) + `"}]`}}},
		{"long section", "invalid_blocks", url.Values{"channel": {b.general}, "blocks": {`[{"type":"section","text":{"type":"mrkdwn","text":"` + strings.Repeat("x", 3001) + `"}}]`}}},
		{"long markdown_text", "msg_too_long", url.Values{"channel": {b.general}, "markdown_text": {strings.Repeat("x", 12_001)}}},
		{"both texts", "markdown_text_conflict", url.Values{"channel": {b.general}, "markdown_text": {"x"}, "text": {"x"}}},
		{"metadata without a type", "invalid_metadata_format", url.Values{"channel": {b.general}, "text": {"x"}, "metadata": {"{}"}}},
		{"a thread that is no ts", "invalid_thread_ts", url.Values{"channel": {b.general}, "text": {"x"}, "thread_ts": {"0"}}},
	} {
		if got := b.raw(t, "chat.postMessage", c.args); got["ok"] != false || got["error"] != c.want {
			t.Errorf("%s: %v, want %s", c.name, got["error"], c.want)
		}
	}
	if n := len(b.Posts()); n != 0 {
		t.Fatalf("%d posts came of errors", n)
	}

	_, ts, err := b.api.PostMessage(b.general, slack.MsgOptionText("plain", false), slack.MsgOptionBlocks(slack.NewMarkdownBlock("", "**rich**")), slack.MsgOptionTS(root), slack.MsgOptionBroadcast())
	if err != nil {
		t.Fatal(err)
	}
	post := b.Posts()[0]
	if post.TS != ts || post.ThreadTS != root || post.Subtype != "thread_broadcast" || post.BotID != b.Bot().BotID || post.User != b.Bot().UserID || !strings.Contains(string(post.Blocks), "**rich**") {
		t.Errorf("post = %+v", post)
	}
	long := b.raw(t, "chat.postMessage", url.Values{"channel": {"#general"}, "text": {strings.Repeat("x", 41_000)}})
	if got := len(long["message"].(map[string]any)["text"].(string)); got != 40_000 {
		t.Errorf("long text kept %d characters, want 40000", got)
	}
	lost := b.raw(t, "chat.postMessage", url.Values{"channel": {b.general}, "text": {"x"}, "thread_ts": {"1.000001"}})
	if got := lost["message"].(map[string]any)["thread_ts"]; lost["ok"] != true || got != nil {
		t.Errorf("reply to a parent that is gone: %v, want it at the top level", lost)
	}
	direct := b.raw(t, "chat.postMessage", url.Values{"channel": {b.bob}, "text": {"psst"}})
	if id, _ := direct["channel"].(string); !strings.HasPrefix(id, "D") {
		t.Errorf("post to a user: %v", direct)
	}
	for i, p := range b.Posts() {
		if p.At.IsZero() || i > 0 && p.TS <= b.Posts()[i-1].TS {
			t.Errorf("post %d at %v has ts %s", i, p.At, p.TS)
		}
	}
}

func TestBotUpdatesAndDeletesOnlyItsOwnMessages(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	said := b.Say(b.general, b.alice, "mine")
	_, ts, err := b.api.PostMessage(b.general, slack.MsgOptionText("x", false))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, text, err := b.api.UpdateMessage(b.general, ts, slack.MsgOptionText("y", false)); err != nil || text != "y" {
		t.Errorf("update = %q, %v", text, err)
	}
	for _, c := range []struct{ method, ts, text, want string }{
		{"chat.update", said, "x", "cant_update_message"},
		{"chat.update", "1.000001", "x", "message_not_found"},
		{"chat.update", ts, strings.Repeat("x", 4001), "msg_too_long"},
		{"chat.delete", said, "", "cant_delete_message"},
		{"chat.delete", "1.000001", "", "message_not_found"},
	} {
		if got := b.raw(t, c.method, url.Values{"channel": {b.general}, "ts": {c.ts}, "text": {c.text}}); got["error"] != c.want {
			t.Errorf("%s: %v, want %s", c.method, got["error"], c.want)
		}
	}
	if _, _, err := b.api.DeleteMessage(b.general, ts); err != nil {
		t.Error(err)
	}
	if _, err := b.api.PostEphemeral(b.general, b.alice, slack.MsgOptionText("only you", false)); err != nil {
		t.Error(err)
	}
	if got := b.Messages(b.general); len(got) != 1 || len(b.Ephemeral()) != 1 || len(b.Posts()) != 1 {
		t.Errorf("left: %d messages, %d ephemeral, %d posts", len(got), len(b.Ephemeral()), len(b.Posts()))
	}
}

func TestReactionsAreCountedOncePerUser(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	at := slack.NewRefToMessage(b.general, b.Say(b.general, b.alice, "x"))
	if err := b.api.AddReaction("eyes", at); err != nil {
		t.Fatal(err)
	}
	if err := b.api.AddReaction("eyes", at); err == nil || err.Error() != "already_reacted" {
		t.Errorf("twice: %v", err)
	}
	b.React(b.general, at.Timestamp, b.bob, "eyes")
	got, err := b.api.GetReactions(at, slack.GetReactionsParameters{Full: true})
	if err != nil || len(got.Reactions) != 1 || got.Reactions[0].Count != 2 {
		t.Errorf("reactions = %+v, %v", got, err)
	}
	if err := b.api.RemoveReaction("eyes", at); err != nil {
		t.Error(err)
	}
	if err := b.api.RemoveReaction("eyes", at); err == nil || err.Error() != "no_reaction" {
		t.Errorf("removed twice: %v", err)
	}
	b.Unreact(b.general, at.Timestamp, b.bob, "eyes")
	if got := b.Messages(b.general)[0].Reactions; len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if got, want := kinds(b.events(t)), []string{"message", "reaction_added", "reaction_added", "reaction_removed", "reaction_removed"}; !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
}

func TestCallFaultsFailBeforeOrAfterTheEffect(t *testing.T) {
	t.Parallel()
	text := slack.MsgOptionText("x", false)
	for _, c := range []struct {
		name   string
		fault  Fault
		posted int
		want   func(error) bool
	}{
		{"429 with Retry-After", Fault{Status: 429, RetryAfter: "7"}, 0, func(err error) bool {
			e, ok := err.(*slack.RateLimitedError)
			return ok && e.RetryAfter == 7*time.Second
		}},
		{"429 without", Fault{Status: 429}, 0, func(err error) bool { e, ok := err.(slack.StatusCodeError); return ok && e.Code == 429 }},
		{"ratelimited over 200", Fault{Error: "ratelimited"}, 0, func(err error) bool { return err.Error() == "ratelimited" }},
		{"503", Fault{Status: 503}, 0, func(err error) bool { e, ok := err.(slack.StatusCodeError); return ok && e.Code == 503 }},
		{"503 after", Fault{Status: 503, AfterEffect: true}, 1, func(err error) bool { e, ok := err.(slack.StatusCodeError); return ok && e.Code == 503 }},
		{"internal_error after", Fault{Error: "internal_error", AfterEffect: true}, 1, func(err error) bool { return err.Error() == "internal_error" }},
		{"fatal_error", Fault{Error: "fatal_error"}, 0, func(err error) bool { return err.Error() == "fatal_error" }},
		{"lost", Fault{LoseAnswer: true}, 0, func(err error) bool { return strings.Contains(err.Error(), "EOF") }},
		{"lost after", Fault{LoseAnswer: true, AfterEffect: true}, 1, func(err error) bool { return strings.Contains(err.Error(), "EOF") }},
		{"garbled after", Fault{Garble: true, AfterEffect: true}, 1, func(err error) bool { return strings.Contains(err.Error(), "invalid character") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Config{})
			c.fault.Method, c.fault.Times = "chat.postMessage", 1
			b.Faults().Add(c.fault)
			if _, err := b.api.AuthTest(); err != nil {
				t.Errorf("another method: %v", err)
			}
			_, _, err := b.api.PostMessage(b.general, text)
			if err == nil || !c.want(err) {
				t.Errorf("error %T %v", err, err)
			}
			if got := len(b.Posts()); got != c.posted {
				t.Errorf("%d posts, want %d", got, c.posted)
			}
			if _, _, err := b.api.PostMessage(b.general, text); err != nil {
				t.Errorf("after the fault: %v", err)
			}
			calls := b.Calls()
			if len(calls) != 3 || !calls[1].Fault || calls[2].Fault || calls[1].Args.Get("token") != "" {
				t.Errorf("calls = %+v", calls)
			}
		})
	}
}

func TestDelayedAnswersTimeOut(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		b := setup(t, Config{})
		ctx, giveUp := context.WithCancel(t.Context())
		asked, posts := make(chan struct{}, 1), map[bool]int{true: 1}[after]
		off := b.Faults().Add(Fault{AfterEffect: after, Delay: time.Hour, Match: func(c Call) bool {
			slow := c.Args.Get("text") == "slow"
			if slow {
				asked <- struct{}{}
			}
			return slow
		}})
		go func() {
			defer giveUp()
			<-asked
			_ = b.Await(within(t, time.Minute), func() bool { return len(b.Posts()) == posts })
		}()
		_, _, err := b.api.PostMessageContext(ctx, b.general, slack.MsgOptionText("slow", false))
		if err == nil {
			t.Error("the caller waited for a slow answer")
		}
		if got := len(b.Posts()); got != posts {
			t.Errorf("after %v: %d posts", after, got)
		}
		off()
		_, _, err = b.api.PostMessageContext(within(t, time.Minute), b.general, slack.MsgOptionText("slow", false))
		if err != nil {
			t.Errorf("switched off: %v", err)
		}
	}
}

func TestHiddenPostAppearsLater(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var passed atomic.Int64
	b := setup(t, Config{Clock: func() time.Time { return at.Add(time.Duration(passed.Load())) }})
	b.Faults().Add(Fault{Method: "chat.postMessage", Status: 503, AfterEffect: true, Hide: time.Second, Times: 1})
	if _, _, err := b.api.PostMessage(b.general, slack.MsgOptionText("x", false)); err == nil {
		t.Fatal("no error")
	}
	count := func() int {
		answer, err := b.api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: b.general})
		if err != nil {
			t.Fatal(err)
		}
		return len(answer.Messages)
	}
	if count() != 0 {
		t.Error("visible at once")
	}
	passed.Store(int64(time.Second))
	if count() != 1 {
		t.Error("not visible later")
	}
}
