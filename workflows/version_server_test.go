package workflows

import (
	"fmt"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/testserver"
)

// versioned returns the options of workers with a version.
func versioned(build string) worker.Options {
	return worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: "myao", BuildID: build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}}
}

// setCurrent makes a version current, and returns when new runs start with it.
func (s *server) setCurrent(build string) {
	s.t.Helper()
	s.await("version "+build+" to be current", func() bool {
		_, err := s.client.WorkerDeploymentClient().GetHandle("myao").SetCurrentVersion(s.t.Context(),
			client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil // the server must know its workers first
	})
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

// Two versions of the workers run at the same time. Runs of the first version stay with it until
// they continue as new, and nothing is lost.
func TestVersionsOfTheWorkers(t *testing.T) {
	t.Parallel()
	s := newServerAt(t, testserver.Temporal(t))
	moves := s.moves()
	// by is the version that continues the runs of the first one.
	by := map[bool]string{false: "1", true: "2"}[moves]
	t.Cleanup(s.startWorkers(versioned("1")))
	s.setCurrent("1")

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
	memory := s.begin("memory", Memory, MemoryInput{})
	s.await("the conversation to wait", func() bool { return version(s.history(busy.ID(), "")) == "1" })
	s.await("the survey", func() bool { return version(s.history("memory", "")) == "1" })

	t.Cleanup(s.startWorkers(versioned("2")))
	s.setCurrent("2")
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
	if got := version(s.history(brief.ID(), "")); got != "2" {
		t.Errorf("the new run has version %s", got)
	}
	runs := map[bool]int{false: 4, true: 6}[moves] + s.probes
	replay(t, s.histories(runs))
	t.Logf("the server notifies of versions: %v; %d runs", moves, runs)
}
