package slack_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
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

// unescape shows a form's JSON as Slack reads it.
var unescape = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// Code is posted as a model has written it, except for what Slack would make a link or a call of.
func TestCodeIsPostedAsWritten(t *testing.T) {
	t.Parallel()
	form := &slackForm{}
	client := slack.New(slack.Config{Token: "xoxb-1", HTTPClient: &http.Client{Transport: form}})
	for _, code := range []string{
		"<xs:pattern value='a|b'/>", "<a:b|c>", "std::map<k:v|w>", "Promise<Foo.Bar|null>", "List<@A X> | <@B> <@C> <@D> <@E> <@F> <@G>", "<!-- x --> <!DOCTYPE html>", "<!dates>", "a < b && c > d | e", "&lt;b&gt;",
		"は<xs:a|**b**>は",
	} {
		for _, around := range [][2]string{
			{"See:\n```xml\n", "\n```\nEnd <https://e.org/>"}, {"`", "`"}, {"は`", "`は"}, {"``x` ", "``"}, {"~~~\n", "\n~~~"}, {"- ```\n  ", "\n  ```"}, {"````md\n```\n", "\n```\n````"},
		} {
			text := prompt.SafeReply(around[0]+code+around[1], "", prompt.Unwritten, chat.Persona{})
			if _, err := client.Post(t.Context(), slack.Post{Channel: "C1", Text: text, Key: "k"}); err != nil {
				t.Fatal(err)
			}
			if posted := unescape.Replace(form.Get("blocks")); !strings.Contains(posted, code) {
				t.Errorf("%q is posted as %s", around[0]+code+around[1], posted)
			}
		}
	}
}

// Whatever a model writes, no part of the reply hides an address from Slack's readers, neither in
// its block nor in its plain text, and all parts together mention few people.
func FuzzPosted(f *testing.F) {
	hidden := regexp.MustCompile(`(?i)<(?:!date\^[^>|]*\^)?\s*(?:[a-z][a-z0-9+.-]*://|mailto:|tel:)[^>|]*\|`)
	mention := regexp.MustCompile(`<@[UW][A-Z0-9]+(?:\|[^>]*)?>`)
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
