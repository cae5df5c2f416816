package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/timeline"
	"myao/test/testserver"
	"myao/test/world"
)

// TestSandbox runs the whole sandbox as `make run` does.
func TestSandbox(t *testing.T) {
	t.Parallel()
	s := &sandboxProgram{world.StartSandbox(t, bin, "--quiet", "40"), t}
	state := s.State()
	general, random, alice := state.Channels[0].ID, state.Channels[1].ID, state.Users[1].ID
	say := func(channel, text string) {
		t.Helper()
		s.Post("say", map[string]any{"channel": channel, "user": alice, "text": text})
	}
	say(general, "@myao are you there?")
	s.await("the answer", func() bool { return len(s.answers(general)) == 1 })
	if text := s.answers(general)[0]; !strings.Contains(text, "demo") {
		t.Errorf("the demo model does not say what it is: %q", text)
	}

	// The worker is killed while a reply is pending, and the reply survives.
	mind := s.watch("?channel=" + random)
	mind.await("the mind", func(m mindEvent) bool { return m.Worker == "running" && m.phase() == conversation.Idle })
	say(random, "is anybody here who knows the way?")
	waiting := mind.await("the wait", func(m mindEvent) bool { return m.phase() == conversation.Waiting })
	s.Post("mind/worker", map[string]any{"do": "kill"})
	dead := mind.await("the death", func(m mindEvent) bool { return m.Worker == "stopped" })
	if dead.phase() != conversation.Waiting || !dead.State.DueAt.Equal(waiting.State.DueAt) || !dead.Open || !strings.HasPrefix(dead.Problem, "the worker is stopped; ") ||
		!strings.HasPrefix(dead.URL, "http://127.0.0.1:") {
		t.Errorf("with a dead worker the page is told %+v, %+v", dead, dead.State)
	}
	s.await("the reply to be due", func() bool { return time.Now().After(dead.State.DueAt) })
	late := s.watch("?channel="+random).await("the story", func(m mindEvent) bool { return m.Open && len(m.Story.Entries) > 0 })
	if late.Worker != "stopped" || late.State != nil || late.Phase != conversation.Waiting || !late.Open || len(late.Story.Entries) == 0 {
		t.Errorf("a page opened later is told %+v", late)
	}
	s.Post("mind/worker", map[string]any{"do": "start"})
	mind.await("the worker's return", func(m mindEvent) bool { return m.Worker == "running" && m.Asked.After(dead.Asked) })
	decision := mind.await("the reply in the ledger", func(m mindEvent) bool { return m.decision("posted") != nil }).decision("posted")
	s.await("the reply", func() bool { return len(s.answers(random)) == 1 })
	if !decision.ShouldRespond || decision.Source != "judgment" || len(decision.Calls) != 2 {
		t.Errorf("decided: %+v", decision)
	}

	// The page can show the decision's prompts.
	var prompts []struct{ Purpose, System, Prompt, Answer, Error string }
	s.Get("mind/prompts?decision="+url.QueryEscape(decision.Key), &prompts)
	if len(prompts) != 2 || prompts[0].Purpose != "judgment" || prompts[1].Purpose != "response" ||
		!strings.Contains(prompts[0].System, "who knows the way?") || prompts[1].Answer != s.answers(random)[0] {
		t.Errorf("prompts: %+v", prompts)
	}

	// The memory workflow runs on request. It also runs each minute and may have been first; an
	// open stream would then get no new event, so open another one.
	s.Post("mind/remember", map[string]any{})
	s.watch("?channel="+random).await("a memory", func(m mindEvent) bool {
		return slices.ContainsFunc(m.Memories, func(r remembered) bool { return r.Scope == "channel" && r.Channel == random && r.Text != "" })
	})

	// Slack fails while the fault is on; then the reply is posted.
	s.Post("misbehave", map[string]any{"name": "down", "on": true})
	mind.await("the fault", func(m mindEvent) bool { return slices.Equal(m.Faults, []string{"down"}) })
	say(general, "@myao and now?")
	thread := s.watch("?channel=" + general + "&thread=" + s.last(general))
	thread.await("tries in vain", func(m mindEvent) bool {
		d := m.decision("pending")
		return d != nil && len(d.Parts) == 1 && d.Parts[0].Attempts > 1
	})
	s.Post("misbehave", map[string]any{"name": "down", "on": false})
	s.await("the answer after all", func() bool { return len(s.answers(general)) == 2 })

	// The bot answers once the model is up again.
	s.Post("mind/model", map[string]any{"down": true})
	mind.await("the model's end", func(m mindEvent) bool { return m.Model == "down" })
	say(general, "@myao still there?")
	thread = s.watch("?channel=" + general + "&thread=" + s.last(general))
	replying := thread.await("the reply", func(m mindEvent) bool { return m.phase() == conversation.Replying })
	// A decision's key is run, epoch and trigger. This decision is stored only with its answer.
	key := path.Base(replying.URL) + "/1/" + replying.Conversation.Thread
	s.await("a call in vain", func() bool {
		s.Get("mind/prompts?decision="+url.QueryEscape(key), &prompts)
		return len(prompts) > 0 && prompts[0].Error != "" && prompts[0].Answer == ""
	})
	s.Post("mind/model", map[string]any{"down": false})
	s.await("the last answer", func() bool { return len(s.answers(general)) >= 3 })
	if general, random := s.answers(general), s.answers(random); len(general) != 3 || len(random) != 1 {
		t.Errorf("posted other than once each: %q, %q", general, random)
	}
}

// sandboxProgram is a running sandbox.
type sandboxProgram struct {
	*world.Sandbox
	t *testing.T
}

func (s *sandboxProgram) await(what string, done func() bool) {
	s.t.Helper()
	world.Await(s.t, what, done)
}

// answers returns the texts of the bot's messages in a channel.
func (s *sandboxProgram) answers(channel string) (texts []string) {
	s.t.Helper()
	for _, c := range s.State().Channels {
		for _, m := range c.Messages {
			if c.ID == channel && m.BotID != "" {
				texts = append(texts, m.Text)
			}
		}
	}
	return texts
}

// last returns the ts of the newest message in a channel.
func (s *sandboxProgram) last(channel string) (ts string) {
	s.t.Helper()
	for _, c := range s.State().Channels {
		for _, m := range c.Messages {
			if c.ID == channel {
				ts = max(ts, m.TS)
			}
		}
	}
	return ts
}

// mindEvent is an event of the stream about a conversation.
type mindEvent struct {
	Worker, Model string
	Faults        []string
	Conversation  chat.Conversation
	URL           string
	Open          bool
	State         *conversation.State
	Asked         time.Time
	Phase         conversation.Phase
	Problem       string
	Story         timeline.Timeline
	Memories      []remembered
}

type remembered struct{ Scope, Channel, Term, Text string }

func (m mindEvent) phase() conversation.Phase {
	if m.State == nil {
		return ""
	}
	return m.State.Phase
}

// decision returns the newest decision with an outcome, or nil.
func (m mindEvent) decision(outcome conversation.Outcome) *timeline.Decision {
	for _, e := range slices.Backward(m.Story.Entries) {
		if e.Decision != nil && e.Decision.Outcome == outcome {
			return e.Decision
		}
	}
	return nil
}

// mindStream is the stream of events about a conversation.
type mindStream struct {
	s      *sandboxProgram
	events chan mindEvent
}

func (s *sandboxProgram) watch(query string) mindStream {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+"/sandbox/mind"+query, nil)
	testserver.Must(s.t, err)
	resp, err := http.DefaultClient.Do(req)
	testserver.Must(s.t, err)
	m := mindStream{s, make(chan mindEvent, 10_000)}
	go func() {
		defer func() { _ = resp.Body.Close() }()
		defer close(m.events)
		// The last line may be incomplete, if the sandbox stopped while writing it.
		for lines := bufio.NewReader(resp.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var e mindEvent
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					s.t.Errorf("%v: %s", err, data)
					return
				}
				m.events <- e
			}
		}
	}()
	return m
}

// await returns the next event for which holds returns true.
func (m mindStream) await(what string, holds func(mindEvent) bool) mindEvent {
	m.s.t.Helper()
	last := "none"
	for timeout := time.After(world.Patience); ; {
		select {
		case e, open := <-m.events:
			if !open {
				m.s.t.Fatalf("the stream ended before %s", what)
			}
			if holds(e) {
				return e
			}
			raw, _ := json.Marshal(e)
			last = string(raw)
		case <-timeout:
			m.s.t.Fatalf("waited in vain for %s; the last event was %s", what, last)
		}
	}
}
