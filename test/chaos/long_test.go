package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/test/testserver"
)

// TestLongConversation writes ten thousand messages in one thread without a pause. The workflow
// repeatedly continues as new, its state stays small, and nothing is lost.
func TestLongConversation(t *testing.T) {
	needLong(t)
	const rate = 25
	w := build(t, settings{
		starters: 2, workers: 3, channels: 1, people: 8, minWait: 1, maxWait: 10, temporal: *flagTemporal,
		retryAfter: []time.Duration{0, time.Second, 2 * time.Second},
	})
	random := rand.New(rand.NewPCG(max(*flagSeed, 1), 1))
	p := plan{scale: scale{seed: max(*flagSeed, 1), messages: *flagMessages, rate: rate}}
	for n := 1; n <= *flagMessages; n++ {
		a := act{at: time.Duration(n) * time.Second / rate, verb: say, n: n, kind: chatter, user: random.IntN(8), thread: min(n-1, 1)}
		switch draw := random.IntN(200); {
		case n == 1:
		case draw < 2:
			a.kind = mention
		case draw < 10:
			a.kind = question
		}
		p.acts = append(p.acts, a)
	}
	f := w.figures(p)
	f.runPlan()
	root := f.people.said[1]
	id := fmt.Sprintf("thread/%s/%s/%s", team, root.channel, root.ts)
	runs, err := w.list(t.Context(), fmt.Sprintf("WorkflowId = %q", id))
	testserver.Must(t, err)
	f.notes["runs of the conversation"] = len(runs)
	if want := 1 + *flagMessages/5000; len(runs) < want {
		t.Errorf("%d runs of the conversation, want %d at least", len(runs), want)
	}
	f.finish()

	value, err := w.Client.QueryWorkflow(t.Context(), id, "", conversation.QueryName)
	testserver.Must(t, err)
	var state json.RawMessage
	testserver.Must(t, value.Get(&state))
	t.Logf("%d runs; the state at the end is %d bytes", len(runs), len(state))
	if len(state) > 32<<10 {
		t.Errorf("the state is %d bytes", len(state))
	}
}

// TestThousandIdleConversations opens a thousand conversations, waits until all are idle, and then
// mentions the bot in each.
func TestThousandIdleConversations(t *testing.T) {
	needLong(t)
	const threads, rate, channels = 1000, 20, 40
	w := build(t, settings{
		starters: 2, workers: 3, channels: channels, people: 8, minWait: 2, maxWait: 10, temporal: *flagTemporal,
		retryAfter: []time.Duration{0, time.Second, 2 * time.Second},
	})
	opening, asking := plan{}, plan{scale: scale{messages: 3 * threads, rate: rate}}
	for n := 1; n <= threads; n++ {
		at := time.Duration(n) * 2 * time.Second / rate
		opening.acts = append(opening.acts,
			act{at: at, verb: say, n: n, kind: chatter, channel: n % channels},
			act{at: at, verb: say, n: threads + n, kind: chatter, channel: n % channels, thread: n})
		asking.acts = append(asking.acts,
			act{at: time.Duration(n) * time.Second / rate, verb: say, n: 2*threads + n, kind: mention, channel: n % channels, thread: n})
	}
	f := w.figures(opening)
	f.runPlan()
	f.await("a thousand conversations were opened", func() error { return w.awaitIdle(settleTimeout) })
	idle, err := w.list(t.Context(), fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", conversation.WorkflowType))
	testserver.Must(t, err)
	f.notes["conversations idle at once"] = len(idle)
	if len(idle) < threads {
		t.Errorf("%d conversations are open, want %d at least", len(idle), threads)
	}
	f.memory("idle")
	f.plan = asking
	f.runPlan()
	f.memory("asked")
	f.finish()
}

// memory adds the programs' resident memory to the notes.
func (f *figures) memory(when string) {
	for _, p := range f.world.processes() {
		said, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(p.PID())).Output()
		if err != nil {
			f.world.t.Errorf("memory of %s: %v", p.name, err)
			continue
		}
		kib, err := strconv.Atoi(strings.TrimSpace(string(said)))
		if err != nil {
			f.world.t.Errorf("memory of %s: %v", p.name, err)
		}
		f.notes["memory of "+p.name+", "+when] = fmt.Sprintf("%d MiB", kib>>10)
	}
}
