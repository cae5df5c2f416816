package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"myao/internal/config"
	"myao/internal/runtime/codec"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// Any web page can make a browser request an image from this machine without an Origin. A page
// that knew the token of Socket Mode could receive all messages that way.
func TestWellKnownTokensAreRefused(t *testing.T) {
	t.Parallel()
	own := newSecrets()
	w := newWorkspace(workspace.New, workspace.Config{
		BotToken: own.Token, AppToken: own.App, SigningSecret: own.Signing,
	}, 4)
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
	s := &system{config: "/tmp/myao-sandbox-1/config.yaml", ports: ports{temporal: "127.0.0.1:7300", ui: "127.0.0.1:8300", door: "127.0.0.1:9300"}, hookSecret: "shh"}
	got := s.banner("127.0.0.1:9000", "demo", "/src/.bin")
	for _, line := range []string{
		"  chat with the bot      http://127.0.0.1:9000/",
		"  Temporal's Web UI      http://127.0.0.1:8300/",
		"  model                  demo",
		"  export TEMPORAL_ADDRESS=127.0.0.1:7300",
		"  export TEMPORAL_NAMESPACE=sandbox",
		"  export TEMPORAL_CODEC_ENDPOINT=http://127.0.0.1:9000/codec",
		`  starter() { "/src/.bin/starter" "$@" --config "/tmp/myao-sandbox-1/config.yaml"; }`,
		`  event() { curl -H "X-Signature: $(printf %s "$1" | openssl dgst -sha256 -hmac shh | sed 's/.* //')" -d "$1" \`,
		"    http://127.0.0.1:9300/hooks/demo; }",
		"Stop with Ctrl-C.",
	} {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}

// Beside the page, Temporal's Web UI and programs without an origin have payloads decrypted, and no other page has.
func TestCodecServerIsForTheWebUI(t *testing.T) {
	t.Parallel()
	keys, err := codec.New(config.Encryption{ActiveKey: "k", Keys: map[string]config.Secret{
		"k": config.Secret(newSecrets().Key)}})
	testserver.Must(t, err)
	app := workspace.NewSlack(workspace.SlackConfig{})
	w := newWorkspace(app.Add, workspace.Config{}, 4)
	defer w.Close()
	s := &system{ports: ports{ui: "127.0.0.1:8233"}}
	server := httptest.NewServer(s.handler(app, keys))
	defer server.Close()
	post := func(path, origin, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		testserver.Must(t, err)
		req.Header.Set("Content-Type", "application/json")
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		testserver.Must(t, err)
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		testserver.Must(t, err)
		return resp.StatusCode, string(answer)
	}
	const data = `"data":"c3dvcmRmaXNo"`
	_, sealed := post("/codec/encode", "", `{"payloads":[{"metadata":{},`+data+`}]}`)
	for origin, want := range map[string]int{
		"": 200, "http://127.0.0.1:8233": 200, "http://localhost:8233": 200, server.URL: 403, "https://evil.example": 403,
	} {
		if status, plain := post("/codec/decode", origin, sealed); status != want ||
			strings.Contains(plain, data) != (want == 200) || strings.Contains(sealed, data) {
			t.Errorf("%s: %d, %s", origin, status, plain)
		}
	}
}
