package catchup

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/sandbox/workspace"
)

var errBroken = errors.New("broken")

// dice is the random source of the test and of its Slack.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// TestRandomFailures lets people write for some hours. The door receives some events, late or never. Two
// readers are refused and killed at random. In the end each message has had its effect once.
func TestRandomFailures(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := &dice{r: rand.New(rand.NewPCG(seed, 1))}
			b := setup(t, options{Config: workspace.Config{
				PageSize: 1 + r.IntN(4), RepeatRoot: r.IntN(2) == 0, OldestPageFirst: r.IntN(2) == 0,
			}})
			var roots, said, late []string
			for i := range 10 {
				roots = append(roots, b.say(6*days-time.Duration(i)*hours, "of another week"))
			}
			readers := []*Reader{b.Reader, b.another()}
			faults := b.Workspace.Faults()
			faults.Add(workspace.Fault{Status: 429, RetryAfter: "1", Match: func(workspace.Call) bool { return r.IntN(12) == 0 }})
			faults.Add(workspace.Fault{Method: "conversations.replies", LoseAnswer: true, Match: func(workspace.Call) bool { return r.IntN(12) == 0 }})
			b.recorder.fail = func(int) error {
				if r.IntN(20) == 0 {
					return errBroken
				}
				return nil
			}
			now := noon
			for range 150 {
				now = now.Add(time.Duration(1+r.IntN(240)) * time.Second)
				b.Time.Set(now)
				text := fmt.Sprint(len(said))
				if r.IntN(4) == 0 {
					text = b.Mention(text)
				}
				var opts []workspace.SayOption
				if r.IntN(2) == 0 {
					opts = append(opts, workspace.InThread(roots[r.IntN(len(roots))]))
					if r.IntN(4) == 0 {
						opts = append(opts, workspace.Broadcast())
					}
				}
				ts := b.Workspace.Say(b.General, b.Alice.ID, text, opts...)
				said = append(said, ts)
				if opts == nil {
					roots = append(roots, ts)
				}
				switch r.IntN(4) {
				case 0:
					b.hear(b.standing(ts))
				case 1:
					late = append(late, ts)
				}
				if len(late) > 0 && r.IntN(3) == 0 {
					b.hear(b.standing(late[0]))
					late = late[1:]
				}
				if r.IntN(10) == 0 { // somebody was called into the thread
					if err := b.Store.SaveHistory(t.Context(), []chat.Message{b.standing(said[r.IntN(len(said))])}); err != nil {
						t.Fatal(err)
					}
				}
				if r.IntN(6) == 0 {
					_, err := readers[r.IntN(2)].Channel(t.Context(), b.General)
					if e := (*slack.Error)(nil); err != nil && !errors.Is(err, errBroken) && !errors.As(err, &e) {
						t.Fatal(err)
					}
					if r.IntN(10) == 0 {
						readers[r.IntN(2)] = b.another() // the process was killed
					}
				}
			}
			faults.Clear()
			b.recorder.fail = nil
			b.Time.Set(now.Add(hours))
			for _, reader := range readers {
				if result, err := reader.Channel(t.Context(), b.General); err != nil || result.Unfinished {
					t.Fatalf("got %+v, %v", result, err)
				}
			}
			for _, ts := range late {
				b.hear(b.standing(ts))
			}
			var want []string
			for i, ts := range said {
				m := b.standing(ts)
				switch mention := chat.Mentions(m.Text, b.Workspace.Bot().UserID); {
				case m.ThreadTS == "" && mention:
					want = append(want, fmt.Sprintf("thread addressed %q", fmt.Sprint(i)), fmt.Sprintf("channel addressed %q", fmt.Sprint(i)))
				case m.ThreadTS == "":
					want = append(want, fmt.Sprintf("channel said %q", fmt.Sprint(i)))
				case mention:
					want = append(want, fmt.Sprintf("thread addressed %q", fmt.Sprint(i)))
				default:
					want = append(want, fmt.Sprintf("thread said %q", fmt.Sprint(i)))
				}
			}
			slices.Sort(want)
			got := b.changes()
			for _, c := range want {
				if i, found := slices.BinarySearch(got, c); found {
					got = slices.Delete(got, i, i+1)
				} else {
					t.Errorf("missed: %s", c)
				}
			}
			if len(got) > 0 {
				t.Errorf("too much: %q", got)
			}
		})
	}
}

// another returns the reader of another process.
func (b *bundle) another() *Reader {
	return &Reader{
		Store: b.Store, Own: b.Reader.Own, Slack: b.Slack, Recorder: b.Recorder, Directory: b.Directory, FirstWindow: b.FirstWindow, ThreadWindow: b.ThreadWindow,
		Clock: b.Clock, Logger: slog.New(slog.DiscardHandler),
	}
}
