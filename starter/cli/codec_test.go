package cli

import (
	"bytes"
	"encoding/base64"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"myao/test/startertest"
)

// withKey writes a configuration with an encryption key, but without Slack or a database.
func withKey(t *testing.T) string {
	t.Helper()
	path := startertest.Configuration(t, "127.0.0.1:0", "postgres://nobody@"+startertest.Nowhere+"/none", "http://"+startertest.Nowhere+"/api/", "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	text = append(text, "encryption: {active_key: a, keys: {a: "+key+"}}\n"...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCodecThatCannotServe(t *testing.T) {
	t.Setenv(tokenVariable, "")
	keys := withKey(t)
	none := startertest.Configuration(t, "127.0.0.1:0", startertest.SQLite(t), "http://"+startertest.Nowhere+"/api/", "")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for _, c := range []struct {
		name, token, config string
		args                []string
		status              int
		says                string
	}{
		{"help", "", keys, []string{"--help"}, 0, "temporal workflow show --workflow-id ID --codec-endpoint http://127.0.0.1:8234"},
		{"no keys", "", none, nil, 1, "starter codec: encryption.keys is empty: there is nothing to decrypt with"},
		{"every address", "", keys, []string{"--address", ":0"}, 1, "set MYAO_CODEC_TOKEN"},
		{"an address that is not loopback", "", keys, []string{"--address", "192.0.2.1:0"}, 1, "set MYAO_CODEC_TOKEN"},
		{"a name that is not loopback", "", keys, []string{"--address", "localhost.example.com:0"}, 1, "set MYAO_CODEC_TOKEN"},
		{"a short token", "hunter22", keys, []string{"--address", ":0"}, 1, "MYAO_CODEC_TOKEN is too short"},
		{"an address in use", "", keys, []string{"--address", busy.Addr().String()}, 1, "address already in use"},
		{"no port", "", keys, []string{"--address", "127.0.0.1"}, 2, `--address "127.0.0.1": want HOST:PORT`},
		{"any origin", "", keys, []string{"--origin", "*"}, 2, `--origin "*"`},
		{"an origin with a path", "", keys, []string{"--origin", "http://localhost:8233/"}, 2, "without a path"},
		{"an origin no browser writes", "", keys, []string{"--origin", "http://LOCALHOST:8233"}, 2, "in lower case"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(tokenVariable, c.token)
			var out bytes.Buffer
			if status := run(t.Context(), append([]string{"--config", c.config, "codec"}, c.args...), &out, &out); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "hunter22") {
				t.Errorf("it says, without %q\n%s", c.says, &out)
			}
		})
	}
}

// The codec server needs only the configuration, and ends on a signal.
func TestCodecServes(t *testing.T) {
	t.Parallel()
	const token = "sixteen-letters!"
	for name, c := range map[string]struct {
		token, address, host string
		want                 int
	}{
		"on loopback":                    {"", "127.0.0.1:0", "localhost", 200},
		"on loopback, asked by a name":   {"", "127.0.0.1:0", "evil.example.com", 403},
		"everywhere, with a token":       {token, "0.0.0.0:0", "codec.example.com", 200},
		"everywhere, without that token": {token + "x", "0.0.0.0:0", "codec.example.com", 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startertest.StartProcess(t, []string{tokenVariable + "=" + c.token}, "--config", withKey(t), "codec", "--address", c.address)
			w.Await("its address", func() bool { return strings.Contains(w.Log.String(), "\n") })
			_, address, _ := strings.Cut(strings.TrimSpace(w.Log.String()), "http://")
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatalf("it says %q", w.Log)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:"+port+"/encode", strings.NewReader(`{"payloads":[{"data":"YQ=="}]}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			if c.token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("status %d, want %d", resp.StatusCode, c.want)
			}
			w.Stop()
			if files, err := filepath.Glob(w.Cmd.Dir + "/*"); err != nil || len(files) > 0 {
				t.Errorf("it left %q behind, %v", files, err)
			}
			if strings.Contains(w.Log.String(), token) {
				t.Errorf("it tells its token: %s", w.Log)
			}
		})
	}
}
