package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// roleVariable has this test play the program in a process of its own, since proxies are read once for each.
const roleVariable = "MYAO_TEST_ROLE"

// The client library can do more than we ask of it: gRPC, S2A, Google's metadata server, client certificates with a
// helper program. Whatever the environment says, only our requests leave, by our transport.
func TestTheLibraryReachesNothingElse(t *testing.T) {
	if os.Getenv(roleVariable) != "" {
		m, err := New(t.Context(), Config{APIKey: "AIza-secret"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := m.Generate(ctx, request()); err == nil {
			t.Error("there is an answer")
		}
		time.Sleep(time.Second) // for what the library does meanwhile
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a script")
	}
	var mu sync.Mutex
	var asked []string
	listen := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprintf("%s: %s %s", name, r.Method, r.RequestURI))
			w.WriteHeader(http.StatusForbidden)
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	dir := t.TempDir()
	helper, certificates, ran := filepath.Join(dir, "helper"), filepath.Join(dir, "certificate_config.json"), filepath.Join(dir, "ran")
	for path, text := range map[string]string{
		helper:       "#!/bin/sh\n: > " + ran + "\n",
		certificates: `{"cert_configs":{"pkcs11":{"label":"x"}},"libs":{"ecp":"` + helper + `"}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), own, "-test.run=^TestTheLibraryReachesNothingElse$")
	cmd.Env = append(os.Environ(), roleVariable+"=1", "HTTPS_PROXY=http://"+listen("proxy"), "GCE_METADATA_HOST="+listen("metadata"),
		"EXPERIMENTAL_GOOGLE_API_USE_S2A=true", "GOOGLE_API_USE_MTLS_ENDPOINT=always", "GOOGLE_API_CERTIFICATE_CONFIG="+certificates,
		"GOOGLE_APPLICATION_CREDENTIALS="+certificates, "GOOGLE_CLOUD_UNIVERSE_DOMAIN=universe.example", "GOOGLE_SDK_GO_LOGGING_LEVEL=debug")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "Judge.") {
		t.Fatalf("%v\n%s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(asked)
	if want := []string{"proxy: CONNECT generativelanguage.googleapis.com:443"}; !slices.Equal(slices.Compact(asked), want) {
		t.Errorf("asked were %q, want %q", asked, want)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the helper of a client certificate was run")
	}
}
