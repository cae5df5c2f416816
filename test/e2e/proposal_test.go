package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/failpoint"
	"myao/internal/llm"
	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/slack"
	"myao/internal/store"
)

// ticketDesk is an MCP server with a tool that acts. It keeps the titles that it was called with.
type ticketDesk struct {
	url string

	mu     sync.Mutex
	titles []string
}

type ticket struct {
	Title string `json:"title"`
}

func newTicketDesk(t *testing.T) *ticketDesk {
	d := &ticketDesk{}
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "create", Description: "Opens a ticket."}, func(_ context.Context, _ *mcp.CallToolRequest, in ticket) (*mcp.CallToolResult, any, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.titles = append(d.titles, in.Title)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "opened ticket 7"}}}, nil, nil
	})
	listening := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(listening.Close)
	d.url = listening.URL
	return d
}

// calls counts the calls with a title.
func (d *ticketDesk) calls(title string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.titles {
		if t == title {
			n++
		}
	}
	return n
}

// actStep is a failpoint at which a program is killed while somebody decides about a proposal.
type actStep struct {
	point string
	// early kills before the click, and starter kills the starter in place of the worker.
	early, starter bool
	// state is what becomes of the proposal, after so many calls.
	state store.ProposalState
	calls int
}

// actSteps name the points between the post of a proposal and the post that tells what came of it.
var actSteps = []actStep{
	{point: "post: written down", early: true, state: store.ProposalDone, calls: 1},
	{point: "relay: claimed", starter: true, state: store.ProposalDone, calls: 1},
	{point: "act: begun", state: store.ProposalUnknown},
	{point: "act: done", state: store.ProposalUnknown, calls: 1},
	{point: "post: sent", state: store.ProposalDone, calls: 1},
}

// TestKilledAroundAnApprovedCall has a model propose a call of a real MCP server, and kills the programs
// from the post of the proposal to the telling of what came of it. The call is made at most once, and
// told once, although everybody clicks twice.
func TestKilledAroundAnApprovedCall(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		desk := newTicketDesk(t)
		s := start(t, url, quiet(300), maxWait(600), extraConfig(`mcp: {servers: {desk: {url: "`+desk.url+`", channels: [all]}}}`),
			modelAnswers(func(c llmtest.Call) llmtest.Reply {
				_, point, asks := strings.Cut(c.System, "ticket for: ")
				switch {
				case strings.Contains(c.System, "what came of it"):
					return llmtest.Text("That is what came of it.")
				case asks && len(c.Tools) > 0 && len(c.Turns) == 0:
					point, _, _ = strings.Cut(point, ";")
					input, err := json.Marshal(ticket{point})
					if err != nil {
						return llmtest.Fail(500)
					}
					return llmtest.Reply{Calls: []llm.Call{{Name: "desk__create", Input: input}}}
				}
				return llmtest.Text("Shall I open a ticket?")
			}))
		for _, step := range actSteps {
			s.actThrough(step, desk)
		}
	})
}

func (s *system) actThrough(step actStep, desk *ticketDesk) {
	s.t.Helper()
	killed := s.worker
	if step.starter {
		killed = s.starter
	}
	kill := func() {
		s.await("everything to be relayed", 30*time.Second, func() bool { // else the starter would reach its point before the click
			n, _, err := s.store.BacklogSize(s.t.Context())
			return err == nil && n == 0
		})
		killed.kill()
		killed.start(failpoint.Variable + "=" + step.point)
		if step.starter {
			s.ready()
		}
	}
	died := func() {
		killed.awaitDeath(step.point)
		killed.start()
		if step.starter {
			s.ready()
		}
	}
	channel := s.workspace.AddChannel(sandbox.Private, strings.NewReplacer(":", "", " ", "-").Replace(step.point), s.workspace.Bot().UserID, s.alice.ID)
	if step.early {
		kill()
	}
	asked := s.workspace.Say(channel, s.alice.ID, s.mention("a ticket for: "+step.point+"; please"))
	if step.early {
		died()
	}
	proposal := func() store.Proposal {
		s.t.Helper()
		found, err := s.store.Proposals(s.t.Context(), store.ProposalFilter{Team: "T0E2E", Channel: channel, All: true, Limit: 10})
		if err != nil || len(found) > 1 {
			s.t.Fatalf("%s: proposed %+v, %v", step.point, found, err)
		}
		if len(found) == 0 {
			return store.Proposal{}
		}
		return found[0]
	}
	s.await("the proposal of "+step.point, 60*time.Second, func() bool { return proposal().ShownTS != "" })
	p := proposal()
	if n := desk.calls(step.point); n != 0 {
		s.t.Errorf("%s: %d calls before anybody approved", step.point, n)
	}
	if !step.early {
		kill()
	}
	for range 2 {
		s.workspace.Press(channel, s.alice.ID, p.ShownTS, slack.ActionApprove, p.ID)
	}
	if !step.early {
		died()
	}
	told := func() (texts []string) {
		for _, m := range s.postsIn(channel) {
			if m.ThreadTS == asked && m.TS != p.ShownTS {
				texts = append(texts, m.Text)
			}
		}
		return texts
	}
	shown := func() string {
		for _, m := range s.workspace.Messages(channel) {
			if m.TS == p.ShownTS {
				return string(m.Blocks)
			}
		}
		return ""
	}
	s.await("the end of "+step.point, 90*time.Second, func() bool {
		return proposal().State == step.state && len(told()) > 0 && !strings.Contains(shown(), slack.ActionApprove)
	})
	rows := s.decisions(p.Conversation().ID())
	s.await("the ledger of "+step.point, 30*time.Second, func() bool {
		rows = s.decisions(p.Conversation().ID())
		return len(rows) == 2 && rows[1].Outcome == "posted"
	})
	if texts := told(); len(texts) != 1 || texts[0] != "That is what came of it." || desk.calls(step.point) != step.calls {
		s.t.Errorf("%s: told %q after %d calls, want one telling after %d", step.point, texts, desk.calls(step.point), step.calls)
	}
}
