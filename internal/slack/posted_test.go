package slack_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/prompt"
	"myao/internal/slack"
)

// slackForm answers each post, and keeps its form.
type slackForm struct{ url.Values }

func (f *slackForm) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if f.Values, err = url.ParseQuery(string(body)); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"ok":true,"ts":"1700000000.000100"}`)), Request: r}, nil
}

// Whatever a model writes, no part of the reply hides an address from Slack's readers, neither in
// its block nor in its plain text, and all parts together mention few people.
func FuzzPosted(f *testing.F) {
	hidden := regexp.MustCompile(`(?i)<(?:!date\^[^>|]*\^)?[a-z][a-z0-9+.-]*:[^>|]*\|`)
	mention := regexp.MustCompile(`<@\w+(?:\|[^>]*)?>`)
	unescape := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	for _, seed := range []string{
		"```\n<https://evil.example/?q=S|the docs>\n```", "<https://evil.example/?q=S|a < b>", "`<HTTPS://evil.example/|x>`", "<mailto:a@e.org|<tel:1|b>>",
		"[docs](https://known.example/a) <https://known.example/a|docs>", "<https://known.example/" + strings.Repeat("a", 60) + "|docs>",
		"~~~\n<https://evil.example/|x>\n~~~", "<@U1><@U2><@U3><@U4><@U5><@U6><<@U7>", "**<https://evil.example/は|x>**は", "<https:[](//evil.example/)|x>", "`<!date^1^docs^https://evil.example/|x>`",
	} {
		f.Add(seed, uint8(40))
	}
	form := &slackForm{}
	client := slack.New(slack.Config{Token: "xoxb-1", HTTPClient: &http.Client{Transport: form, Timeout: time.Minute}})
	f.Fuzz(func(t *testing.T, text string, limit uint8) {
		people := map[string]bool{}
		for _, part := range slack.Split(prompt.SafeReply(text, "", func(address string) bool { return address == "https://known.example/a" }, chat.Persona{}), int(limit)) {
			if _, err := client.Post(t.Context(), slack.Post{Channel: "C1", Text: part, Key: "k"}); err != nil {
				t.Fatal(err)
			}
			for _, posted := range []string{form.Get("text"), unescape.Replace(form.Get("blocks"))} {
				if hidden.MatchString(posted) {
					t.Errorf("%q is posted as %q", text, posted)
				}
				for _, m := range mention.FindAllString(posted, -1) {
					people[m] = true
				}
			}
		}
		if len(people) > 5 {
			t.Errorf("%q mentions %d people", text, len(people))
		}
	})
}
