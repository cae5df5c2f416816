package workflows

import (
	"encoding/base64"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/codec"
	"myao/test/testserver"
)

var onPostgres = flag.Bool("postgres", false, "show the test of a changed branch on a Temporal server on Postgres")

// versioned returns the options of workers with a version.
func versioned(build string) worker.Options {
	return worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: "myao", BuildID: build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}}
}

// operate runs a command of docs/deploying.md, as an operator types it.
func (s *server) operate(command string) string {
	s.t.Helper()
	document, err := os.ReadFile("../docs/deploying.md")
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(string(document), " \\\n  ", " "), "\n"+command) {
		s.t.Fatalf("docs/deploying.md lacks the command\n%s", command)
	}
	bin, err := filepath.Abs("../.bin")
	if err != nil {
		s.t.Fatal(err)
	}
	said := ""
	s.await(command, func() bool { // the server must know the workers first
		cmd := exec.CommandContext(s.t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+bin, "TEMPORAL_CONFIG_FILE="+os.DevNull,
			"TEMPORAL_ADDRESS="+s.address, "TEMPORAL_NAMESPACE="+s.namespace)
		out, err := cmd.CombinedOutput()
		said = string(out)
		return err == nil
	})
	return said
}

// setCurrent makes a version current, and returns when new runs start with it.
func (s *server) setCurrent(build string) {
	s.t.Helper()
	s.operate("temporal worker deployment set-current-version --deployment-name myao --build-id " + build + " --yes")
	s.startsWith(build)
}

// startsWith returns when new runs start with a version.
func (s *server) startsWith(build string) {
	s.t.Helper()
	s.await("runs of version "+build, func() bool {
		s.probes++
		c := chat.Conversation{Team: "T1", Channel: fmt.Sprint("P", s.probes)}
		if err := s.send(c, fast, deleted(1)); err != nil {
			s.t.Fatal(err)
		}
		s.closed(c)
		return version(s.history(c.ID(), "")) == build
	})
}

// version is the build that completed the last workflow task of a run.
func version(h *historypb.History) (build string) {
	for _, e := range h.Events {
		if a := e.GetWorkflowTaskCompletedEventAttributes(); a != nil {
			build = a.GetDeploymentVersion().GetBuildId()
		}
	}
	return build
}

// moves reports whether the server notifies pinned runs of a new version, as it does since 1.31.
func (s *server) moves() bool {
	s.t.Helper()
	info, err := s.client.WorkflowService().GetClusterInfo(s.t.Context(), &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(info.GetServerVersion(), "%d.%d.", &major, &minor); err != nil {
		s.t.Fatalf("version %q: %v", info.GetServerVersion(), err)
	}
	return major > 1 || minor >= 31
}

// dial makes s.client one that encrypts, as the programs of a version do.
func (s *server) dial(bind bool) *codec.Codec {
	s.t.Helper()
	c, err := codec.New(config.Encryption{ActiveKey: "key", BindPayloads: bind,
		Keys: map[string]config.Secret{"key": config.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32)))}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.client, err = client.NewLazyClient(client.Options{
		HostPort: s.address, Namespace: s.namespace, Identity: "test", ConnectionOptions: testserver.PatientCalls(),
		Logger: sdklog.NewStructuredLogger(slog.New(s.warnings)), DataConverter: c.DataConverter(), FailureConverter: c.FailureConverter(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.client.Close)
	return c
}

// decrypted returns histories as the codec server shows them.
func decrypted(t *testing.T, c *codec.Codec, histories []*historypb.History) []*historypb.History {
	t.Helper()
	for _, h := range histories {
		if err := proxy.VisitPayloads(t.Context(), h, proxy.VisitPayloadsOptions{
			SkipSearchAttributes: true,
			Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
				return c.Decode(p)
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	return histories
}

// Two versions of the workers run at the same time: a rollout and a rollback, by the commands of
// docs/deploying.md. Runs of a version stay with it until they continue as new or are moved, and
// nothing is lost. The second version binds payloads to their workflow, and the first one, which
// does not, reads them.
func TestVersionsOfTheWorkers(t *testing.T) {
	t.Parallel()
	s := newServerAt(t, testserver.Temporal(t))
	first := s.client
	t.Cleanup(func() { s.client = first })
	moves := s.moves()
	// by is the version that continues the runs of the first one.
	by := map[bool]string{false: "v1", true: "v2"}[moves]
	s.dial(false)
	t.Cleanup(s.startWorkers(versioned("v1")))
	s.setCurrent("v1")

	busy, brief := topLevel, chat.Conversation{Team: "T1", Channel: "C2"}
	slow := conversation.Policy{MinWait: 60, MaxWait: 600, IdleClose: 3600}
	for c, p := range map[chat.Conversation]conversation.Policy{busy: slow, brief: {MaxWait: 60, IdleClose: 2}} {
		if err := s.send(c, p, said(2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.awaitLine(brief.ID() + " post " + ts(2)); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	s.of = workspace{
		threads: [][]chat.Scope{threads("C1", "1")},
		fails:   func(string, int) error { <-release; return nil }, // each survey
	}
	memory := s.begin("memory", Memory, MemoryInput{MaxConcurrent: 4})
	s.await("the conversation to wait", func() bool { return version(s.history(busy.ID(), "")) == "v1" })
	s.await("the survey", func() bool { return version(s.history("memory", "")) == "v1" })

	// The rollout; it is taken back once before the version is current.
	crypt := s.dial(true)
	stop := s.startWorkers(versioned("v2"))
	var stopOnce sync.Once
	t.Cleanup(func() { stopOnce.Do(stop) })
	s.operate("temporal worker deployment set-ramping-version --deployment-name myao --build-id v2 --percentage 10 --yes")
	s.operate("temporal worker deployment set-ramping-version --deployment-name myao --build-id v2 --delete --yes")
	s.startsWith("v1")
	s.setCurrent("v2")
	close(release)
	returns(s, memory, MemoryOutput{Threads: 1, Workspace: true, Calls: 2})
	if got := version(s.history("memory", "")); got != by {
		t.Errorf("memory ended with version %s, want %s", got, by)
	}

	// The next message wakes the conversation; its pending messages are kept.
	if err := s.send(busy, slow, said(3)); err != nil {
		t.Fatal(err)
	}
	s.await("version "+by, func() bool {
		h := s.history(busy.ID(), "")
		return version(h) == by && len(s.state(busy).Pending) == 2
	})
	if err := s.send(busy, conversation.Policy{MaxWait: 60}, said(4)); err != nil {
		t.Fatal(err)
	}
	if err := s.awaitLine(busy.ID() + " post " + ts(4)); err != nil {
		t.Fatal(err)
	}
	s.closed(busy)
	if got := version(s.history(busy.ID(), "")); got != by {
		t.Errorf("the busy conversation ended with version %s, want %s", got, by)
	}

	// After a run closes, the next one has the new version.
	s.closed(brief)
	if err := s.send(brief, fast, said(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.awaitLine(brief.ID() + " post " + ts(3)); err != nil {
		t.Fatal(err)
	}
	s.closed(brief)
	if got := version(s.history(brief.ID(), "")); got != "v2" {
		t.Errorf("the new run has version %s", got)
	}

	// Back: what the second version began waits, is moved, and goes on without its workers.
	if err := s.send(busy, slow, said(5)); err != nil {
		t.Fatal(err)
	}
	s.await("the conversation to wait with v2", func() bool {
		return version(s.history(busy.ID(), "")) == "v2" && len(s.state(busy).Pending) == 1
	})
	s.setCurrent("v1") // its new runs read what the new starter writes
	if got := version(s.history(busy.ID(), "")); got != "v2" {
		t.Errorf("the conversation that waits has version %s", got)
	}
	s.operate(`temporal workflow update-options --query "TemporalWorkerDeploymentVersion = 'myao:v2' AND ExecutionStatus = 'Running'" ` +
		`--versioning-override-behavior pinned --versioning-override-deployment-name myao --versioning-override-build-id v1 --reason "back to v1" --yes`)
	s.await("the run to be pinned to v1", func() bool {
		d, err := s.client.DescribeWorkflowExecution(t.Context(), busy.ID(), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetVersioningInfo().GetVersioningOverride().GetPinned().GetVersion().GetBuildId() == "v1"
	})
	stopOnce.Do(stop)
	s.dial(false)
	if err := s.send(busy, conversation.Policy{MaxWait: 60}, said(6)); err != nil {
		t.Fatal(err)
	}
	if err := s.awaitLine(busy.ID() + " post " + ts(6)); err != nil {
		t.Fatal(err)
	}
	s.closed(busy)
	if got := version(s.history(busy.ID(), "")); got != "v1" {
		t.Errorf("after the rollback the conversation ended with version %s", got)
	}
	if said := s.operate(`temporal workflow count --query "TemporalWorkerDeploymentVersion = 'myao:v2' AND ExecutionStatus = 'Running'"`); !strings.HasSuffix(said, "Total: 0\n") {
		t.Errorf("runs that need v2: %s", said)
	}
	runs := map[bool]int{false: 5, true: 7}[moves] + s.probes
	replay(t, decrypted(t, crypt, s.histories(runs)))
	t.Logf("the server notifies of versions: %v; %d runs", moves, runs)
}

// changed is Conversation with a changed branch as docs/deploying.md has it: a run waits for a moment before it does
// anything. careless is the same without a version.
func changed(ctx workflow.Context, in conversation.Input) error {
	if workflow.GetVersion(ctx, "wait-first", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return Conversation(ctx, in)
	}
	return careless(ctx, in)
}

func careless(ctx workflow.Context, in conversation.Input) error {
	_ = workflow.Sleep(ctx, time.Millisecond) // a run that is cancelled goes on, and ends
	return Conversation(ctx, in)
}

func TestAChangedBranchReplays(t *testing.T) {
	t.Parallel()
	refused := 0
	for file, h := range recorded(t) {
		if h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() != conversation.WorkflowType {
			continue
		}
		if err := replayedBy(changed, h); err != nil {
			t.Errorf("%s with a version: %v", file, err)
		}
		if err := replayedBy(careless, h); err != nil { // nil where a run begins with a timer
			refused++
		}
	}
	if refused < 60 {
		t.Errorf("without a version only %d histories are refused", refused)
	}
}

// A version with a changed branch runs beside the one before. Each ends what it has begun, as far as the server does
// not hand it over, and every question is answered once.
func TestAChangedBranchBesideTheOneBefore(t *testing.T) {
	t.Parallel()
	address := ""
	if *onPostgres {
		address = testserver.StartTemporalOnPostgres(t, testserver.StartPostgres(t), 4, nil).Address
	} else {
		address = testserver.Temporal(t)
	}
	s := newServerAt(t, address)
	moves := s.moves()
	t.Cleanup(s.startWorkers(versioned("v1")))
	s.setCurrent("v1")
	slow := conversation.Policy{MinWait: 60, MaxWait: 600, IdleClose: 3600}
	before, after := topLevel, chat.Conversation{Team: "T1", Channel: "C2"}
	if err := s.send(before, slow, said(2)); err != nil {
		t.Fatal(err)
	}
	s.await("the conversation to wait", func() bool { return version(s.history(before.ID(), "")) == "v1" })

	s.flow = changed
	t.Cleanup(s.startWorkers(versioned("v2")))
	s.setCurrent("v2")
	for _, c := range []chat.Conversation{before, after} {
		if err := s.send(c, fast, said(3)); err != nil {
			t.Fatal(err)
		}
	}
	for c, build := range map[chat.Conversation]string{before: map[bool]string{false: "v1", true: "v2"}[moves], after: "v2"} {
		s.closed(c)
		h := s.history(c.ID(), "")
		if got := version(h); got != build {
			t.Errorf("%s ended with version %s, want %s", c.ID(), got, build)
		}
		if got := slices.Contains(summary(t, h), "Version: "); got != (build == "v2") {
			t.Errorf("%s went the new way: %v, of version %s: %q", c.ID(), got, build, summary(t, h))
		}
		posts := slices.DeleteFunc(s.lines(c), func(line string) bool { return !strings.HasPrefix(line, "post ") })
		if !slices.Equal(posts, []string{"post " + ts(3)}) {
			t.Errorf("%s: %q", c.ID(), posts)
		}
	}
	for _, h := range s.histories(2 + s.probes) {
		if err := replayedBy(changed, h); err != nil {
			t.Error(err)
		}
	}
}
