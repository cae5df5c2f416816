package e2e

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/conversation"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// fairTemporal uses a Temporal server with fairness between keys, which is off by default up to
// version 1.32. flags go to its command.
func fairTemporal(t testing.TB, more ...string) option {
	server := testserver.StartTemporal(t, "", 0, append(more, "--dynamic-config-value", "matching.enableFairness=true")...)
	return func(s *settings) { s.Temporal = server.Address }
}

// onePartition gives each task queue one partition. By default it has four, and each hands out a
// quarter of the rate to whichever worker polls it.
var onePartition = []string{
	"--dynamic-config-value", "matching.numTaskqueueReadPartitions=1", "--dynamic-config-value", "matching.numTaskqueueWritePartitions=1",
}

// TestStormInOneChannel sends many mentions in one channel, more than the model's rate can handle
// quickly, and then one mention in another channel. The one is answered before most of the
// many, through relay, workflow, model and post.
func TestStormInOneChannel(t *testing.T) {
	t.Parallel()
	const storm, early = 48, 24
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open() // before the model's server closes
	s := start(t, sqlite(t), fairTemporal(t, onePartition...), quiet(1), configured("worker: {max_concurrent_model_calls: 2, model_calls_per_second: 1}\n"),
		modelAnswers(func(c llmtest.Call) llmtest.Reply {
			if c.Judgment() {
				return llmtest.No("lively talk")
			}
			<-gate
			return llmtest.Text("one moment")
		}))
	busy := s.Workspace.AddChannel(workspace.Public, "busy", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	for n := range storm {
		s.Workspace.Say(busy, s.alice.ID, s.mention(fmt.Sprint("is it broken? ", n)))
		s.Workspace.Say(busy, s.bob.ID, fmt.Sprint("for me it is, too ", n))
	}
	s.await("most of the storm to wait for the model", func() bool { return s.backlog(conversation.ModelTaskQueue) > early })
	lunch := s.Workspace.Say(s.general, s.alice.ID, s.mention("what is for lunch?"))
	s.await("it to wait for the model", func() bool {
		return s.phase("thread/T0E2E/"+s.general+"/"+lunch) == conversation.Replying
	})
	open()
	s.await("the quiet channel's answer", func() bool { return len(s.postsIn(s.general)) == 1 })
	if got := len(s.postsIn(busy)); got >= early {
		t.Errorf("the quiet channel's answer came after %d of the storm's", got)
	}
	calls := s.replies()
	at := slices.IndexFunc(calls, func(c llmtest.Call) bool { return strings.Contains(c.System, "what is for lunch?") })
	if at < 0 || at >= early {
		t.Errorf("the model was asked for the quiet channel's answer as number %d, want before %d", at, early)
	}
	t.Logf("call number %d of %d", at, storm)
}

// backlog returns the approximate number of activities in a task queue.
func (s *system) backlog(queue string) int64 {
	s.t.Helper()
	d, err := s.Client.WorkflowService().DescribeTaskQueue(s.t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: s.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY, ReportStats: true,
	})
	testserver.Must(s.t, err)
	return d.GetStats().GetApproximateBacklogCount()
}

// stormOf runs TestMeasureStorm and builds everything without the race detector.
var stormOf = flag.Int("storm", 0, "measure what a storm of so many mentions in one channel costs a mention in another")

// TestMeasureStorm prints how long a mention waits for its answer, without load and during a
// storm of mentions in another channel. Run it on an otherwise idle machine:
// go test ./test/e2e -run MeasureStorm -v -storm 300
func TestMeasureStorm(t *testing.T) {
	if *stormOf == 0 {
		t.Skip("it only measures; set -storm to run it")
	}
	const asked, answering = 15, 500 * time.Millisecond
	measure := func(t *testing.T, url string) {
		s := start(t, url, fairTemporal(t), func(o *settings) { o.Slack.Deliverers = 32 }, quiet(60), modelAnswers(func(llmtest.Call) llmtest.Reply {
			return llmtest.Reply{Text: "one moment", Delay: answering}
		}))
		busy := s.Workspace.AddChannel(workspace.Public, "busy", s.Workspace.Bot().UserID, s.alice.ID)
		s.median("warming up", asked)
		alone := s.median("alone", asked)
		for n := range *stormOf {
			s.Workspace.Say(busy, s.alice.ID, s.mention(fmt.Sprint("is it broken? ", n)))
		}
		storm := s.median("storm", asked)
		t.Logf("of the storm of %d, %d are answered; model calls %d", *stormOf, len(s.postsIn(busy)), len(s.replies()))
		t.Logf("median alone %v, in a storm %v, difference %v; the model takes %v of each", alone, storm, storm-alone, answering)
	}
	t.Run("sqlite", func(t *testing.T) { measure(t, sqlite(t)) })
	t.Run("postgres", func(t *testing.T) { measure(t, postgres(t)) })
}

// median mentions the bot in n new channels, two a second, and returns the median time until
// the answer.
func (s *system) median(what string, n int) time.Duration {
	s.t.Helper()
	said := map[string]time.Time{} // by channel
	for range n {
		channel := s.Workspace.AddChannel(workspace.Public, "quiet", s.Workspace.Bot().UserID, s.alice.ID)
		said[channel] = time.Now()
		s.Workspace.Say(channel, s.alice.ID, s.mention("what is for lunch?"))
		time.Sleep(500 * time.Millisecond) // an open loop: do not wait for the answer
	}
	var took []time.Duration
	s.await("the answers", func() bool {
		took = nil
		for _, p := range s.posts() {
			if at, ok := said[p.Channel]; ok {
				took = append(took, p.At.Sub(at).Round(time.Millisecond))
			}
		}
		return len(took) == n
	})
	slices.Sort(took)
	s.t.Logf("%s: %v", what, took)
	return took[n/2]
}
