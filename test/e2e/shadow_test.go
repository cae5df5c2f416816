package e2e

import (
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"myao/internal/runtime/failpoint"
	"myao/internal/store"
	"myao/test/llmtest"
	"myao/test/testserver"
)

const (
	// shadowPoint is where a worker is killed between a judge's answer and its opinion.
	shadowPoint = "shadow: answered"
	rivalModel  = "test-rival"
)

// Another judge says what it would have decided. Nothing is posted, the history of the conversation is that of a
// bot without it, an opinion is written once though the worker is killed, and nobody is asked about what was deleted.
func TestShadow(t *testing.T) {
	t.Parallel()
	model := func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Model == rivalModel:
			return llmtest.Yes("the rival would help", 0.9, 30)
		case c.Judgment():
			return llmtest.No("they talk among themselves")
		}
		return llmtest.Text("It is in the wiki.")
	}
	alone := start(t, sqlite(t), quiet(1), modelAnswers(model))
	s := start(t, sqlite(t), quiet(1), modelAnswers(model), configured("shadow: {sample: 1, judges: [{name: rival, provider: gemini, model: "+rivalModel+"}]}"))
	id := "channel/T0E2E/" + s.general
	judged := func(s *system, text string, decisions int) (ts string) {
		t.Helper()
		ts = s.Workspace.Say(s.general, s.alice.ID, text)
		s.await("the judgment of "+text, func() bool { return len(s.decisions("channel/T0E2E/"+s.general)) == decisions })
		return ts
	}
	snapshots := func() int {
		t.Helper()
		n, err := s.store.CountSnapshots(t.Context(), "T0E2E")
		testserver.Must(t, err)
		return n
	}
	opinions := func(n int) []store.Opinion {
		t.Helper()
		all, err := s.store.OpinionsOf(t.Context(), []string{s.decisions(id)[n].Key})
		testserver.Must(t, err)
		return all
	}
	for _, s := range []*system{alone, s} {
		judged(s, "where is the plan?", 1)
	}
	s.await("the snapshot", func() bool { return snapshots() == 1 })
	s.await("both histories to be the same", func() bool {
		return slices.Equal(s.asked(id), alone.asked("channel/T0E2E/"+alone.general))
	})

	s.worker.Kill()
	s.worker.Start(failpoint.Variable + "=" + shadowPoint)
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "test-shadow", TaskQueue: "myao"}, "Shadow")
	testserver.Must(t, err)
	s.awaitDeath(s.worker, shadowPoint)
	if n := len(opinions(0)); n > 0 {
		t.Errorf("%d opinions before they were written", n)
	}
	s.worker.Start()
	var handled int
	if err := run.Get(t.Context(), &handled); err != nil || handled != 1 {
		t.Errorf("it has handled %d judgments, %v", handled, err)
	}
	if all := opinions(0); len(all) != 1 || !all[0].ShouldRespond || all[0].Reason != "the rival would help" || len(s.calls(rivalModel)) != 2 || snapshots() > 0 {
		t.Errorf("in the end: %+v, %d calls, %d snapshots", all, len(s.calls(rivalModel)), snapshots())
	}
	for command, want := range map[string]string{
		"show": "rival decided to answer in 30s, confidence 0.90: the rival would help", "why": "in shadow rival decided to answer in 30s, confidence 0.90: the rival would help",
	} {
		if stdout, stderr, status := s.Command(command, "general"); status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: status %d, %s%s; want %q", command, status, stdout, stderr, want)
		}
	}
	var compared struct {
		CallsToday int `json:"calls_today"`
		Judges     []struct {
			Judge      string
			Opinions   int
			OnlySecond int `json:"only_second"`
		}
	}
	s.commandJSON(&compared, "shadow", "--channel", "general")
	if len(compared.Judges) != 1 || compared.Judges[0].Judge != "rival" || compared.Judges[0].OnlySecond != 1 || compared.CallsToday != 2 {
		t.Errorf("compared: %+v", compared)
	}
	var usage struct {
		Rows []struct {
			Purpose string
			Calls   int
		}
	}
	s.commandJSON(&usage, "usage", "--by", "purpose")
	if rows := usage.Rows; len(rows) != 2 || rows[1].Purpose != "shadow" || rows[1].Calls != 2 {
		t.Errorf("usage: %+v", usage)
	}

	deleted := judged(s, "forget-this?", 2)
	s.await("the snapshot", func() bool { return snapshots() == 1 })
	s.Workspace.Delete(s.general, deleted)
	s.await("the deletion", func() bool {
		m, err := s.store.Message(t.Context(), "T0E2E", s.general, deleted)
		return err == nil && m.Deleted
	})
	s.runWorkflow("Shadow", nil, &handled)
	if all := opinions(1); len(all) > 0 || len(s.calls(rivalModel)) != 2 || snapshots() > 0 || handled > 0 {
		t.Errorf("about what was deleted: %+v, %d calls, %d snapshots, handled %d", all, len(s.calls(rivalModel)), snapshots(), handled)
	}
	if posts := s.posts(); len(posts) > 0 {
		t.Errorf("posted %+v", posts)
	}
}

// asked are the types of the events by which a conversation's run has asked for something, in order. On a busy machine
// a workflow task may be given to a worker twice, so the others differ.
func (s *system) asked(id string) (all []enumspb.EventType) {
	s.t.Helper()
	for _, e := range s.history(id) {
		switch kind := e.GetEventType(); kind {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_MARKER_RECORDED,
			enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			all = append(all, kind)
		}
	}
	return all
}
