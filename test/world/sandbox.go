package world

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// Sandbox is the program of `make run`, with a Temporal server, a worker and a starter of its own.
type Sandbox struct {
	*testserver.Program
	// URL is of its page, UI of Temporal's, both without a trailing slash. Dir has its files.
	URL, UI, Dir string
	Log          *Log

	t testing.TB
}

// NewSandbox returns a sandbox that has not been started. bin has all programs.
func NewSandbox(t testing.TB, bin string, flags ...string) *Sandbox {
	t.Helper()
	tools, err := filepath.Abs("../../.bin")
	testserver.Must(t, err)
	s := &Sandbox{t: t, Log: NewLog(t, "sandbox")}
	s.Program = s.Log.Program(filepath.Join(bin, "sandbox"), append([]string{"--temporal-port", "0"}, flags...)...)
	s.Env = []string{
		"PATH=" + os.Getenv("PATH") + string(filepath.ListSeparator) + tools,
		"GEMINI_API_KEY=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=",
	}
	return s
}

// StartSandbox starts a sandbox and returns once it says where its page is. It ends with the test.
func StartSandbox(t testing.TB, bin string, flags ...string) *Sandbox {
	t.Helper()
	s := NewSandbox(t, bin, append([]string{"--address", "127.0.0.1:0"}, flags...)...)
	s.Start()
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("the sandbox ended with %v", err)
		}
	})
	said := map[*regexp.Regexp]*string{
		regexp.MustCompile(`chat with the bot +(http://\S+?)/?\n`): &s.URL,
		regexp.MustCompile(`Web UI +(http://\S+?)/?\n`):            &s.UI,
		regexp.MustCompile(`logs are in (\S+)`):                    &s.Dir,
	}
	Await(t, "the sandbox to say where its page is", func() bool {
		select {
		case <-s.Ended():
			t.Fatalf("the sandbox ended; it said:\n%s", s.Log)
		default:
		}
		text := s.Log.String()
		for pattern, into := range said {
			if m := pattern.FindStringSubmatch(text); m != nil {
				*into = m[1]
			}
		}
		return s.URL != "" && s.UI != "" && s.Dir != ""
	})
	return s
}

// State is the workspace as the page gets it.
type State struct {
	Bot   workspace.Bot `json:"bot"`
	Users []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Bot  bool   `json:"is_bot"`
	} `json:"users"`
	Channels []Channel `json:"channels"`
}

// Channel is a channel of the sandbox.
type Channel struct {
	ID       string              `json:"id"`
	Kind     workspace.Kind      `json:"kind"`
	Name     string              `json:"name"`
	Members  []string            `json:"members"`
	Messages []workspace.Message `json:"messages"`
}

// State asks for the workspace.
func (s *Sandbox) State() (state State) {
	s.t.Helper()
	s.Get("state", &state)
	return state
}

// Get decodes the JSON of an address below /sandbox/.
func (s *Sandbox) Get(path string, into any) {
	s.t.Helper()
	status, body := Get(s.t, s.URL+"/sandbox/"+path)
	if err := json.Unmarshal([]byte(body), into); err != nil {
		s.t.Fatalf("%s: %d, %v: %s", path, status, err, body)
	}
}

// Post sends an action as the page does.
func (s *Sandbox) Post(action string, body any) {
	s.t.Helper()
	raw, err := json.Marshal(body)
	testserver.Must(s.t, err)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/sandbox/"+action, bytes.NewReader(raw))
	testserver.Must(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", s.URL)
	resp, err := http.DefaultClient.Do(req)
	testserver.Must(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusNoContent {
		s.t.Fatalf("%s %s: %s: %s", action, raw, resp.Status, said)
	}
}
