package threadstatus

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"myao/internal/slack"
)

// fakeSlack notes the calls, and answers each after took with err.
type fakeSlack struct {
	took time.Duration
	err  error

	mu    sync.Mutex
	calls []string
}

func (f *fakeSlack) SetStatus(ctx context.Context, channel, thread, status string) error {
	select {
	case <-time.After(f.took):
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%s/%s %q", channel, thread, status))
	return f.err
}

// take returns the calls since the last take.
func (f *fakeSlack) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

var here = Place{"C1", "1.1"}

func TestBoard(t *testing.T) {
	t.Parallel()
	const thinking, searching, none = `C1/1.1 "thinks"`, `C1/1.1 "searches"`, `C1/1.1 ""`
	for name, tc := range map[string]struct {
		took time.Duration // of a call
		does func(*Board)
		want []string
	}{
		"renewed until it ends": {0, func(b *Board) {
			b.Show(here, "a", "thinks")
			time.Sleep(150 * time.Second)
			b.Posting(here, "a")
			time.Sleep(time.Hour)
		}, []string{thinking, thinking, thinking}},
		"a post takes it away":            {0, func(b *Board) { b.Show(here, "a", "thinks"); synctest.Wait(); b.Posting(here, "a") }, []string{thinking}},
		"a call that a post may overtake": {time.Second, func(b *Board) { b.Show(here, "a", "thinks"); synctest.Wait(); b.Posting(here, "a") }, []string{thinking, none}},
		"left for the next activity": {0, func(b *Board) {
			b.Show(here, "a", "thinks")
			synctest.Wait()
			b.Leave(here, "a")
			time.Sleep(time.Hour)
			b.Show(here, "a", "searches")
			synctest.Wait()
			b.Leave(here, "a")
		}, []string{thinking, searching}},
		"two steps, of which one ends": {0, func(b *Board) {
			b.Show(here, "a", "thinks")
			b.Show(here, "a", "searches")
			synctest.Wait()
			b.Leave(here, "a")
			time.Sleep(70 * time.Second)
			b.Leave(here, "a")
			time.Sleep(time.Hour)
		}, []string{searching, searching}},
		"withdrawn": {0, func(b *Board) {
			b.Show(here, "a", "thinks")
			synctest.Wait()
			b.Clear(here, "a", false)
			b.Clear(here, "a", false)
		}, []string{thinking, none}},
		"withdrawn by another activity": {0, func(b *Board) { b.Clear(here, "a", true) }, []string{none}},
		"nothing was shown":             {0, func(b *Board) { b.Clear(here, "a", false); b.Leave(here, "a"); b.Posting(here, "a") }, nil},
		"the place is another one's": {0, func(b *Board) {
			b.Show(here, "a", "thinks")
			synctest.Wait()
			b.Show(here, "b", "searches")
			synctest.Wait()
			b.Clear(here, "a", true)
			b.Posting(here, "a")
			b.Posting(here, "b")
		}, []string{thinking, searching}},
		"withdrawn, and answered anew": {time.Second, func(b *Board) {
			b.Show(here, "a", "thinks")
			synctest.Wait()
			b.Clear(here, "a", true)
			b.Show(here, "b", "searches")
			time.Sleep(time.Minute)
			b.Posting(here, "b")
		}, []string{thinking, searching}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeSlack{took: tc.took}
				b := NewBoard(f, time.Now, slog.New(slog.DiscardHandler))
				tc.does(b)
				time.Sleep(time.Minute)
				got := f.take()
				if !slices.Equal(got, tc.want) {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				if len(b.threads) != 0 {
					t.Errorf("%d places are kept", len(b.threads))
				}
			})
		})
	}
}

// What Slack refuses for good is not asked again for an hour, and said once.
func TestBoardAfterFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  *slack.Error
		want int // calls of twenty, three minutes apart
		log  int
	}{
		"missing scope":     {&slack.Error{Kind: slack.Final, Code: "missing_scope"}, 1, 1},
		"unknown method":    {&slack.Error{Kind: slack.Final, Code: "unknown_method"}, 1, 1},
		"not in this place": {&slack.Error{Kind: slack.Final, Code: "channel_not_found"}, 20, 1},
		"away":              {&slack.Error{Kind: slack.Transient, Code: "connection_failed"}, 20, 1},
		"limited":           {&slack.Error{Kind: slack.RateLimited, Code: "ratelimited", RetryAfter: 5 * time.Minute}, 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, log := &fakeSlack{err: tc.err}, new(bytes.Buffer)
				b := NewBoard(f, time.Now, slog.New(slog.NewTextHandler(log, nil)))
				for range 20 {
					b.Show(here, "a", "thinks")
					synctest.Wait()
					b.Posting(here, "a")
					time.Sleep(3 * time.Minute)
				}
				if got := f.take(); len(got) != tc.want || strings.Count(log.String(), "status not shown") != tc.log {
					t.Errorf("%d calls, want %d; logged\n%s", len(got), tc.want, log)
				}
				f.err = nil
				time.Sleep(time.Hour)
				b.Show(here, "a", "thinks")
				synctest.Wait()
				b.Posting(here, "a")
				synctest.Wait()
				if got := f.take(); len(got) != 1 {
					t.Errorf("afterwards %q", got)
				}
			})
		})
	}
}
