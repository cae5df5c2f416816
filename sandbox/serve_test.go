package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"myao/sandbox/workspace"
)

// Any web page can make a browser request an image from this machine without an Origin. A page
// that knew the token of Socket Mode could receive all messages that way.
func TestWellKnownTokensAreRefused(t *testing.T) {
	t.Parallel()
	own := newSecrets()
	w := newWorkspace(workspace.Config{BotToken: own.Token, AppToken: own.App, SigningSecret: own.Signing}, 4)
	defer w.Close()
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	for method, token := range map[string]string{"apps.connections.open": "xapp-sandbox", "auth.test": "xoxb-sandbox"} {
		resp, err := http.Get(server.URL + "/api/" + method + "?token=" + token)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(answer), "invalid_auth") {
			t.Errorf("%s with %s: %s, %v", method, token, answer, err)
		}
	}
}

// The banner holds all that a terminal needs, with the ports that are really used.
func TestBannerShowsTheAddresses(t *testing.T) {
	t.Parallel()
	s := &system{config: "/tmp/myao-sandbox-1/config.yaml", ports: ports{temporal: "127.0.0.1:7300", ui: "127.0.0.1:8300"}}
	got := s.banner("127.0.0.1:9000", "demo", "/src/.bin")
	for _, line := range []string{
		"  chat with the bot      http://127.0.0.1:9000/",
		"  Temporal's Web UI      http://127.0.0.1:8300/",
		"  model                  demo",
		"  export TEMPORAL_ADDRESS=127.0.0.1:7300",
		"  export TEMPORAL_NAMESPACE=sandbox",
		`  starter() { "/src/.bin/starter" "$@" --config "/tmp/myao-sandbox-1/config.yaml"; }`,
		"Stop with Ctrl-C.",
	} {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}
