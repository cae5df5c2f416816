package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// The same system by other ways in and out.

func TestSocketMode(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), func(o *settings) { o.socket = true }, answers(speaking("by socket", llmtest.Yes("asked", 1, 0))))
	s.workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the answer", 20*time.Second, func() bool { return len(s.posts()) == 1 })
	s.starter.kill()
	s.workspace.Say(s.general, s.alice.ID, "said while nobody listened?")
	s.starter.start()
	s.await("the judged answer", 60*time.Second, func() bool { return len(s.posts()) == 2 })
	resp, err := http.Post("http://"+s.door+"/slack/events", "application/json", strings.NewReader("{}"))
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the HTTP door in Socket Mode: %v, %v; want 404", resp, err)
	}
}

func TestOpenAI(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), func(o *settings) { o.provider = "openai" }, answers(speaking("by OpenAI", llmtest.Yes("asked", 1, 0))))
	s.workspace.Say(s.general, s.alice.ID, "a question?")
	s.await("the answer", 20*time.Second, func() bool { return len(s.posts()) == 1 })
	for _, c := range s.model.Calls() {
		if c.Provider != "openai" {
			t.Errorf("a call by way of %s", c.Provider)
		}
	}
}

// TestCalledIntoAThread mentions the bot in a thread that it has heard nothing of.
func TestCalledIntoAThread(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t))
	root := s.workspace.Say(s.general, s.alice.ID, "the-root", sandbox.Unseen())
	for i := range 30 {
		s.workspace.Say(s.general, s.bob.ID, fmt.Sprintf("reply-%02d", i), sandbox.InThread(root), sandbox.Unseen())
	}
	s.workspace.Say(s.general, s.alice.ID, s.mention("what do you think?"), sandbox.InThread(root))
	s.await("the answer", 20*time.Second, func() bool { return len(s.posts()) == 1 })
	prompt := s.replies()[0].System
	for _, text := range []string{"the-root", "reply-11", "reply-29", "what do you think?"} {
		if !strings.Contains(prompt, text) {
			t.Errorf("the model was not told %q", text)
		}
	}
	if strings.Contains(prompt, "reply-10") {
		t.Error("the model was told more than thread_history_limit, 20, replies")
	}
	s.never("an answer to what was only read", 4*time.Second, func() bool { return len(s.model.Calls()) > 1 })
}

// TestSandbox runs the whole of the sandbox, as make run does.
func TestSandbox(t *testing.T) {
	t.Parallel()
	// Of the ports that the system gives away by itself, another test may have this one before Temporal does.
	_, port, err := net.SplitHostPort(testserver.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "sandbox"), "--address", "127.0.0.1:0", "--temporal-port", port)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range os.Environ() {
		if !strings.HasPrefix(env, "GEMINI_") && !strings.HasPrefix(env, "OPENAI_") && !strings.HasPrefix(env, "PATH=") {
			cmd.Env = append(cmd.Env, env)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH")+":"+filepath.Join(root, ".bin"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := &logbook{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the sandbox ended with %v: %s", err, stderr)
		}
	})
	page := ""
	address := regexp.MustCompile(`chat with the bot +(http://\S+)`)
	for lines := bufio.NewScanner(out); page == "" && lines.Scan(); {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			page = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if page == "" {
		t.Fatalf("the sandbox did not come up: %s", stderr)
	}
	state := sandboxState(t, page)
	say, _ := json.Marshal(map[string]string{
		"channel": state.Channels[0].ID, "user": state.Users[1].ID, "text": "@myao are you there?",
	})
	resp, err := http.Post(page+"sandbox/say", "application/json", bytes.NewReader(say))
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("say something: %v, %v", resp, err)
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		for _, m := range sandboxState(t, page).Channels[0].Messages {
			if m.BotID != "" {
				if !strings.Contains(m.Text, "demo") {
					t.Errorf("the demo model does not say what it is: %q", m.Text)
				}
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no answer on the page within a minute")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

type pageState struct {
	Users    []struct{ ID, Name string }
	Channels []struct {
		ID       string
		Messages []struct {
			BotID string `json:"bot_id"`
			Text  string
		}
	}
}

func sandboxState(t *testing.T, page string) pageState {
	t.Helper()
	resp, err := http.Get(page + "sandbox/state")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var state pageState
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	return state
}
