package heartbeat

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"myao/internal/store"
	"myao/test/storetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a database and starters by name.
type world struct {
	*testing.T
	db       *store.Store
	down     bool // the database
	now      time.Time
	starters map[string]*Heartbeat
	socket   map[string]int64
	sessions int64 // so many there were, of all starters
	opened   int
}

// database is the world's, unless it is down.
type database struct {
	*store.Store
	w *world
}

func (d database) Starters(ctx context.Context) ([]store.Starter, error) {
	if d.w.down {
		return nil, errors.New("down")
	}
	return d.Store.Starters(ctx)
}

func (d database) SaveStarter(ctx context.Context, x store.Starter) error {
	if d.w.down {
		return errors.New("down")
	}
	return d.Store.SaveStarter(ctx, x)
}

func (d database) OpenGap(ctx context.Context) error {
	if d.w.down {
		return errors.New("down")
	}
	return d.Store.OpenGap(ctx)
}

// play lets five seconds pass for each word, and then has the starters that it names do something:
// "a" has a send a heartbeat, "-a" end it, "!a" miss an event, "?a" lose its connection and "=a" get it
// again; "down" and "up" are the database. "+60" lets a minute pass, and "back" sets the clock back by ten.
func (w *world) play(script string) (gaps int64) {
	w.Helper()
	before := w.newest()
	for word := range strings.FieldsSeq(script) {
		switch {
		case word == "down", word == "up":
			w.down = word == "down"
			continue
		case word == "+60":
			w.now = w.now.Add(time.Minute)
			continue
		case word == "back":
			w.now = w.now.Add(-10 * time.Minute)
			continue
		}
		w.now = w.now.Add(Interval)
		for part := range strings.SplitSeq(word, ",") {
			name := strings.TrimLeft(part, "-!?=")
			h := w.starters[name]
			if h == nil {
				h = &Heartbeat{
					Store: database{w.db, w}, Session: func() int64 { return w.socket[name] }, Opened: func() { w.opened++ },
					Clock: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler),
				}
				w.sessions++
				w.starters[name], w.socket[name] = h, w.sessions
			}
			switch part[0] {
			case '-':
				h.try(w.Context(), h.end)
				delete(w.starters, name)
				continue
			case '!':
				h.Missed("an event failed")
			case '?':
				w.socket[name] = 0
			case '=':
				w.sessions++
				w.socket[name] = w.sessions
			}
			h.try(w.Context(), h.next)
		}
	}
	return w.newest() - before
}

func (w *world) newest() int64 {
	w.Helper()
	n, err := w.db.NewestGap(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// testWithFakeClock runs a test whose clock stands still while anything works: a heartbeat ends after five seconds, for
// which the machine may stop.
func testWithFakeClock(t *testing.T, test func(t *testing.T, db *store.Store)) {
	t.Helper()
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) { test(t, storetest.OpenURL(t, url)) })
}

func TestGaps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, script string
		gaps           int64
		opened         int
	}{
		"the first starter":                        {"", "a a a", 1, 1},
		"nothing happens":                          {"a", "a a a a a a a a a a a a a", 0, 0},
		"a short pause":                            {"a", "a a +60 a", 1, 1}, // 65 s
		"one follows the other":                    {"a", "-a b b b b", 1, 1},
		"a second one joins":                       {"a", "a,b a,b a,b a,b a,b", 0, 0},
		"one is replaced while the other is there": {"a a,b a,b a,b", "a,-b a a,c a,c a,c a,c", 0, 0},
		"both are replaced by turns":               {"a a,b a,b a,b", "a,-b a,c a,c a,c -a,c d,c d,c d,c", 0, 0},
		"one is killed, and is the only one":       {"a", "b b b b b", 1, 1},
		"one is killed long ago":                   {"a", "+60 +60 b", 1, 1},
		// neither relies on the other
		"both are killed": {"a a,b a,b a,b", "c,d c,d c,d c,d c,d c,d", 2, 2},
		"the other one is killed before this is sure": {"a", "b a,b c c c c c", 1, 1},
		"an event fails":                            {"a", "!a a a", 1, 0},
		"events fail as it ends":                    {"a a,b a,b a,b", "a,b !b a,-b a a", 1, 0},
		"the clock is set back":                     {"a", "back a a a", 1, 1},
		"both freeze, and wake up":                  {"a a,b a,b a,b", "+60 a,b a,b a,b a,b a,b", 1, 1},
		"one of two freezes":                        {"a a,b a,b a,b", "a a a a a a a a a a a a a a,b a,b a,b a,b", 0, 0},
		"the database is away":                      {"a", "down a a a a a a a a a a a a a up a a", 1, 1},
		"the database is away for a moment":         {"a", "down a a up a a", 0, 0},
		"an event fails while the database is away": {"a", "down !a a up a a", 1, 0},
		"the connection is lost":                    {"a", "?a a a =a a a", 1, 1},
		"the connection is another one":             {"a", "=a a a a", 1, 1},
		"one of two connections is lost":            {"a a,b a,b a,b", "?a,b a,b =a,b a,b a,b a,b", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testWithFakeClock(t, func(t *testing.T, db *store.Store) {
				w := &world{T: t, db: db, now: noon, starters: map[string]*Heartbeat{}, socket: map[string]int64{}}
				w.play(test.before)
				w.opened = 0
				if gaps := w.play(test.script); gaps != test.gaps || w.opened != test.opened {
					t.Errorf("%d gaps, %d of them without a starter; want %d and %d", gaps, w.opened, test.gaps, test.opened)
				}
			})
		})
	}
}

// A starter that ends leaves no row, so that the next one need not wait.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, runEnds)
}

func runEnds(t *testing.T, db *store.Store) {
	h := &Heartbeat{Store: db, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)}
	h.Ending = func() { h.Missed("requests were refused until the end") }
	ctx, cancel := context.WithCancel(t.Context())
	h.Opened = cancel
	if err := h.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := db.Starters(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%+v are left, %v", left, err)
	}
	if gap, err := db.NewestGap(t.Context()); err != nil || gap != 2 {
		t.Errorf("%d gaps, %v; want one as it began and one as it ended", gap, err)
	}
}
