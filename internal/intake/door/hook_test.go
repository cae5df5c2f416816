package door

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/store"
)

const hookSecret = "0123456789abcdef"

// Each program's own way to sign is accepted, and nothing else: no secret, and no body.
func TestHookSignatures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.Clock()
	if err := b.Workspace.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: "C0000001", Name: "one", Member: true}); err != nil {
		t.Fatal(err)
	}
	b.Hooks = &Hooks{Configured: map[string]config.Hook{
		"ci": {Secret: hookSecret, Channels: config.Places{"one"}}, "away": {Secret: hookSecret, Channels: config.Places{"two"}},
	}, Store: b.Workspace.Store, Relay: b.notified}
	b.listen(t, b.Hook())
	mac := func(text string) string {
		sum := hmac.New(sha256.New, []byte(hookSecret))
		_, _ = io.WriteString(sum, text)
		return hex.EncodeToString(sum.Sum(nil))
	}
	const body = `{"a":1}`
	at, old := fmt.Sprint(now.Unix()), fmt.Sprint(now.Add(-6*time.Minute).Unix())
	for name, c := range map[string]struct {
		path, body string
		header     []string
		status     int
		answer     string
	}{
		"GitHub":                {"ci", body, []string{"X-Hub-Signature-256", "sha256=" + mac(body), "X-GitHub-Delivery", "g"}, 200, "stored"},
		"Linear":                {"ci", body, []string{"Linear-Signature", mac(body), "Linear-Delivery", "l"}, 200, "stored"},
		"Sentry":                {"ci", body, []string{"Sentry-Hook-Signature", mac(body), "Request-ID", "s"}, 200, "stored"},
		"Grafana":               {"ci", "one", []string{"X-Grafana-Alerting-Signature", mac("one")}, 200, "stored"},
		"Grafana with a time":   {"ci", "two", []string{"X-Grafana-Alerting-Signature", mac(at + ":two"), "X-Grafana-Alerting-Timestamp", at}, 200, "stored"},
		"Grafana, long ago":     {"ci", body, []string{"X-Grafana-Alerting-Signature", mac(old + ":" + body), "X-Grafana-Alerting-Timestamp", old}, 401, "five minutes"},
		"a time left out":       {"ci", body, []string{"X-Grafana-Alerting-Signature", mac(at + ":" + body)}, 401, "wrong"},
		"plain":                 {"ci", "no json", []string{"X-Signature", mac("no json")}, 200, "stored"},
		"in capitals":           {"ci", "capitals", []string{"X-Signature", strings.ToUpper(mac("capitals"))}, 200, "stored"},
		"of another body":       {"ci", body, []string{"X-Signature", mac(body + " ")}, 401, "wrong"},
		"without its prefix":    {"ci", body, []string{"X-Hub-Signature-256", mac(body)}, 401, "wrong"},
		"no signature":          {"ci", body, nil, 401, "X-Hub-Signature-256"},
		"no hook":               {"nosuch", body, []string{"X-Signature", mac(body)}, 404, "no hook"},
		"too large":             {"ci", strings.Repeat("x", bodyLimit+1), []string{"X-Signature", mac("x")}, 413, "1 MiB"},
		"channels not yet seen": {"away", body, []string{"X-Signature", mac(body)}, 503, "send it again"},
	} {
		header := http.Header{}
		for i := 0; i < len(c.header); i += 2 {
			header.Set(c.header[i], c.header[i+1])
		}
		if status, answer := b.postTo(t, config.HooksPath+c.path, c.body, header, false); status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%s: %d %q, want %d %q", name, status, answer, c.status, c.answer)
		}
	}
	if status, answer := b.postTo(t, config.HooksPath+"ci", "one", http.Header{"X-Signature": {mac("one")}}, false); status != 200 || answer != "repeated\n" {
		t.Errorf("the same body again: %d %q", status, answer)
	}
	found, err := b.Workspace.Store.SearchHookEvents(t.Context(), store.SearchQuery{Team: "T1", Here: "C0000001", Text: "capitals", Limit: 10})
	if err != nil || len(found) != 1 || found[0].Text != "capitals" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// What says the most comes first, and all of it is bounded.
func TestHookText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, body, want string }{
		"telling first": {"application/json", `{"zebra":1,"nothing":null,"empty":"","pull_request":{"title":"Mend","url":"u","labels":[{"name":"bug"}]},"action":"closed"}`,
			"action: closed\npull_request.title: Mend\npull_request.url: u\npull_request.labels[0].name: bug\nzebra: 1"},
		"a form":       {"application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D", "a: 1"},
		"a number":     {"", "12345678901234567890", "12345678901234567890"},
		"plain":        {"text/plain", "deployed\n", "deployed\n"},
		"two values":   {"", "{} {}", "{} {}"},
		"no UTF-8":     {"", "a\xffb", "a�b"},
		"a long value": {"", `{"x":"` + strings.Repeat("y", 501) + `"}`, "x: " + strings.Repeat("y", 499) + "…"},
	} {
		if got := hookText(c.kind, []byte(c.body)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	deep := strings.Repeat(`{"a":[`, 10_000) + strings.Repeat(`]}`, 10_000)
	many := `[` + strings.Repeat(`"word",`, 100_000) + `""]`
	for _, body := range []string{deep, many} {
		if n := len([]rune(hookText("", []byte(body)))); n > maxHookText {
			t.Errorf("%d characters", n)
		}
	}
}
