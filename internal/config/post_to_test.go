package config_test

import (
	"fmt"
	"strings"
	"testing"

	"myao/internal/config"
)

// A channel's post_to stands in place of its workspace's, and that of all workspaces; it may be empty.
func TestPostTo(t *testing.T) {
	t.Parallel()
	c := parse(t, least+`tools: {post_to: members}
workspaces: {T01: {post_to: [random]}}
channels: {quiet: {post_to: []}, loud: {post_to: ["#general", C0123456789]}}`, env{})
	for name, want := range map[string]string{"other": "[members] [random]", "quiet": "[] []", "loud": "[#general C0123456789] [#general C0123456789]"} {
		f := config.ChannelFacts{Name: name}
		if got := fmt.Sprint(c.Channel(f).PostTo, c.ForWorkspace("T01", "").Channel(f).PostTo); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, value := range []string{"U0123456789", "D0123456789", "two words", `"#"`, `""`} {
		faults := faultsOf(t, least+"tools: {post_to: ["+value+"]}", env{})
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Key, "tools.post_to") {
			t.Errorf("%s: %v", value, faults)
		}
	}
}
