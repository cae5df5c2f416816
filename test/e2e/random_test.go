package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
)

// TestKilledAtRandom kills both programs at random moments while people write and Slack and the
// model fail at random. Every mention is answered exactly once. It uses SQLite, which both
// programs share; package chaos does more, on Postgres. SEED replays a run.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	chance := func(percent int) bool { return random.IntN(100) < percent }
	// The model is called concurrently, so it must not use random.
	s := start(t, sqlite(t), quiet(1), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.N%7 == 3:
			return llmtest.Fail(503)
		case c.N%11 == 5:
			return llmtest.Reply{Drop: true}
		case c.Judgment():
			return llmtest.No("not now")
		}
		return llmtest.Reply{Text: "answer", Delay: time.Duration(c.N%5) * 200 * time.Millisecond}
	}))
	channels := []string{s.general}
	for i := range 5 {
		channels = append(channels, s.workspace.AddChannel(sandbox.Public, fmt.Sprintf("room-%d", i), s.workspace.Bot().UserID, s.alice.ID))
	}
	faults := []sandbox.Fault{
		{AfterEffect: true, Status: 503}, {AfterEffect: true, LoseAnswer: true}, {AfterEffect: true, Error: "internal_error"}, {AfterEffect: true, Garble: true},
		{Status: 429, RetryAfter: "1"}, {Status: 500}, {LoseAnswer: true}, {Error: "fatal_error"}, {AfterEffect: true, Status: 500, Hide: time.Second},
	}
	open := map[string]bool{}
	for i := range 36 {
		channel := channels[random.IntN(len(channels))]
		if chance(70) {
			ts := s.workspace.Say(channel, s.alice.ID, s.mention(fmt.Sprintf("question %d?", i)))
			open[channel+"/"+ts] = true
		} else {
			s.workspace.Say(channel, s.alice.ID, "just talking")
		}
		if chance(40) {
			fault := faults[random.IntN(len(faults))]
			fault.Method, fault.Times = "chat.postMessage", 1
			s.workspace.Faults().Add(fault)
		}
		if chance(15) {
			s.workspace.Faults().AddEvent(sandbox.EventFault{Times: 1, RedeliverAfter: []time.Duration{0, time.Second}})
		}
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		if chance(12) {
			s.worker.kill()
			s.worker.start()
		}
		if chance(12) {
			s.starter.kill()
			s.starter.start()
		}
	}
	mentions := len(open)
	s.await("all answers", 150*time.Second, func() bool {
		answered := map[string]bool{}
		for _, p := range s.posts() {
			if key := p.Channel + "/" + p.ThreadTS; open[key] {
				answered[key] = true
			}
		}
		return len(answered) == mentions
	})
	s.never("a doubled answer", 8*time.Second, func() bool { return len(s.posts()) != mentions })
}
