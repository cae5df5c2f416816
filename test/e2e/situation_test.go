package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdkpb "go.temporal.io/api/sdk/v1"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm/tap"
	"myao/internal/operate/operator"
	"myao/sandbox/inspector"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/world"
)

// running is a worker and a model that are up.
type running struct{}

func (running) State() inspector.WorkerState    { return inspector.Running }
func (running) Kill() error                     { return nil }
func (running) Start()                          {}
func (running) Down() bool                      { return false }
func (running) SetDown(bool)                    {}
func (running) Exchanges(string) []tap.Exchange { return nil }

// seen is what of a conversation each face shows. Times are in seconds; silent is the end of the silence that counts.
type seen struct {
	Phase                         conversation.Phase
	Due, Silent, Promised         int64
	Pending, Proposals, Promises  int
	Doing, Proposed, ProposedTool string
}

// shown is what starter show --json, or the inspector, has.
type shown struct {
	State           *conversation.State
	Silenced        time.Time `json:"silenced_until"`
	ChannelSilenced time.Time `json:"channel_silenced_until"`
	Proposals       []struct{ ID, Tool string }
	Promises        []struct{ Due time.Time }
}

func (j shown) seen() (is seen) {
	if j.State == nil || len(j.Proposals) == 0 || len(j.Promises) == 0 {
		return seen{}
	}
	return seen{
		Phase: j.State.Phase, Due: unix(j.State.DueAt), Silent: max(unix(j.Silenced), unix(j.ChannelSilenced)),
		Promised: unix(j.Promises[0].Due), Pending: j.State.Unanswered(), Proposals: len(j.Proposals),
		Promises: len(j.Promises), Doing: j.State.Doing(), Proposed: j.Proposals[0].ID, ProposedTool: j.Proposals[0].Tool,
	}
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// TestSixFacesAgree has one conversation with a message that waits, an open proposal, an open promise and a silence,
// and then a reply that is being composed. starter show, starter conversations, /myao status, the Home tab, the
// inspector and Temporal's details are asked, and say the same.
func TestSixFacesAgree(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	s := start(t, sqlite(t), quiet(300), maxWait(600), longAckTimeout, configured(`mcp: {servers: {desk: {url: "`+newTicketDesk(t).url+`", channels: [all]}}}`),
		modelAnswers(func(c llmtest.Call) llmtest.Reply {
			switch {
			case strings.Contains(c.System, "please hurry"):
				<-released
				return llmtest.Text("At last.")
			case len(c.Tools) == 0 || len(c.Turns) > 0:
				return llmtest.Text("Shall I open a ticket?")
			}
			return llmtest.Calls(llmtest.ToolCall("desk__create", `{"title":"the lift"}`), llmtest.ToolCall("look_again", `{"when":"in 3d","what":"the lift"}`))
		}))
	defer release() // before the worker and the server are stopped
	root := s.Workspace.Say(s.general, s.alice.ID, s.mention("the lift is broken"))
	s.await("the proposal and the promise", func() bool { return len(s.posts()) == 1 })

	s.told("snooze", "--for", "2h", s.general, root)
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.bob.ID, "who fixes it?", workspace.InThread(root)))
	s.facesAgree(root, seen{Phase: conversation.Waiting, Pending: 1}, "this thread is silent until <!date^%d^")

	s.told("unmute", s.general, root)
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.alice.ID, s.mention("please hurry"), workspace.InThread(root)))
	s.await("the reply to be composed", func() bool { // before it, a silence of the channel would end it
		replies := s.replies()
		return strings.Contains(replies[len(replies)-1].System, "please hurry")
	})
	s.told("snooze", "--for", "3h", s.general)
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.bob.ID, "and when?", workspace.InThread(root)))
	s.facesAgree(root, seen{Phase: conversation.Replying, Pending: 2}, "I am silent here until <!date^%d^")
}

// facesAgree waits until all faces show the same of a thread, in a phase with so many messages pending. In Slack
// they say by the text silence that the bot is silent there.
func (s *system) facesAgree(root string, want seen, silence string) {
	s.t.Helper()
	var truth shown
	var is seen
	s.await(fmt.Sprintf("starter show to have %+v", want), func() bool {
		s.commandJSON(&truth, "show", s.general, root)
		is = truth.seen()
		return is.Phase == want.Phase && is.Pending == want.Pending
	})
	if is.Proposals != 1 || is.Promises != 1 || is.Silent == 0 || is.Due != 0 != (is.Phase == conversation.Waiting) {
		s.t.Errorf("starter show --json has %+v", is)
	}
	agrees := func(face string, read func() (string, bool)) {
		s.t.Helper()
		last := ""
		if !world.Within(s.t, world.Patience, 100*time.Millisecond, func() (same bool) { last, same = read(); return same }) {
			s.t.Errorf("%s disagrees with %+v:\n%s", face, is, last)
		}
	}
	utc := func(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05 MST") }
	says := func(read func() string, wants ...string) func() (string, bool) {
		return func() (string, bool) {
			text := read()
			return text, !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(text, want) })
		}
	}

	// A terminal.
	wants := []string{string(is.Phase), "proposed", is.Proposed, "due " + utc(is.Promised) + ": the lift", is.Doing, "until " + utc(is.Silent)}
	if is.Due > 0 {
		wants = append(wants, "due "+utc(is.Due))
	}
	agrees("starter show", says(func() string { return s.told("show", s.general, root) }, wants...))
	agrees("starter conversations", func() (string, bool) {
		var all []operator.Listed
		s.commandJSON(&all, "conversations", "--channel", s.general)
		i := slices.IndexFunc(all, func(l operator.Listed) bool { return l.Conversation.Thread == root })
		same := i >= 0 && all[i].Pending != nil && is.Phase == all[i].Phase && is.Due == unix(all[i].DueAt) &&
			is.Pending == *all[i].Pending && is.Silent == unix(all[i].Silenced)
		return fmt.Sprintf("%+v", all), same
	})

	// Slack.
	wants = []string{"I propose `" + is.ProposedTool + "`", fmt.Sprintf("<!date^%d^", is.Promised), fmt.Sprintf(silence, is.Silent)}
	if is.Phase == conversation.Waiting {
		wants = append(wants, fmt.Sprintf("I wait for quiet and decide at <!date^%d^", is.Due))
	} else {
		wants = append(wants, "I am answering")
	}
	if is.Pending > 1 {
		wants = append(wants, fmt.Sprintf("(%d messages)", is.Pending))
	}
	agrees("/myao status", says(func() string { return s.typeCommand(s.general, s.bob.ID, "status") }, append(wants, "1 promise, ")...))
	agrees("the Home tab", says(func() string {
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(s.openHome(s.bob.ID, anything))
	}, append(wants, "the lift (<@"+s.alice.ID+">)")...))

	// The sandbox's page, and Temporal's.
	agrees("the inspector", func() (string, bool) {
		frame, text := s.inspected(root)
		frame.ChannelSilenced = time.Time{} // it has one end for all
		return text, frame.seen() == is
	})
	day := time.Unix(is.Promised, 0).UTC().Format("Mon 2 Jan 15:04 MST")
	wants = []string{"1 proposal for people to decide about", "1 promise, next " + day, is.Doing}
	if is.Phase == conversation.Waiting {
		wants = append(wants, "due "+time.Unix(is.Due, 0).UTC().Format("15:04:05 MST"), conversation.Count(is.Pending, "message")+" pending")
	} else if is.Pending > 1 {
		wants = append(wants, conversation.Count(is.Pending-1, "message")+" came meanwhile")
	}
	agrees("Temporal's details", says(func() string {
		var metadata sdkpb.WorkflowMetadata
		value, err := s.Client.QueryWorkflow(s.t.Context(), s.inThread(root).ID(), "", "__temporal_workflow_metadata")
		if err != nil || value.Get(&metadata) != nil {
			return fmt.Sprint(err)
		}
		return metadata.GetCurrentDetails()
	}, wants...))
}

func (s *system) inThread(root string) chat.Conversation {
	return chat.Conversation{Team: "T0E2E", Channel: s.general, Thread: root}
}

// inspected is the first event that the inspector sends of a thread, which has no state if no worker was fast enough.
func (s *system) inspected(root string) (frame shown, text string) {
	s.t.Helper()
	w := &inspector.Inspector{Team: "T0E2E", Config: config.Default(), Worker: running{}, Model: running{},
		Faults: func() []string { return nil }, Clock: time.Now}
	w.Open(&operator.Operator{Client: s.Client, Store: s.store, Attributes: func() bool { return true }})
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	defer server.CloseClientConnections()
	answer, err := http.Get(server.URL + "/sandbox/mind?channel=" + s.general + "&thread=" + root)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &frame); err != nil {
				s.t.Fatal(err)
			}
			return frame, data
		}
	}
	return frame, "no event"
}
