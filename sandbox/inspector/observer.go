package inspector

import (
	"cmp"
	"context"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/internal/operate/timeline"
	"myao/internal/runtime/timeout"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

const (
	// timelineInterval is how often the timeline is read again while nothing seems to happen.
	timelineInterval = 2 * time.Second
	// timelineMessages is how many messages the timeline has.
	timelineMessages = 10
	// readTimeout is how long Temporal's server and the database may take to answer. It is
	// generous, because the page's buttons depend on the answer and the machine may be busy.
	readTimeout = 3 * time.Second
	// queryTimeout is how long a worker may take to answer a query. A worker that has just started
	// gets no query until the server has given up its predecessor, which had the conversation in
	// its cache.
	queryTimeout = 10 * time.Second
	// queryPatience is how long everything else waits for a query; mostly that is enough.
	queryPatience = 250 * time.Millisecond
	// queryRetryInterval is how long a worker that did not answer is left alone.
	queryRetryInterval = 2 * time.Second
)

// view is what the page shows of a conversation.
type view struct {
	Conversation chat.Conversation `json:"conversation"`
	Workflow     string            `json:"workflow"` // its id
	URL          string            `json:"url"`      // of its newest run in Temporal's Web UI; empty if there is none
	Open         bool              `json:"open"`     // a run is open
	// State is nil until a worker has answered, at Asked. Later it is the last answer.
	State *conversation.State `json:"state"`
	Asked time.Time           `json:"asked,omitzero"`
	// Phase comes from Temporal itself, as long as no worker has told the State.
	Phase conversation.Phase `json:"phase,omitempty"`
	// Problem says why the view may be out of date; empty if it is not.
	Problem  string    `json:"problem"`
	Silenced time.Time `json:"silenced_until,omitzero"`
	// Everywhere is set while the bot is muted in the whole workspace.
	Everywhere bool              `json:"muted_everywhere,omitempty"`
	Timeline   timeline.Timeline `json:"story"`
	// Inputs are what the tools of the timeline's decisions were called with, by the key of the
	// decision, in the order of its steps.
	Inputs   map[string][]string `json:"inputs,omitempty"`
	Memories []memory            `json:"memories"`
	Notes    []chat.Note         `json:"notes"` // of the channel, the oldest first
	// Proposals may still come to something, the newest first.
	Proposals []store.Proposal `json:"proposals"`
	// Promises are open or have just ended, the former first.
	Promises []store.Promise `json:"promises"`
	// Unindexed is set while the search index lacks messages that are stored. Whatever Timeline has
	// can be found once it is not.
	Unindexed bool `json:"unindexed,omitempty"`
}

// observer observes one conversation. Its methods are for one goroutine.
type observer struct {
	w    *Inspector
	c    chat.Conversation
	view view

	worker       WorkerState  // as of the last refresh
	run          operator.Run // as Temporal last described it; without an id if there is none
	timelineRead time.Time    // when the timeline was read

	answers     chan answer
	cancelQuery context.CancelFunc // nil while no query runs
	stateRun    operator.Run       // the run that view.State belongs to
	nextQuery   time.Time          // no query before then

	// The last error of Temporal, the worker and the database.
	temporalErr, workerErr, databaseErr error
}

// answer is a worker's answer to a query.
type answer struct {
	state *conversation.State
	run   operator.Run
	err   error
}

func (w *Inspector) observe(c chat.Conversation) *observer {
	return &observer{
		w: w, c: c, answers: make(chan answer, 1),
		view: view{Conversation: c, Workflow: c.ID(), Timeline: timeline.Timeline{Conversation: c,
			Entries: []timeline.Entry{}}, Memories: []memory{}, Notes: []chat.Note{}, Proposals: []store.Proposal{},
			Promises: []store.Promise{}},
	}
}

// refresh updates the view, in at most six seconds. It does not wait for a worker that takes
// longer: that answer arrives in the channel answers, for accept.
func (l *observer) refresh(ctx context.Context) {
	system := l.w.system.Load()
	if system == nil {
		return
	}
	worker := l.w.Worker.State()
	switch {
	case worker != Running && l.cancelQuery != nil:
		l.cancelQuery()
	case worker == Running && l.worker != Running:
		l.stateRun, l.nextQuery, l.workerErr = operator.Run{}, time.Time{}, nil
	}
	l.worker = worker
	describing, cancel := timeout.After(ctx, readTimeout)
	newest, err := system.Describe(describing, l.c)
	cancel()
	if l.temporalErr = err; err == nil {
		changed := !reflect.DeepEqual(newest, l.run)
		l.run = newest
		if newest.ID == "" && (changed || l.view.State == nil) {
			l.accept(answer{state: conversation.New(l.c)}) // no query is needed
		}
		if changed {
			l.timelineRead = time.Time{}
		}
		if worker == Running && l.cancelQuery == nil && newest.Whole() == nil &&
			!reflect.DeepEqual(newest, l.stateRun) && !l.w.Clock().Before(l.nextQuery) {
			l.query(ctx, system, newest)
		}
	}
	if now := l.w.Clock(); now.Sub(l.timelineRead) >= timelineInterval {
		l.timelineRead = now
		l.databaseErr = l.read(ctx, system)
	}
}

// query asks a worker for the conversation's state.
func (l *observer) query(ctx context.Context, system *operator.Operator, of operator.Run) {
	queryCtx, cancel := timeout.After(ctx, queryTimeout)
	l.cancelQuery = cancel
	go func() {
		state, err := system.Query(queryCtx, l.c)
		l.answers <- answer{state, of, err}
	}()
	soon := time.NewTimer(queryPatience)
	defer soon.Stop()
	select {
	case a := <-l.answers:
		l.accept(a)
	case <-soon.C:
	case <-ctx.Done():
	}
}

// accept takes a worker's answer into the view.
func (l *observer) accept(a answer) {
	if l.cancelQuery != nil {
		l.cancelQuery()
		l.cancelQuery = nil
	}
	now := l.w.Clock().UTC()
	if l.workerErr = a.err; a.err != nil {
		l.nextQuery = now.Add(queryRetryInterval)
		return
	}
	l.stateRun = a.run
	a.state.Seen = nil // long and of no interest
	l.view.State, l.view.Asked = a.state, now
}

// read reads what the database has about the conversation.
func (l *observer) read(ctx context.Context, system *operator.Operator) error {
	ctx, cancel := timeout.After(ctx, readTimeout)
	defer cancel()
	db, team, channel := system.Store, l.c.Team, l.c.Channel
	settings, err := (&channels.Directory{Store: db, Config: l.w.Config}).StoredSettings(ctx, team, channel)
	if err != nil {
		return err
	}
	timeline, err := timeline.Read(ctx, db, l.c, timeline.Options{
		Limit: timelineMessages, Prices: l.w.Config.LLM.Prices,
		LedgerSince: l.w.Config.Retention.LedgerSince(l.w.Clock()),
		Settings:    settings[channel],
	})
	if err != nil {
		return err
	}
	inputs, err := inputs(ctx, db, timeline)
	if err != nil {
		return err
	}
	memories, err := l.w.memories(ctx, db, l.c)
	if err != nil {
		return err
	}
	notes, err := db.Notes(ctx, team, channel)
	if err != nil {
		return err
	}
	now, ended, err := situation(ctx, db, l.c)
	if err != nil {
		return err
	}
	index, err := db.IndexState(ctx)
	if err != nil {
		return err
	}
	l.view.Timeline, l.view.Inputs, l.view.Memories, l.view.Notes = timeline, inputs, memories, notes
	l.view.Silenced, l.view.Everywhere = now.Silences.Until(l.c), now.Muted != nil
	l.view.Unindexed = !index.Oldest.IsZero()
	l.view.Proposals = slices.Concat([]store.Proposal{}, now.Proposals)
	l.view.Promises = slices.Concat([]store.Promise{}, now.Promises, ended)
	return nil
}

// inputs reads what the tools of a timeline's decisions were called with.
func inputs(ctx context.Context, db *store.Store, timeline timeline.Timeline) (map[string][]string, error) {
	all := map[string][]string{}
	for _, e := range timeline.Entries {
		if e.Decision == nil || len(e.Decision.Steps) == 0 {
			continue
		}
		steps, err := db.Steps(ctx, e.Decision.Key)
		if err != nil {
			return nil, err
		}
		for _, st := range steps {
			all[st.Decision] = append(all[st.Decision], st.Input)
		}
	}
	return all, nil
}

// snapshot is the view as of now.
func (l *observer) snapshot(worker WorkerState) *view {
	v := l.view
	v.Open, v.Problem = l.run.Running, l.problem(worker)
	if v.State == nil {
		v.Phase = l.run.Phase
	}
	if l.run.ID != "" && l.w.WebUI != "" {
		v.URL = l.w.WebUI + url.PathEscape(v.Workflow) + "/" + l.run.ID
	}
	return &v
}

func (l *observer) problem(worker WorkerState) string {
	if l.w.system.Load() == nil {
		return "Temporal, the worker and the starter are still starting"
	}
	var problems []string
	if l.temporalErr != nil {
		problems = append(problems, "Temporal does not answer")
	}
	for _, p := range l.run.Paused {
		problems = append(problems, "somebody has paused "+cmp.Or(p.Activity, "the conversation")+" in Temporal")
	}
	switch {
	case worker == Running && l.workerErr != nil:
		problems = append(problems, "the worker does not answer")
	case worker == Running:
	case l.view.State == nil:
		problems = append(problems, "the worker is "+string(worker)+
			"; without it the state of the conversation is unknown")
	default:
		problems = append(problems, "the worker is "+string(worker)+
			"; this is the last known state of the conversation")
	}
	if l.databaseErr != nil {
		problems = append(problems, "the database does not answer: "+l.databaseErr.Error())
	}
	return strings.Join(problems, "; ")
}
