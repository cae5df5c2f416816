package bench

import (
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// measurePromises has a thousand reminders become due within one minute, each in a thread of its own, while people
// mention the bot as often as before that: they go first. Each reminder must be kept once.
func measurePromises(b *bench) []row {
	n, minute := b.scaled(1000, 20), b.scaledTime(time.Minute, 2*time.Second)
	w := build(b, settings{name: "promises", channels: 60, events: true, response: "min_wait_seconds: 3600\nmax_wait_seconds: 7200"})
	defer w.close()
	const rate = 2
	mentions := int(minute.Seconds()) * rate
	w.mentions(rate, mentions/2) // warm
	alone := w.mentions(rate, mentions)
	before := len(w.Workspace.Posts())

	begins := time.Now().Add(b.scaledTime(2*time.Minute, 5*time.Second))
	due := map[string]time.Time{} // by thread
	var mu sync.Mutex
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < n; i += 8 {
				at := begins.Add(minute * time.Duration(i) / time.Duration(n))
				thread := w.promise(i, at)
				mu.Lock()
				due[thread] = at
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if time.Now().After(begins) {
		b.Fatalf("making %d promises took longer than two minutes", n)
	}
	time.Sleep(time.Until(begins))
	meanwhile := w.mentions(rate, mentions)
	b.await("the promises to be kept", 10*time.Minute, func() bool { return w.count("SELECT COUNT(*) FROM promises WHERE state = 'kept'") == n })

	var late []float64
	kept := map[string]int{}
	for _, p := range w.Workspace.Posts()[before:] {
		if at, promised := due[p.ThreadTS]; promised {
			kept[p.ThreadTS]++
			late = append(late, p.At.Sub(at).Seconds())
		}
	}
	if len(kept) != n || len(late) != n {
		b.Errorf("%d promises were kept by %d posts, want %d", len(kept), len(late), n)
	}
	b.logf("promises: kept %.1f s after their time, in the median; mentions took %.1f ms meanwhile, %.1f ms alone", median(late),
		milliseconds(quantile(meanwhile, 0.5)), milliseconds(quantile(alone, 0.5)))
	return []row{
		newRatioRow(fmt.Sprintf("mention while %d promises are due in a minute, median", n), "ms", atMost(3, "×"), []float64{milliseconds(quantile(meanwhile, 0.5))},
			[]float64{milliseconds(quantile(alone, 0.5))}).withNote("promises kept %.1f s late in the median", median(late)),
	}
}

// promise makes the i-th promise, as if a reply had confirmed it, and returns the thread in which it is due.
func (w *system) promise(i int, at time.Time) (thread string) {
	w.b.Helper()
	channel := w.channels[i%len(w.channels)]
	ts := w.Workspace.Say(channel, w.person, fmt.Sprintf("Remind me of %d.", i))
	id := fmt.Sprintf("promise%d", i)
	_, err := w.db.ExecContext(w.b.Context(), `INSERT INTO promises (id, team_id, channel_id, thread_ts, trigger_ts, decision, asker, what, unless, every, zone, first_us, due_us, held_us, number, state, shown_ts, ended_by, stored_us, ended_us)
		VALUES ($1, $2, $3, $4, $4, '', $5, 'water the plants', '', '', 'UTC', $6, $6, 0, 1, 'open', '', '', $7, 0)`, id, team, channel, ts, w.person, at.UnixMicro(), time.Now().UnixMicro())
	w.check(err)
	c := chat.Conversation{Team: team, Channel: channel, Thread: ts}
	signal := conversation.Signal{
		Policy: conversation.Policy{MinWait: 3600, MaxWait: 7200, IdleClose: 3600},
		Changes: []conversation.Change{{
			TS: ts, Kind: conversation.Moved, Revision: conversation.PromiseRef{ID: id, Number: 1, Due: at}.String(), Author: w.person,
		}},
	}
	_, err = w.Client.SignalWithStartWorkflow(w.b.Context(), c.ID(), conversation.SignalName, signal, client.StartWorkflowOptions{TaskQueue: conversation.TaskQueue},
		conversation.WorkflowType, conversation.Input{Conversation: c, Phase: conversation.Idle})
	w.check(err)
	return ts
}
