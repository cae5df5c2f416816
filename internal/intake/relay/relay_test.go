package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
	"myao/test/storetest"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// sent is one signal to the server.
type sent struct {
	id      string
	request string
	changes []conversation.Change
	policy  conversation.Policy
}

// server is a Temporal that keeps its signals. Like the real one it detects a repetition by
// the request id.
type server struct {
	t *testing.T
	// refuse, if set, is called before a signal is accepted, and lose after it.
	refuse func(c chat.Conversation) error
	lose   func(ctx context.Context, c chat.Conversation) error

	mu      sync.Mutex
	busy    map[string]bool
	calls   []sent // every call, in the order in which they began
	signals []sent // accepted signals without repetitions
}

func (s *server) Send(ctx context.Context, c chat.Conversation, signal conversation.Signal, requestID string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		s.t.Error("a signal has no deadline")
	}
	call := sent{c.ID(), requestID, slices.Clone(signal.Changes), signal.Policy}
	s.mu.Lock()
	if s.busy == nil {
		s.busy = map[string]bool{}
	}
	if s.busy[call.id] {
		s.t.Errorf("two concurrent signals to %s", call.id)
	}
	s.busy[call.id] = true
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy[call.id] = false
	}()
	if s.refuse != nil {
		if err := s.refuse(c); err != nil {
			return err
		}
	}
	s.mu.Lock()
	if !slices.ContainsFunc(s.signals, func(before sent) bool { return before.request == requestID }) {
		s.signals = append(s.signals, call)
	}
	s.mu.Unlock()
	if s.lose != nil {
		return s.lose(ctx, c)
	}
	return nil
}

// taken returns the ts that a conversation was sent, in order.
func (s *server) taken(c chat.Conversation) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ts []string
	for _, signal := range s.signals {
		if signal.id == c.ID() {
			for _, change := range signal.changes {
				ts = append(ts, change.TS)
			}
		}
	}
	return ts
}

func (s *server) called() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

type bundle struct {
	*testing.T
	*server
	store    *store.Store
	url      string
	counters *prometheus.Registry
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupOn(t, storetest.SQLite(t))
}

func setupOn(t *testing.T, url string) *bundle {
	t.Helper()
	b := &bundle{T: t, server: &server{t: t}, url: url}
	b.store = b.open()
	return b
}

// Context has limits of hours: the machine may stop at any moment, and no step is to fail for that.
func (b *bundle) Context() context.Context { return timeout.Extend(b.T.Context()) }

// testWithFakeClock runs a test on SQLite whose clock stands still while anything works: only when all wait
// does time pass. So no wait for a lock or the end of a lease depends on the machine.
func testWithFakeClock(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) { test(t, setupOn(t, url)) })
}

// open opens the database as one more process would.
func (b *bundle) open() *store.Store {
	b.Helper()
	s, err := store.Open(b.Context(), b.url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) relay(s *store.Store) *Relay {
	b.counters = prometheus.NewRegistry()
	policy := func(_ context.Context, c chat.Conversation) conversation.Policy {
		return conversation.Policy{MinWait: len(c.Channel)}
	}
	return New(s, b.server, policy, time.Now, slog.New(slog.DiscardHandler), NewMetrics(b.counters, s, time.Now, map[string]time.Duration{"memory": time.Hour}))
}

// run runs a relay until stop is called. stop returns when the relay has ended.
func (b *bundle) run(r *Relay) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	stop = func() {
		b.Helper()
		cancel()
		<-done
	}
	b.Cleanup(stop)
	return stop
}

func in(n int) chat.Conversation {
	return chat.Conversation{Team: "T1", Channel: fmt.Sprintf("C%d", n)}
}

func at(n int) string { return fmt.Sprintf("%d.000001", 1000+n) }

// say stores messages with their changes, in the given order.
func (b *bundle) say(c chat.Conversation, ns ...int) {
	b.Helper()
	if err := say(b.Context(), b.store, c, ns...); err != nil {
		b.Fatal(err)
	}
}

func say(ctx context.Context, s *store.Store, c chat.Conversation, ns ...int) error {
	return sayAs(ctx, s, conversation.Said, c, ns...)
}

func sayAs(ctx context.Context, s *store.Store, kind conversation.Kind, c chat.Conversation, ns ...int) error {
	for _, n := range ns {
		m := chat.Message{Team: c.Team, Channel: c.Channel, ThreadTS: c.Thread, TS: at(n), UserID: "U1"}
		if _, err := s.Record(ctx, m, func(store.Known) store.Entry {
			return store.Entry{Message: &m, Handled: true, Changes: []store.Change{
				{Conversation: c, Change: conversation.Change{TS: m.TS, Kind: kind}},
			}}
		}); err != nil {
			return err
		}
	}
	return nil
}

// saidIn stores a message in each of n conversations, concurrently: the commits take most of
// the time.
func (b *bundle) saidIn(n int, conversation func(int) chat.Conversation) {
	b.Helper()
	const writers = 32
	var group sync.WaitGroup
	for first := range writers {
		group.Go(func() {
			for i := first; i < n; i += writers {
				if err := say(b.Context(), b.store, conversation(i), 10_000+i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func (b *bundle) await(what string, done func() bool) {
	b.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			b.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (b *bundle) backlog() int {
	b.Helper()
	n, _, err := b.store.BacklogSize(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func (b *bundle) counted(name string) float64 {
	b.Helper()
	families, err := b.counters.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			sum := f.GetMetric()[0].GetGauge().GetValue()
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
			return sum
		}
	}
	b.Fatalf("no metric %s", name)
	return 0
}

// known returns a gauge whose value is known. Reading one ends after two seconds, which a busy machine may take.
func (b *bundle) known(name string) (value float64) {
	b.Helper()
	b.await(name, func() bool {
		value = b.counted(name)
		return value != -1
	})
	return value
}

func names(from, to int) []string {
	var ts []string
	for n := from; n < to; n++ {
		ts = append(ts, at(n))
	}
	return ts
}

// What a conversation was told and does not answer is seen from outside, and so are runs that do not come.
func TestMetricsOfWhatDoesNotGetOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.relay(b.store)
	now := time.Now().Add(time.Hour)
	b.counters = prometheus.NewRegistry()
	NewMetrics(b.counters, b.store, func() time.Time { return now }, map[string]time.Duration{"memory": time.Hour})
	if age := b.known("myao_unfinished_age_seconds"); age != 0 {
		t.Errorf("nothing was said, and something is unfinished for %v s", age)
	}
	thread := chat.Conversation{Team: "T1", Channel: "C1", Thread: at(1)}
	before := time.Now().Truncate(time.Microsecond)
	if err := sayAs(t.Context(), b.store, conversation.Addressed, thread, 2); err != nil {
		t.Fatal(err)
	}
	r.Notify(store.Target{Conversation: thread})
	b.run(r)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	oldest, youngest := now.Sub(before).Seconds(), time.Until(now).Seconds()
	if age := b.known("myao_unfinished_age_seconds"); age < youngest || age > oldest {
		// of the decision, the first by name
		t.Errorf("what was not answered is %v s old, want between %v and %v", age, youngest, oldest)
	}
	if age, every := b.known("myao_schedule_run_age_seconds"), b.known("myao_schedule_interval_seconds"); age < oldest || every != 3600 {
		t.Errorf("memory ran %v s ago and should every %v s; want since the database was made, and an hour", age, every)
	}
	if n := b.known("myao_channels"); n != 0 {
		t.Errorf("in %v channels, want none", n)
	}
}

func TestOneSignalTakesAllPendingChanges(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, oneSignalTakesAllPendingChanges)
}

func oneSignalTakesAllPendingChanges(t *testing.T, b *bundle) {
	b.say(in(1), 3, 1, 2)
	b.say(in(22), 1)
	time.Sleep(3 * time.Second) // of the fake clock
	r := b.relay(b.store)
	if got, age := b.counted("myao_backlog_changes"), b.counted("myao_backlog_age_seconds"); got != 4 || age < 3 || age > 4 {
		t.Errorf("a backlog of %v, %v s old; want 4, three seconds old", got, age)
	}
	r.Notify(store.Target{Conversation: in(1)})
	r.Notify(store.Target{Conversation: in(22)})
	b.run(r)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	if got := b.taken(in(1)); !slices.Equal(got, names(1, 4)) {
		t.Errorf("sent %v, want %v", got, names(1, 4))
	}
	calls := b.called()
	if len(calls) != 2 || calls[0].request == calls[1].request || calls[0].request == "" {
		t.Errorf("signals %+v, want one for each conversation", calls)
	}
	for _, call := range calls {
		if want := len(strings.Split(call.id, "/")[2]); call.policy.MinWait != want {
			t.Errorf("%s has the policy of another conversation: %+v", call.id, call.policy)
		}
	}
	b.await("the count", func() bool { return b.counted("myao_changes_relayed_total") == 4 })
	if age := b.counted("myao_backlog_age_seconds"); age != 0 {
		t.Errorf("an empty backlog is %v s old", age)
	}
}

// More than a batch goes in several signals, in order and without a pause. What comes
// meanwhile waits for the next turn.
func TestBatchesAreInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ns []int
	for n := range 2*batchSize + 7 {
		ns = append(ns, n)
	}
	b.say(in(1), ns...)
	b.refuse = func(c chat.Conversation) error {
		if len(b.called()) < 3 {
			return nil
		}
		return say(t.Context(), b.store, c, len(ns))
	}
	if more, err := b.relay(b.store).drain(b.Context(), in(1)); !more || err != nil {
		t.Errorf("more %v, %v", more, err)
	}
	if got := b.taken(in(1)); !slices.Equal(got, names(0, len(ns))) {
		t.Errorf("sent %v", got)
	}
	calls := b.called()
	if len(calls) != 3 || len(calls[0].changes) != batchSize || len(calls[2].changes) != 7 {
		t.Errorf("%d signals", len(calls))
	}
}

// drained drains a conversation until nothing more is pending.
func (b *bundle) drained(r *Relay, c chat.Conversation) {
	for more := true; more; {
		var err error
		if more, err = r.drain(b.Context(), c); err != nil {
			b.Error(err)
		}
	}
}

// Changes that come while the conversation is being relayed go next: their notification found
// it in flight, and the sweep is two seconds away.
func TestChangesDuringARelayDoNotWaitForTheSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	next := 1
	r := b.relay(b.store)
	b.refuse = func(c chat.Conversation) error {
		if n := next; n < 6 {
			next++
			// Stored after the batch was read, by a process whose notification is lost.
			return say(t.Context(), b.store, c, n)
		}
		return nil
	}
	b.say(in(1), 0)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	r.Notify(store.Target{Conversation: in(1)})
	go r.work(ctx) // no sweep runs here
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	if got := b.taken(in(1)); !slices.Equal(got, names(0, 6)) {
		t.Errorf("sent %v, want %v", got, names(0, 6))
	}
}

// Changes may come between the last read and the release of the lease.
func TestNothingIsLostBetweenTheLastReadAndTheRelease(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, nothingIsLostBetweenTheLastReadAndTheRelease)
}

func nothingIsLostBetweenTheLastReadAndTheRelease(t *testing.T, b *bundle) {
	relays := []*Relay{b.relay(b.store), b.relay(b.open())}
	const n = 60
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			for k := range n {
				if err := say(t.Context(), b.store, in(1), 2*k+i); err != nil {
					t.Error(err)
				}
				b.drained(relays[i], in(1)) // as Notify makes a worker do; no sweep runs
			}
		})
	}
	group.Wait()
	if left := b.backlog(); left != 0 {
		t.Errorf("%d changes are pending, though all were notified", left)
	}
	got := b.taken(in(1))
	slices.Sort(got)
	if want := names(0, 2*n); !slices.Equal(got, want) {
		t.Errorf("sent %d changes, want %d", len(got), len(want))
	}
}

func TestRefusedChangesWaitForTheSweep(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, refusedChangesWaitForTheSweep)
}

func refusedChangesWaitForTheSweep(t *testing.T, b *bundle) {
	var away atomic.Bool
	away.Store(true)
	b.refuse = func(chat.Conversation) error {
		if away.Load() {
			return errors.New("Temporal is away")
		}
		return nil
	}
	r := b.relay(b.store)
	b.run(r)
	for n := range 20 {
		b.say(in(n%4), 20-n) // the newest first
		r.Notify(store.Target{Conversation: in(n % 4)})
	}
	b.await("refusals", func() bool { return b.counted("myao_relay_failures_total") >= 8 })
	if got := b.backlog(); got != 20 {
		t.Errorf("%d changes are pending, want all 20", got)
	}
	away.Store(false)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	for c := range 4 {
		got := b.taken(in(c))
		if len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("%s was sent %v, want five in order", in(c).ID(), got)
		}
	}
}

// While the server is away, the workers back off after each failure, until one succeeds.
func TestWorkersBackOffWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var away atomic.Bool
	away.Store(true)
	b.refuse = func(chat.Conversation) error {
		if away.Load() {
			return errors.New("away")
		}
		return nil
	}
	for n := range 60 {
		b.say(in(n), 0)
	}
	r := b.relay(b.store)
	var backoffs atomic.Int32
	resume := make(chan struct{})
	r.backoff = func(ctx context.Context) {
		backoffs.Add(1)
		select {
		case <-resume:
		case <-ctx.Done():
		}
	}
	b.run(r)
	b.await("every worker to back off", func() bool { return backoffs.Load() == workers })
	// A database that is late counts as a failure, too; then fewer are tried.
	if got := len(b.called()); got > 2*workers-1 {
		t.Errorf("%d signals were tried, want at most %d: the failures that show it, and one for each further worker", got, 2*workers-1)
	}
	away.Store(false)
	close(resume)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
}

// Failures among successes do not mean that the server is away.
func TestNoBackoffAmongSuccesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuse = func(c chat.Conversation) error {
		if c.Thread != "" {
			return errors.New("never")
		}
		return nil
	}
	r := b.relay(b.store)
	r.backoff = func(context.Context) { t.Error("a worker backs off") }
	for n := range 2 * workers {
		c := in(n)
		if n%2 == 0 {
			c.Thread = at(0)
		}
		b.say(c, n)
		r.queue.push(c, awaited)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.work(ctx) }()
	b.await("all except the refused to be relayed", func() bool { return b.backlog() == workers })
	cancel()
	<-done
}

// After an outage the sweeps follow each other faster while there is more.
func TestSweepGoesOnWhileThereIsMore(t *testing.T) {
	t.Parallel()
	b := setupOn(t, storetest.Postgres(t)) // which does not sync to disk
	b.saidIn(sweepLimit+5, in)
	r := b.relay(b.store)
	if queued, more := r.sweepOnce(b.Context()); len(queued) != sweepLimit || !more {
		t.Errorf("%d are queued, more: %v", len(queued), more)
	}
	if queued, more := r.sweepOnce(b.Context()); len(queued) != 0 || more {
		t.Errorf("%d are queued again, though no worker took any; more: %v", len(queued), more)
	}
	b.run(r)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
}

// A sweep puts conversations in which somebody waits for an answer first.
func TestSweepPutsAwaitedConversationsFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := chat.Conversation{Team: "T1", Channel: "C5", Thread: at(5)}
	for _, c := range []chat.Conversation{thread.Top(), thread} {
		if err := sayAs(t.Context(), b.store, conversation.Addressed, c, 5); err != nil {
			t.Fatal(err)
		}
	}
	said := chat.Conversation{Team: "T1", Channel: "C1", Thread: at(1)}
	b.say(in(2), 1)
	b.say(said, 2)
	r := b.relay(b.store)
	r.queue.push(in(2), overdue) // before the sweep
	if queued, _ := r.sweepOnce(b.Context()); len(queued) != 3 {
		t.Fatalf("queued %v", queued)
	}
	for _, want := range []chat.Conversation{thread, in(2), said, thread.Top()} {
		if got, ok := r.queue.take(b.Context()); !ok || got != want {
			t.Errorf("taken %v, want %v", got, want)
		}
	}
}

// A storm in one channel, whose signals hang, holds up no other channel: neither by Notify
// nor by the sweep.
func TestStormInOneChannelHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for notified, storm := range map[bool]int{true: 3 * workers, false: sweepLimit + 5} {
		t.Run(fmt.Sprintf("notified %v", notified), func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, storetest.Postgres(t)) // which does not sync to disk
			held, storms := make(chan struct{}), atomic.Int32{}
			b.refuse = func(c chat.Conversation) error {
				if c.Channel == "C0" {
					storms.Add(1)
					<-held
				}
				return nil
			}
			r := b.relay(b.store)
			in0 := func(n int) chat.Conversation { return chat.Conversation{Team: "T1", Channel: "C0", Thread: at(n)} }
			b.saidIn(storm, in0)
			for n := range storm {
				if notified {
					r.Notify(store.Target{Conversation: in0(n)})
				}
			}
			b.say(in(1), 1)
			if notified {
				r.Notify(store.Target{Conversation: in(1)})
			}
			b.run(r)
			b.await("the other channel's message", func() bool { return len(b.taken(in(1))) == 1 })
			b.await("the storm's relays", func() bool { return storms.Load() == channelConcurrency })
			close(held)
		})
	}
}

// A batch takes the same number of statements whatever its size, and an empty one a single
// statement.
func TestStatementsOfABatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bundle *bundle
		want   int
	}{
		"sqlite": {setup(t), 4}, "postgres": {setupOn(t, storetest.Postgres(t)), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := test.bundle
			s, registry := b.open(), prometheus.NewRegistry()
			if err := s.Measure(store.NewMetrics(registry)); err != nil {
				t.Fatal(err)
			}
			r := b.relay(s)
			for _, batch := range []struct{ changes, want int }{{1, test.want}, {batchSize, test.want}, {0, 1}} {
				for n := range batch.changes {
					b.say(in(1), 1000*batch.changes+n)
				}
				before := statements(t, registry)
				if more, err := r.drain(b.Context(), in(1)); more || err != nil || b.backlog() > 0 {
					t.Fatalf("more %v, %v; %d left", more, err, b.backlog())
				}
				if got := statements(t, registry) - before; got != batch.want {
					t.Errorf("%d statements for %d changes, want %d", got, batch.changes, batch.want)
				}
			}
		})
	}
}

// statements counts the statements of a measured store.
func statements(t *testing.T, measured *prometheus.Registry) (n int) {
	t.Helper()
	families, err := measured.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "myao_database_statement_duration_seconds" {
			for _, m := range f.GetMetric() {
				n += int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}

func TestTwoRelaysShareADatabase(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); testWithFakeClock(t, twoRelaysShareADatabase) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); twoRelaysShareADatabase(t, setupOn(t, storetest.Postgres(t))) })
}

func twoRelaysShareADatabase(t *testing.T, b *bundle) {
	var calls atomic.Int32
	b.refuse = func(chat.Conversation) error {
		if calls.Add(1)%7 == 0 {
			return errors.New("now and then")
		}
		return nil
	}
	other := b.open()
	relays := []*Relay{b.relay(b.store), b.relay(other)}
	for _, r := range relays {
		b.run(r)
	}
	const each = 40
	var group sync.WaitGroup
	for c := range 4 {
		group.Go(func() {
			s := []*store.Store{b.store, other}[c%2]
			for n := range each {
				if err := say(t.Context(), s, in(c), n); err != nil {
					t.Error(err)
				}
				relays[n%2].Notify(store.Target{Conversation: in(c)})
			}
		})
	}
	group.Wait()
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	for c := range 4 {
		// The messages are stored in order here, so they are sent in order.
		if got := b.taken(in(c)); !slices.Equal(got, names(0, each)) {
			t.Errorf("%s was sent %v", in(c).ID(), got)
		}
	}
}

// When a relay ends between a signal and the marking of its changes, the next one resends them
// under the same request id.
func TestEndBetweenSignalAndMarkResendsTheSameBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(in(1), 1, 2)
	ctx, crash := context.WithCancel(b.Context())
	b.lose = func(ctx context.Context, _ chat.Conversation) error {
		crash()
		<-ctx.Done()
		return nil // accepted, but the relay has ended
	}
	if more, err := b.relay(b.store).drain(ctx, in(1)); err == nil || more {
		t.Errorf("err %v, more %v; want an error, and to wait for the sweep", err, more)
	}
	if got := b.backlog(); got != 2 {
		t.Fatalf("%d changes are pending, want 2", got)
	}
	b.lose = nil
	b.run(b.relay(b.open())) // the next process; the lease was released
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	calls := b.called()
	if len(calls) != 2 || calls[0].request != calls[1].request || !slices.Equal(calls[0].changes, calls[1].changes) {
		t.Errorf("sent %+v, want the same batch twice", calls)
	}
	if got := b.taken(in(1)); !slices.Equal(got, names(1, 3)) {
		t.Errorf("the server accepted %v", got)
	}
}

func TestAnotherBatchHasAnotherRequestID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.relay(b.store)
	seen := map[string]string{}
	for i, say := range []func(){
		func() { b.say(in(1), 1) }, func() { b.say(in(2), 1) }, func() { b.say(in(1), 2) }, func() { b.say(in(1), 3, 4) },
	} {
		say()
		for c := range 3 {
			b.drained(r, in(c))
		}
		calls := b.called()
		last := calls[len(calls)-1]
		if before, ok := seen[last.request]; ok || len(calls) != i+1 {
			t.Errorf("%v has the request id of %s", last.changes, before)
		}
		seen[last.request] = fmt.Sprint(last.changes)
	}
}

func TestLeaseOfADeadRelayEnds(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, leaseOfADeadRelayEnds)
}

func leaseOfADeadRelayEnds(t *testing.T, b *bundle) {
	b.say(in(1), 1)
	ends := time.Now().Add(700 * time.Millisecond)
	if taken, err := b.store.Claim(t.Context(), in(1).ID(), "dead", ends, batchSize); len(taken) != 1 || err != nil {
		t.Fatal(taken, err)
	}
	var early atomic.Bool
	b.refuse = func(chat.Conversation) error {
		early.Store(time.Now().Before(ends))
		return nil
	}
	r := b.relay(b.store)
	r.Notify(store.Target{Conversation: in(1)}) // finds it leased
	b.run(r)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	if early.Load() {
		t.Error("it was sent while another relay held the conversation")
	}
}

// A relay that stops while it asks for a lease takes the lease and releases it: the next one need not
// wait until the lease ends.
func TestAStopDuringAClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(in(1), 1)
	r := b.relay(b.store)
	ctx, cancel := context.WithCancel(b.Context())
	r.clock = func() time.Time { // claim asks for the time
		cancel()
		return time.Now()
	}
	if _, err := r.drain(ctx, in(1)); err == nil || !strings.HasPrefix(err.Error(), "signal ") {
		t.Errorf("it ends with %v, want the signal to be cancelled instead of the claim", err)
	}
	if taken, err := b.store.Claim(t.Context(), in(1).ID(), "next", time.Now().Add(time.Minute), batchSize); err != nil || len(taken) != 1 {
		t.Errorf("the next relay claims %d changes, %v; the lease is still held", len(taken), err)
	}
	if got := b.taken(in(1)); len(got) > 0 {
		t.Errorf("%q was sent after the stop", got)
	}
}

func TestDatabaseThatGoesAwayIsNotTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.open()
	r := b.relay(s)
	b.run(r)
	b.say(in(1), 1)
	b.await("an empty backlog", func() bool { return b.backlog() == 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.say(in(1), 2)
	r.Notify(store.Target{Conversation: in(1)})
	if _, err := r.drain(b.Context(), in(1)); err == nil {
		t.Error("drain succeeds without a database")
	}
	if _, more := r.sweepOnce(b.Context()); more {
		t.Error("the sweep finds more without a database")
	}
	for _, name := range []string{"myao_backlog_changes", "myao_backlog_age_seconds", "myao_unfinished_age_seconds", "myao_schedule_run_age_seconds", "myao_channels"} {
		if got := b.counted(name); got != -1 {
			t.Errorf("%s is %v, want -1: unknown", name, got)
		}
	}
	b.run(b.relay(b.store))
	b.await("another relay's turn", func() bool { return b.backlog() == 0 })
}

// Not parallel: it looks at the goroutines of the whole process.
func TestRunLeavesNothingBehind(t *testing.T) {
	b := setup(t)
	hanging := make(chan struct{}, 100)
	b.lose = func(ctx context.Context, _ chat.Conversation) error {
		hanging <- struct{}{}
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("a signal that hangs ended with %v, not with the relay", ctx.Err())
		}
		return ctx.Err()
	}
	for n := range 30 {
		b.say(in(n), 1)
	}
	r := b.relay(b.store)
	stop := b.run(r)
	for n := range 30 {
		r.Notify(store.Target{Conversation: in(n)})
	}
	for range workers {
		<-hanging
	}
	stop()
	buf := make([]byte, 1<<20)
	if stacks := string(buf[:runtime.Stack(buf, true)]); strings.Contains(stacks, "relay.(*Relay)") {
		t.Errorf("goroutines are left:\n%s", stacks)
	}
	// All leases are released: another process need not wait.
	for n := range 30 {
		if taken, err := b.store.Claim(t.Context(), in(n).ID(), "other", time.Now(), batchSize); len(taken) != 1 || err != nil {
			t.Errorf("%s is still leased: %v, %v", in(n).ID(), taken, err)
		}
	}
}

// A proposal whose conversation has lost it reaches that conversation again.
func TestOverdueProposalsAreRelayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost, err := b.store.SaveTurn(t.Context(), in(1), at(1), store.Turn{Decision: "d", Steps: []store.Step{
		{Tool: "desk__create", State: store.StepProposed, Proposal: &store.Proposal{Choice: store.Choice{Asker: "U1"}, LapsesUS: time.Now().Add(-time.Hour).UnixMicro()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.ShowProposals(t.Context(), "d", at(2)); err != nil {
		t.Fatal(err)
	}
	b.run(b.relay(b.store))
	b.await("the change", func() bool { return len(b.taken(in(1))) == 1 })
	if got := b.called()[0].changes[0]; got != (conversation.Change{TS: at(1), Kind: conversation.Overdue, Revision: lost[0].ID}) {
		t.Errorf("relayed %+v", got)
	}
}

// So does a promise.
func TestOverduePromisesAreRelayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	late, err := b.store.AddPromise(t.Context(), store.Promise{
		Choice: store.Choice{ID: "p", TeamID: in(1).Team, ChannelID: in(1).Channel, TriggerTS: at(1), Decision: "d", Asker: "U1"},
		DueUS:  time.Now().Add(-time.Hour).UnixMicro(),
	}, store.PromiseLimits{Conversation: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.ShowPromises(t.Context(), "d", at(2)); err != nil {
		t.Fatal(err)
	}
	b.run(b.relay(b.store))
	b.await("the change", func() bool { return len(b.taken(in(1))) == 1 })
	want := conversation.Change{TS: at(1), Kind: conversation.Due, Author: "U1", Revision: conversation.PromiseRef{ID: "p", Number: 1, Due: late.Due()}.String()}
	if got := b.called()[0].changes[0]; got != want {
		t.Errorf("relayed %+v, want %+v", got, want)
	}
}
