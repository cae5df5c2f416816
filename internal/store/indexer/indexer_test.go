package indexer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// index answers in turn, and notes since when it was asked, as seconds before the clock's time. The
// cursor is 0.
type index struct {
	now     time.Time
	takes   time.Duration
	answers []store.IndexProgress
	err     error
	asked   []int
}

func (i *index) Index(_ context.Context, since time.Time, _ int) (p store.IndexProgress, err error) {
	before := 0
	if !since.IsZero() {
		before = int(i.now.Sub(since).Seconds())
	}
	i.asked = append(i.asked, before)
	i.now = i.now.Add(i.takes)
	if p = (store.IndexProgress{CaughtUp: true}); len(i.answers) > 0 {
		p, i.answers = i.answers[0], i.answers[1:]
	}
	return p, i.err
}

// Most looks go back a little; some continue at the cursor: the first one, one a minute, and each
// after a pause or a failure.
func TestLooksBack(t *testing.T) {
	t.Parallel()
	i := &index{now: noon}
	x := New(i, func() time.Time { return i.now }, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		after time.Duration
		err   error
		want  int
	}{
		{0, nil, 0}, {5 * time.Second, nil, 30}, {5 * time.Second, nil, 30}, {20 * time.Second, nil, 0}, {5 * time.Second, nil, 30},
		{5 * time.Second, errors.New("away"), 30}, {5 * time.Second, errors.New("away"), 30}, {10 * time.Second, nil, 0},
		{15 * time.Second, nil, 30}, {15 * time.Second, nil, 30}, {15 * time.Second, nil, 30}, {15 * time.Second, nil, 0},
	} {
		i.now, i.err, i.asked = i.now.Add(step.after), step.err, nil
		if err := x.catchUp(t.Context()); !errors.Is(err, step.err) {
			t.Fatal(err)
		}
		if len(i.asked) != 1 || i.asked[0] != step.want {
			t.Errorf("at %s: looks %v seconds back, want %d", i.now.Format(time.TimeOnly), i.asked, step.want)
		}
	}
}

// Steps through what has just been said continue where the one before ended. Those through what was
// said long ago continue at the cursor, which they move along.
func TestStepsContinue(t *testing.T) {
	t.Parallel()
	i := &index{now: noon, takes: time.Second, answers: []store.IndexProgress{
		{Indexed: 500, UpTo: noon.Add(-time.Hour)}, {Indexed: 500, UpTo: noon.Add(-time.Minute)}, {Indexed: 500, UpTo: noon.Add(-50 * time.Second)},
	}}
	x := New(i, func() time.Time { return i.now }, slog.New(slog.DiscardHandler))
	x.pause = func(context.Context, time.Duration) bool { return true }
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 0, 62, 53}; !slices.Equal(i.asked, want) {
		t.Errorf("looks %v seconds back, want %v", i.asked, want)
	}
}

func TestReportsALongRun(t *testing.T) {
	t.Parallel()
	i := &index{now: noon, takes: 4 * time.Second}
	for range 5 {
		i.answers = append(i.answers, store.IndexProgress{Indexed: 500, UpTo: noon})
	}
	i.answers = append(i.answers, store.IndexProgress{Indexed: 7, CaughtUp: true})
	var log bytes.Buffer
	x := New(i, func() time.Time { return i.now }, slog.New(slog.NewTextHandler(&log, nil)))
	x.pause = func(context.Context, time.Duration) bool { return true }
	if err := x.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"indexing messages for search" messages=1500 up_to=2026-03-01T12:00:00Z`, `"messages indexed for search" messages=2507`} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("no %s in\n%s", want, log.String())
		}
	}
}

type state struct {
	state store.IndexState
	err   error
}

func (s state) IndexState(context.Context) (store.IndexState, error) { return s.state, s.err }

func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		state         state
		messages, lag float64
	}{
		{state{state: store.IndexState{Messages: 7}}, 7, 0},
		{state{state: store.IndexState{Messages: 7, Oldest: noon.Add(-time.Minute)}}, 7, 60},
		{state{err: errors.New("away")}, -1, -1},
	} {
		r := prometheus.NewRegistry()
		Register(r, test.state, func() time.Time { return noon })
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		if got["myao_search_messages"] != test.messages || got["myao_search_lag_seconds"] != test.lag {
			t.Errorf("%+v is told as %v", test.state, got)
		}
	}
}
