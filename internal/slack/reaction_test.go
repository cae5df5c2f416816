package slack

import (
	"errors"
	"testing"
	"time"

	"myao/internal/chat"
)

// reacted is as docs.slack.dev/reference/events/reaction_added shows it.
func reacted(event string) string {
	return `{"token":"XXYYZZ","team_id":"T1","api_app_id":"A1","event":` + event + `,"type":"event_callback",
		"authorizations":[{"team_id":"T1","user_id":"UBOT","is_bot":true,"is_enterprise_install":false}],"event_id":"Ev123ABC456","event_time":123456789}`
}

func TestReactionAdded(t *testing.T) {
	t.Parallel()
	whole := Reaction{User: "U123ABC456", Author: "U222222222", Emoji: "thumbsup", Channel: "C123ABC456", TS: "1360782400.498405", At: chat.Time("1360782804.083113")}
	want, removed := ReactionAdded{whole}, ReactionRemoved{whole}
	hooks := want
	hooks.Author, hooks.At = "", time.Time{}
	for _, tc := range []struct {
		name, event string
		want        Event
		err         error
	}{
		{"as documented", `{"type":"reaction_added","user":"U123ABC456","reaction":"thumbsup","item_user":"U222222222",
			"item":{"type":"message","channel":"C123ABC456","ts":"1360782400.498405","channel_type":"channel"},"event_ts":"1360782804.083113"}`, want, nil},
		{"taken back", `{"type":"reaction_removed","user":"U123ABC456","reaction":"thumbsup","item_user":"U222222222",
			"item":{"type":"message","channel":"C123ABC456","ts":"1360782400.498405"},"event_ts":"1360782804.083113"}`, removed, nil},
		{"with a tone of skin", `{"type":"reaction_added","user":"U123ABC456","reaction":"thumbsup::skin-tone-2","item_user":"U222222222",
			"item":{"type":"message","channel":"C123ABC456","ts":"1360782400.498405"},"event_ts":"1360782804.083113"}`, want, nil},
		{"on the message of a webhook", `{"type":"reaction_added","user":"U123ABC456","reaction":"thumbsup",
			"item":{"type":"message","channel":"C123ABC456","ts":"1360782400.498405"}}`, hooks, nil},
		{"on a file", `{"type":"reaction_added","user":"U1","reaction":"x","item":{"type":"file","file":"F1"}}`, nil, ErrIgnored},
		{"on nothing", `{"type":"reaction_added","user":"U1","reaction":"x"}`, nil, ErrUnusable},
		{"without a ts", `{"type":"reaction_added","user":"U1","reaction":"x","item":{"type":"message","channel":"C1"}}`, nil, ErrUnusable},
		{"of another shape", `{"type":"reaction_added","user":["U1"],"reaction":"x","item":{"type":"message","channel":"C1","ts":"1360782400.498405"}}`, nil, ErrUnusable},
		{"by nobody", `{"type":"reaction_added","reaction":"x","item":{"type":"message","channel":"C1","ts":"1360782400.498405"}}`, nil, ErrUnusable},
		{"nowhere", `{"type":"reaction_added","user":"U1","reaction":"x","item":{"type":"message","channel":"C/1","ts":"1360782400.498405"}}`, nil, ErrUnusable},
	} {
		if got, err := decode(t, reacted(tc.event)); !errors.Is(err, tc.err) || got != tc.want {
			t.Errorf("%s: got %+v, %v; want %+v, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
	for _, other := range []string{reacted(`7`), `{"type":"app_rate_limited","team_id":"T1","event":{"type":"reaction_added"}}`} {
		event, _ := decode(t, other)
		if _, ok := event.(ReactionAdded); ok {
			t.Errorf("%s is taken for a reaction", other)
		}
	}
}
