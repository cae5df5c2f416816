package budget

import (
	"context"
	"errors"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/store"
)

// calls is what was spent, and counts how often it is asked.
type calls struct {
	spent store.Spending
	err   error
	since time.Time
	asked int
}

func (c *calls) SpentByWorkspace(_ context.Context, team string, since time.Time) (store.Spending, error) {
	if c.asked, c.since = c.asked+1, since; team != "T1" {
		return store.Spending{}, errors.New("another workspace")
	}
	return c.spent, c.err
}

// The sum of the day is read again after half a minute, and when the next day begins.
func TestTheSumIsReadEveryHalfMinute(t *testing.T) {
	t.Parallel()
	c, read := config.Config{TimeZone: "Asia/Tokyo"}, &calls{}
	now := time.Date(2026, 3, 1, 14, 58, 10, 0, time.UTC) // 110 seconds before midnight
	w := &Workspace{Calls: read, Team: "T1", Limit: config.Budget{Calls: 10, Tokens: 1000}, StartOfDay: c.StartOfDay, Clock: func() time.Time { return now }}
	for _, step := range []struct {
		what          string
		after         time.Duration
		calls, tokens int
		err           error
		share         float64
		asked         int
	}{
		{"at first", 0, 8, 900, nil, 0.9, 1},
		{"soon after", 29 * time.Second, 10, 900, nil, 0.9, 1},
		{"after half a minute", time.Second, 10, 900, nil, 1, 2},
		{"by its tokens", 30 * time.Second, 1, 1500, nil, 1.5, 3},
		{"without the database", 30 * time.Second, 1, 1, errors.New("gone"), 0, 4},
		{"before midnight", 10 * time.Second, 10, 0, nil, 1, 5},
		{"at midnight", 10 * time.Second, 1, 0, nil, 0.1, 6},
		{"on the next day", 29 * time.Second, 10, 0, nil, 0.1, 6},
	} {
		now = now.Add(step.after)
		read.spent, read.err = store.Spending{Calls: step.calls, Tokens: step.tokens}, step.err
		if share, err := w.Used(t.Context()); !errors.Is(err, step.err) || err == nil && share != step.share || read.asked != step.asked {
			t.Errorf("%s: %v is used, asked %d times; want %v and %d", step.what, share, read.asked, step.share, step.asked)
		}
	}
	if want := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC); !read.since.Equal(want) {
		t.Errorf("summed up since %v, want %v", read.since, want)
	}
	for what, w := range map[string]*Workspace{"none": nil, "no limit": {Calls: read, Team: "T1"}} {
		if got, err := w.Used(t.Context()); got != 0 || err != nil || read.asked != 6 {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}
