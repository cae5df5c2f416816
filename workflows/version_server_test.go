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

// versioned are the options of workers that have a version.
func versioned(build string) worker.Options {
	return worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: "myao", BuildID: build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}}
}

// current makes a version the one that new runs begin with, and returns when they do.
func (s *server) current(build string) {
	s.t.Helper()
	s.await("version "+build+" to be current", func() bool {
		_, err := s.client.WorkerDeploymentClient().GetHandle("myao").SetCurrentVersion(s.t.Context(),
			client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil // the server has to hear of its workers first
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

// version is the build whose workers took the last step of a run.
func version(h *historypb.History) (build string) {
	for _, e := range h.Events {
		if a := e.GetWorkflowTaskCompletedEventAttributes(); a != nil {
			build = a.GetDeploymentVersion().GetBuildId()
		}
	}
	return build
}

// moves reports whether the server tells pinned runs of a new version, which it does
// from 1.31 on.
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

// Two versions of the workers run side by side. What has begun with the first one
// stays with it until it hands over, and nothing is lost on the way.
func TestVersionsOfTheWorkers(t *testing.T) {
	t.Parallel()
	s := newServerAt(t, testserver.Temporal(t))
	moves := s.moves()
	// by is the version that goes on with what the first one had begun.
	by := map[bool]string{false: "1", true: "2"}[moves]
	t.Cleanup(s.work(versioned("1")))
	s.current("1")

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

	t.Cleanup(s.work(versioned("2")))
	s.current("2")
	close(release)
	returns(s, memory, MemoryOutput{Threads: 1, Workspace: true, Calls: 2})
	if got := version(s.history("memory", "")); got != by {
		t.Errorf("memory ended with version %s, want %s", got, by)
	}

	// The next message wakes the conversation: what was pending is so still.
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

	// Whatever closes begins anew with the new version.
	s.closed(brief)
	if err := s.send(brief, fast, said(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.awaitLine(brief.ID() + " post " + ts(3)); err != nil {
		t.Fatal(err)
	}
	s.closed(brief)
	if got := version(s.history(brief.ID(), "")); got != "2" {
		t.Errorf("a conversation that begins anew has version %s", got)
	}
	runs := map[bool]int{false: 4, true: 6}[moves] + s.probes
	replay(t, s.histories(runs))
	t.Logf("the server tells of versions: %v; %d runs", moves, runs)
}
