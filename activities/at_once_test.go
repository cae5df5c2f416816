package activities

import (
	"testing"
	"time"

	"myao/sandbox/workspace"
)

// Three posts in a row at which Slack hangs have those of the next half minute go by the queue.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	type post struct{ at, took int } // seconds
	for name, c := range map[string]struct {
		posts []post
		then  map[int]bool // second: allowed
	}{
		"none":                     {nil, map[int]bool{0: true}},
		"two":                      {[]post{{0, 8}, {10, 8}}, map[int]bool{18: true}},
		"three":                    {[]post{{0, 8}, {10, 8}, {20, 8}}, map[int]bool{28: false, 57: false, 58: true}},
		"a quick one between":      {[]post{{0, 8}, {10, 1}, {20, 8}, {30, 8}}, map[int]bool{38: true}},
		"far apart":                {[]post{{0, 8}, {100, 8}, {200, 8}}, map[int]bool{208: true}},
		"three, and then one more": {[]post{{0, 8}, {10, 8}, {20, 8}, {60, 8}}, map[int]bool{68: true}},
	} {
		var o AtOnce
		at := func(s int) time.Time { return time.Unix(int64(s), 0) }
		for _, p := range c.posts {
			o.ended(at(p.at), at(p.at+p.took))
		}
		for s, want := range c.then {
			if got := o.allowed(at(s)); got != want {
				t.Errorf("%s: at %d s allowed: %v, want %v", name, s, got, want)
			}
		}
	}
}

// Where it is switched off, or Slack hangs, the queue posts the reply.
func TestNotPostedAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AtOnce = &AtOnce{until: time.Now().Add(time.Hour)}
	task := inThread(b.say("hello?"))
	b.compose(task, "Hello.")
	for _, off := range []*AtOnce{b.AtOnce, {Off: true}} {
		b.AtOnce = off
		if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task}); err != nil || got.Result != "" || len(b.postedTexts()) != 0 {
			t.Errorf("%+v, %v, posted %q", got, err, b.postedTexts())
		}
	}
	b.AtOnce = &AtOnce{slow: slowPosts - 1, last: time.Now()}
	long := inThread(b.say("and then?"))
	b.compose(long, "First.", "Second.")
	if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: long}); err != nil || got.Result != "" || b.AtOnce.slow != slowPosts-1 {
		t.Errorf("a reply in parts: %+v, %v, and then slow %d times", got, err, b.AtOnce.slow)
	}
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Delay: slowPost})
	if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task}); err != nil || got.Result == "" || b.AtOnce.allowed(time.Now()) {
		t.Errorf("after a third slow post: %+v, %v, still allowed", got, err)
	}
}
