package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

const hookSecret = "0123456789abcdef0123"

// waiting answers as promises do. An event is what is waited for if it says so, and a matter is settled if somebody has
// said that in the conversation. A message "search: " has it look for words.
func waiting(c llmtest.Call) llmtest.Reply {
	conversation, events, waits := strings.Cut(c.System, "## Promise that waits for an event")
	switch {
	case waits && strings.Contains(conversation, "we did it ourselves"):
		return llmtest.Verdict(chat.Verdict{Reason: "people have told it", Confidence: 0.9, Addressee: chat.AddresseeNobody})
	case waits && strings.Contains(events, "number: 42"):
		return llmtest.Yes("the event says so", 0.9, 0)
	case waits:
		return llmtest.Verdict(chat.Verdict{Reason: "another one", Confidence: 0.9, Addressee: chat.AddresseeSomeone})
	case c.Schema == nil && strings.Contains(c.System, "number: 42"):
		return llmtest.Text("It is time. PR 42 is merged.")
	}
	if i := strings.LastIndex(c.System, "search: "); i >= 0 && len(c.Tools) > 0 && len(c.Turns) == 0 {
		words, _, _ := strings.Cut(c.System[i+len("search: "):], "\n")
		return llmtest.Calls(llmtest.ToolCall("search_messages", `{"query":"`+words+`"}`))
	}
	return promises(c)
}

// hook sends an event, and returns the status and the answer. The headers are names and values.
func (s *system) hook(method, name, body string, header ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.starter.Address+"/hooks/"+name, strings.NewReader(body))
	testserver.Must(s.t, err)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	answer, err := http.DefaultClient.Do(r)
	testserver.Must(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	testserver.Must(s.t, err)
	return answer.StatusCode, strings.TrimSpace(string(text))
}

func signed(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, text)
	return hex.EncodeToString(mac.Sum(nil))
}

// github sends an event as GitHub does.
func (s *system) github(delivery, body, want string) {
	s.t.Helper()
	var status int
	var said string
	tries := 0
	s.await("delivery "+delivery+" to be taken", func() bool { // GitHub repeats none that took too long
		tries++
		status, said = s.hook("POST", "github", body, "X-Hub-Signature-256", "sha256="+signed(hookSecret, body), "X-GitHub-Delivery", delivery)
		return status != http.StatusServiceUnavailable
	})
	if status != 200 || said != want && tries == 1 {
		s.t.Errorf("delivery %s is answered %d %q, want %q", delivery, status, said, want)
	}
}

// A promise that waits for an event is judged when one comes by its hook, also if nobody ran then, and told once however
// often it is delivered. What nobody waits for wakes nobody. It is let go once people have told it, and due at its time.
func TestHooks(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		s := start(t, database(t), quiet(300), maxWait(600), modelAnswers(waiting), configured(`hooks: {github: {secret: "`+hookSecret+`", channels: "#general"}}`))
		random := s.room()
		s.github("1", `{"action":"opened","number":42,"title":"the ferry"}`, "stored")

		promise, thread := s.promised(s.general, `{"when":"in 1h","what":"PR 42 is merged","until":"github"}`)
		if blocks := string(s.postsIn(s.general)[0].Blocks); !strings.Contains(blocks, "I will tell you when it happens: waits for github, at the latest ") {
			t.Errorf("confirmed by %s", blocks)
		}
		if listed, _, _ := s.Command("promises", "list", "--json"); !strings.Contains(listed, `"until": "github"`) {
			t.Errorf("listed: %s", listed)
		}
		s.worker.Kill()
		s.github("2", `{"action":"closed","number":41}`, "awaited")
		s.worker.Start()
		s.await("the event to be judged", func() bool { return s.promise(promise.ID).SeenEvent > promise.SeenEvent })
		if p := s.promise(promise.ID); p.State != store.PromiseOpen || !p.Due().Equal(promise.Due()) || p.WokenUS != 0 {
			t.Errorf("after another event: %+v", p)
		}
		s.github("3", `{"action":"closed","number":42}`, "awaited")
		s.github("3", `{"action":"closed","number":42}`, "repeated")
		s.awaitPromise(promise.ID, store.PromiseKept)
		if kept := s.kept(s.general, thread); len(kept) != 1 || kept[0].Text != "<@"+s.alice.ID+"> It is time. PR 42 is merged." {
			t.Errorf("kept by %+v", kept)
		}
		if n := len(s.judgments()); n != 2 {
			t.Errorf("%d judgments of two events", n)
		}

		settled, thread := s.promised(s.general, `{"when":"in 1h","what":"PR 50 is merged","until":"github"}`)
		s.awaitStored(s.general, s.Workspace.Say(s.general, s.bob.ID, "we did it ourselves", workspace.InThread(thread)))
		s.github("4", `{"action":"closed","number":50}`, "awaited")
		s.awaitPromise(settled.ID, store.PromiseReleased)
		late, thread2 := s.promised(s.general, `{"when":"in 1h","what":"PR 60 is merged","until":"github"}`)
		s.makeDue(late.ID)
		s.awaitPromise(late.ID, store.PromiseKept)
		if n, m := len(s.kept(s.general, thread)), len(s.kept(s.general, thread2)); n != 0 || m != 1 {
			t.Errorf("%d posts of what people have told, and %d at the latest time", n, m)
		}
		s.github("5", `{"action":"closed","number":42}`, "stored")
		for _, in := range []string{s.general, random} {
			s.Workspace.Say(in, s.alice.ID, s.mention("search: the ferry"))
			s.await("the search", func() bool {
				return slices.ContainsFunc(s.postsIn(in), func(p workspace.Post) bool { return p.Text == "All right." })
			})
			last := s.replies()[len(s.replies())-1]
			if found := strings.Contains(last.Turns[0].Results[0].Text, "hook github:\naction: opened\ntitle: the ferry"); found != (in == s.general) {
				t.Errorf("found in %s: %v: %s", in, found, last.Turns[0].Results[0].Text)
			}
		}
		if n := len(s.judgments()); n != 4 {
			t.Errorf("%d judgments; an event that nobody waits for is judged", n)
		}
	})
}
