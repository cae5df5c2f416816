package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"myao/test/startertest"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			_, _ = fmt.Fprintln(w, "ready")
		case "/missing":
			http.Error(w, "database: not open yet\ntemporal: nobody there", http.StatusServiceUnavailable)
		case "/moved":
			http.Redirect(w, r, "/missing", http.StatusFound)
		case "/silent":
			<-ended
		}
	}))
	t.Cleanup(program.Close)
	t.Cleanup(func() { close(ended) })
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"ready", []string{"--url", program.URL + "/readyz", "--timeout", "1h"}, 0, []string{"ready\n"}},
		{"not ready", []string{"--url", program.URL + "/missing", "--timeout", "1h"}, 1, []string{
			"starter health: " + program.URL + "/missing answers 503 Service Unavailable\n", "database: not open yet\n", "temporal: nobody there\n"}},
		{"sent elsewhere", []string{"--url", program.URL + "/moved", "--timeout", "1h"}, 1, []string{"503"}},
		{"no answer", []string{"--url", program.URL + "/silent", "--timeout", "50ms"}, 1, []string{"starter health: ", "deadline exceeded"}},
		{"nobody there", []string{"--url", "http://" + startertest.Nowhere + "/readyz", "--timeout", "1h"}, 1, []string{"starter health: ", "connection refused"}},
		{"no address", []string{"--url", "8081/readyz"}, 2, []string{`--url "8081/readyz": want an address such as http://127.0.0.1:8080/readyz`}},
		{"no time", []string{"--timeout", "0s"}, 2, []string{"--timeout 0s: want a time above 0"}},
		{"help", []string{"--help"}, 0, []string{"/starter health --url http://127.0.0.1:8081/readyz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			args := append([]string{"--config", filepath.Join(t.TempDir(), "none.yaml"), "health"}, c.args...)
			if status := run(t.Context(), args, &out, &out); status != c.status {
				t.Errorf("exit status %d, want %d: %s", status, c.status, &out)
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, &out)
				}
			}
		})
	}
}

// The health checks in docker-compose.yml are valid command lines.
func TestHealthChecksOfComposeAreValid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct{ Healthcheck struct{ Test []string } }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(t.Context())
	end() // nobody is to be asked
	for _, name := range []string{"starter", "worker"} {
		test := compose.Services[name].Healthcheck.Test
		if len(test) < 3 || test[0] != "CMD" || test[1] != "/starter" {
			t.Errorf("%s is asked by %q", name, test)
			continue
		}
		var out bytes.Buffer
		if status := run(over, test[2:], &out, &out); status != 1 || !strings.Contains(out.String(), "starter health: ") {
			t.Errorf("%s is asked by %q, which ends with %d: %s", name, test, status, &out)
		}
	}
}
