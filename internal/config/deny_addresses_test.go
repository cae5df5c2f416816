package config_test

import (
	"fmt"
	"strings"
	"testing"

	"myao/internal/config"
)

// What clouds serve at public addresses is denied unless somebody says otherwise. A mistake is told, not skipped.
func TestDenyAddresses(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(config.Default().Tools.Denied()); !strings.Contains(got, "168.63.129.16/32") || !strings.Contains(got, "fd00:ec2::254/128") {
		t.Errorf("by default %s are denied", got)
	}
	for value, want := range map[string]string{
		"[]":                              "[]",
		"[203.0.113.7, 198.51.100.77/24]": "[203.0.113.7/32 198.51.100.0/24]",
		`["2001:db8::1", "2001:db8::/32", "::ffff:203.0.113.7"]`: "[2001:db8::1/128 2001:db8::/32 203.0.113.7/32]",
	} {
		if got := fmt.Sprint(parse(t, least+"tools: {deny_addresses: "+value+"}", env{}).Tools.Denied()); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	for _, value := range []string{"[here.example]", "[203.0.113.7/33]", "[203.0.113]", `[""]`, "203.0.113.7"} {
		faults := faultsOf(t, least+"tools: {deny_addresses: "+value+"}", env{})
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Key, "tools.deny_addresses") {
			t.Errorf("%s: %+v, want one fault of it", value, faults)
		}
	}
}
