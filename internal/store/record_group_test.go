package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// committer commits groups when the test says so.
type committer struct {
	groups
	release chan error

	asking sync.Mutex
	asked  []string // the keys of the groups that were passed to commit
}

// newCommitter is for tests within a synctest bubble.
func newCommitter() *committer {
	c := &committer{release: make(chan error)}
	c.concurrency = 2
	c.commit = func(ctx context.Context, group []*recording) error {
		var keys []string
		for _, n := range group {
			keys = append(keys, n.key)
		}
		c.asking.Lock()
		c.asked = append(c.asked, strings.Join(keys, " "))
		c.asking.Unlock()
		select {
		case err := <-c.release:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c
}

// submit submits an event and returns a channel with its result.
func (c *committer) submit(ctx context.Context, key string) <-chan error {
	end := make(chan error, 1)
	go func() { end <- c.do(&recording{ctx: ctx, key: key, done: make(chan struct{})}) }()
	synctest.Wait()
	return end
}

func (c *committer) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	c.asking.Lock()
	defer c.asking.Unlock()
	if !slices.Equal(c.asked, want) {
		t.Errorf("groups %q, want %q", c.asked, want)
	}
}

func TestGroupsFormWhileOthersCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter()
		var ends []<-chan error
		for _, key := range strings.Fields("a b c d c e c") {
			ends = append(ends, c.submit(t.Context(), key))
		}
		c.expect(t, "a", "b")
		c.release <- nil
		c.expect(t, "a", "b", "c d e")
		c.release <- nil
		c.expect(t, "a", "b", "c d e", "c")
		c.release <- nil
		c.expect(t, "a", "b", "c d e", "c", "c")
		c.release <- nil
		c.release <- nil
		for i, end := range ends {
			if err := <-end; err != nil {
				t.Errorf("news %d: %v", i, err)
			}
		}
		c.workers.Wait()
		end := c.submit(t.Context(), "f")
		c.expect(t, "a", "b", "c d e", "c", "c", "f")
		c.release <- nil
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

func TestGroupContinuesWithoutCancelledCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter()
		ctx, cancel := context.WithCancel(t.Context())
		busy, other := c.submit(t.Context(), "busy"), c.submit(t.Context(), "other")
		leaves, stays := c.submit(ctx, "leaves"), c.submit(t.Context(), "stays")
		c.release <- nil
		c.expect(t, "busy", "other", "leaves stays")
		dropped := c.submit(ctx, "dropped")
		cancel()
		for _, end := range []<-chan error{leaves, dropped} {
			if err := <-end; !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled caller gets %v", err)
			}
		}
		c.release <- nil
		c.release <- nil
		for _, end := range []<-chan error{busy, other, stays} {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
		c.expect(t, "busy", "other", "leaves stays")
	})
}

func TestGroupIsCancelledWithItsLastCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter()
		bring := func(key string, wait time.Duration) <-chan error {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			t.Cleanup(cancel)
			return c.submit(ctx, key)
		}
		busy, other := c.submit(t.Context(), "busy"), c.submit(t.Context(), "other")
		first, second := bring("first", time.Second), bring("second", 3*time.Second)
		c.release <- nil
		c.expect(t, "busy", "other", "first second")
		began := time.Now()
		for _, test := range []struct {
			end  <-chan error
			want time.Duration
		}{{first, time.Second}, {second, 3 * time.Second}} {
			if err := <-test.end; !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != test.want {
				t.Errorf("%v after %v, want the context's error after %v", err, time.Since(began), test.want)
			}
		}
		synctest.Wait() // none is retried alone, which would take as long again
		late := c.submit(t.Context(), "late")
		c.expect(t, "busy", "other", "first second", "late")
		time.Sleep(time.Hour) // one that waits for ever
		c.release <- nil
		c.release <- nil
		synctest.Wait()
		var errs []error
		for _, end := range []<-chan error{busy, other, late} {
			select {
			case err := <-end:
				errs = append(errs, err)
			default:
				t.Error("no end")
			}
		}
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
}

func TestGroupQueueIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter()
		ctx, cancel := context.WithCancel(t.Context())
		c.submit(ctx, "a")
		c.submit(ctx, "b")
		for i := range groupQueue {
			go func() { _ = c.do(&recording{ctx: ctx, key: fmt.Sprint(i), done: make(chan struct{})}) }()
		}
		synctest.Wait()
		if err := <-c.submit(ctx, "one more"); !errors.Is(err, errQueueFull) {
			t.Errorf("one more than may wait: %v", err)
		}
		cancel()
		c.workers.Wait()
		c.expect(t, "a", "b")
	})
}

func TestGroupInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter()
		c.interval = 10 * time.Millisecond
		var ends []<-chan error
		bring := func(key string) { ends = append(ends, c.submit(t.Context(), key)) }
		bring("alone")
		c.expect(t, "alone")
		time.Sleep(9 * time.Millisecond)
		bring("a")
		bring("b")
		c.expect(t, "alone")
		time.Sleep(time.Millisecond)
		c.expect(t, "alone", "a b")
		c.release <- nil
		c.release <- nil
		time.Sleep(4 * time.Millisecond)
		bring("c")
		time.Sleep(5 * time.Millisecond)
		c.expect(t, "alone", "a b")
		gone, leave := context.WithCancel(t.Context())
		left := c.submit(gone, "left")
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that no longer waits gets %v", err)
		}
		time.Sleep(time.Millisecond)
		c.expect(t, "alone", "a b", "c")
		c.release <- nil
		time.Sleep(10 * time.Millisecond)
		bring("alone again")
		c.expect(t, "alone", "a b", "c", "alone again")
		c.release <- nil
		for _, end := range ends {
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
		c.close()
		if c.working != 0 {
			t.Errorf("%d workers are left", c.working)
		}
	})
}

func TestGroupSize(t *testing.T) {
	t.Parallel()
	var g groups
	for i := range groupSize + 1 {
		g.queue = append(g.queue, &recording{ctx: t.Context(), key: fmt.Sprint(i)})
	}
	for _, want := range []int{groupSize, 1} {
		_, next := g.next()
		if got := len(next.recordings); got != want {
			t.Errorf("a group of %d, want %d", got, want)
		}
		next.cancel()
	}
	if _, next := g.next(); next != nil {
		t.Errorf("a group of %d where nothing waits", len(next.recordings))
	}
}

func TestClosedGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter()
		taken := c.submit(t.Context(), "taken")
		closed := make(chan struct{})
		go func() { c.close(); close(closed) }()
		synctest.Wait()
		if err := <-c.submit(t.Context(), "late"); !errors.Is(err, errClosed) {
			t.Errorf("after the end: %v", err)
		}
		select {
		case <-closed:
			t.Error("closed while a group is under way")
		default:
		}
		c.release <- nil
		<-closed
		if err := <-taken; err != nil {
			t.Error(err)
		}
	})
}
