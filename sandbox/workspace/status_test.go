package workspace

import (
	"net/url"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// A status stands until the app posts in its thread, takes it away, or two minutes have passed.
func TestStatus(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	b := setup(t, Config{Clock: func() time.Time { return now }})
	root, other := b.Say(b.general, b.alice, "hm"), b.Say(b.general, b.alice, "ah")
	set := func(channel, thread, status string) any {
		return b.raw(t, "assistant.threads.setStatus", url.Values{"channel_id": {channel}, "thread_ts": {thread}, "status": {status}})["error"]
	}
	check := func(when, want string) {
		t.Helper()
		if got := b.Status(b.general, root); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	show := func() {
		t.Helper()
		if err := set(b.general, root, "is thinking…"); err != nil {
			t.Fatal(err)
		}
		check("set", "is thinking…")
	}
	show()
	for _, thread := range []string{"", other} {
		if _, _, err := b.api.PostMessage(b.general, slack.MsgOptionText("hm", false), slack.MsgOptionTS(thread)); err != nil {
			t.Fatal(err)
		}
	}
	check("after posts elsewhere", "is thinking…")
	if _, _, err := b.api.PostMessage(b.general, slack.MsgOptionText("yes", false), slack.MsgOptionTS(root)); err != nil {
		t.Fatal(err)
	}
	check("after the reply", "")
	show()
	set(b.general, root, "")
	check("taken away", "")
	show()
	now = now.Add(2 * time.Minute)
	check("after two minutes", "")

	if got := set("C404", root, "x"); got != "channel_not_found" {
		t.Errorf("an unknown channel: %v", got)
	}
	if got := set(b.general, "1.000001", "x"); got != "invalid_thread_ts" {
		t.Errorf("an unknown thread: %v", got)
	}
	b.cfg.Scopes = []string{"channels:read"}
	if got := set(b.general, root, "x"); got != "missing_scope" {
		t.Errorf("without the scope: %v", got)
	}
}
