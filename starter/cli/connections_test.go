package cli

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"myao/test/startertest"
	"myao/test/testserver"
)

// The error says why Temporal cannot be reached. It names the timeout only if that has passed.
func TestErrorsWithoutTemporal(t *testing.T) {
	o := newLedgerBundle(t, "")
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	for _, test := range []struct{ name, address, tls, timeout, why string }{
		{"refused", startertest.Nowhere, "false", "1h", "connection refused"},
		{"an unknown host", "temporal.invalid:7233", "false", "1h", "lookup temporal.invalid"},
		{"no address", "notanaddress", "false", "1h", "missing port in address"},
		{"TLS against plain text", plain.Listener.Addr().String(), "true", "1h", "first record does not look like a TLS handshake"},
		{"silence", mute.Addr().String(), "false", "500ms", " did not answer within 500ms. Check that it runs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TEMPORAL_ADDRESS", test.address)
			t.Setenv("TEMPORAL_TLS", test.tls)
			status, _, said := o.command("mute", "general", "--timeout", test.timeout)
			if status != 1 || !strings.Contains(said, "temporal at "+test.address+" did not answer") || !strings.Contains(said, test.why) {
				t.Errorf("status %d, want 1 and %q: %s", status, test.why, said)
			}
			if test.name != "silence" && strings.Contains(said, "within") {
				t.Errorf("no time has passed: %s", said)
			}
		})
	}
}

func TestErrorsWithoutTheNamespace(t *testing.T) {
	o := newLedgerBundle(t, "")
	address := testserver.Temporal(t)
	t.Setenv("TEMPORAL_ADDRESS", address)
	t.Setenv("TEMPORAL_NAMESPACE", "nowhere")
	want := "temporal at " + address + " has no namespace nowhere: check TEMPORAL_NAMESPACE\n"
	for _, command := range [][]string{{"conversations"}, {"show", "general"}, {"mute", "general"}} {
		if status, _, said := o.command(command...); status != 1 || !strings.HasSuffix(said, ": "+want) {
			t.Errorf("%s: status %d, want 1 and %q: %s", command, status, want, said)
		}
	}
}
