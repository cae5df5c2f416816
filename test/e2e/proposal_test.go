package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/runtime/failpoint"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// ticketDesk is an MCP server with two tools that act. It keeps the titles that it was called with.
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
	take := func(_ context.Context, _ *mcp.CallToolRequest, in ticket) (*mcp.CallToolResult, any, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.titles = append(d.titles, in.Title)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ticket 7 is open"}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "create", Description: "Opens a ticket."}, take)
	mcp.AddTool(server, &mcp.Tool{Name: "reopen", Description: "Opens a ticket again.", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, take)
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
	// again is set if the tool says that its call may be repeated.
	again bool
	// posts is set if the call posts a message elsewhere.
	posts bool
	// state is what becomes of the proposal, after so many calls.
	state store.ProposalState
	calls int
}

// actSteps name the points between the post of a proposal and the post that tells what came of it, in
// reverse order of work.
var actSteps = []actStep{
	{point: "post: written down", early: true, state: store.ProposalDone, calls: 1},
	{point: "post: written down", state: store.ProposalDone, calls: 1},
	{point: "post: sent", state: store.ProposalDone, calls: 1},
	{point: "post: begun", state: store.ProposalDone, calls: 1},
	{point: "compose: written", state: store.ProposalDone, calls: 1},
	{point: "act: done", posts: true, state: store.ProposalDone, calls: 1},
	{point: "post: sent", posts: true, state: store.ProposalDone, calls: 1},
	{point: "act: post written", posts: true, state: store.ProposalDone, calls: 1},
	{point: "act: begun", posts: true, state: store.ProposalDone, calls: 1},
	{point: "compose: model answered", state: store.ProposalDone, calls: 1},
	{point: "act: done", state: store.ProposalUnknown, calls: 1},
	{point: "act: begun", state: store.ProposalUnknown},
	{point: "act: done", again: true, state: store.ProposalDone, calls: 2},
	{point: "act: begun", again: true, state: store.ProposalDone, calls: 1},
	{point: "relay: marked", starter: true, state: store.ProposalDone, calls: 1},
	{point: "relay: signalled", starter: true, state: store.ProposalDone, calls: 1},
	{point: "relay: claimed", starter: true, state: store.ProposalDone, calls: 1},
}

var ticketFor = regexp.MustCompile(`(create|reopen|say) (ticket-\d\d)`)

// TestKilledAroundAnApprovedCall has a model propose calls of a real MCP server, and kills the programs
// from the post of a proposal to the telling of what came of it. A call is made at most once, unless it
// may be repeated, and told once, although everybody clicks twice.
func TestKilledAroundAnApprovedCall(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database func(*testing.T) string) {
		for steps := range slices.Chunk(actSteps, 4) {
			t.Run(steps[0].point, func(t *testing.T) {
				t.Parallel()
				killAroundCalls(t, database(t), steps)
			})
		}
	})
}

func killAroundCalls(t *testing.T, url string, steps []actStep) {
	t.Helper()
	desk := newTicketDesk(t)
	s := start(t, url, quiet(300), maxWait(600), longAckTimeout, configured("tools: {post_to: [general]}"),
		configured(`mcp: {servers: {desk: {url: "`+desk.url+`", channels: [all]}}}`),
		modelAnswers(func(c llmtest.Call) llmtest.Reply {
			asked := ticketFor.FindStringSubmatch(c.System)
			switch {
			case strings.Contains(c.System, "what came of it"):
				return llmtest.Text("That is what came of it.")
			case asked != nil && asked[1] == "say" && len(c.Turns) == 0:
				return llmtest.Reply{Calls: []llm.Call{{Name: "post_message", Input: json.RawMessage(`{"to":"#general","text":"` + asked[2] + `"}`)}}}
			case asked != nil && len(c.Tools) > 0 && len(c.Turns) == 0:
				input, err := json.Marshal(ticket{asked[2]})
				if err != nil {
					return llmtest.Fail(500)
				}
				return llmtest.Reply{Calls: []llm.Call{{Name: "desk__" + asked[1], Input: input}}}
			}
			return llmtest.Text("Shall I open a ticket?")
		}))
	var all []*offer
	for i, step := range steps {
		o := &offer{actStep: step, title: fmt.Sprintf("ticket-%02d", i)}
		o.name = fmt.Sprintf("%s, %s", o.title, step.point)
		s.offer(o, desk)
		all = append(all, o)
		if step.early || step.again || step.posts || strings.HasPrefix(step.point, "post:") { // it passes the next steps' points, too
			s.awaitEnd(o)
		}
	}
	for _, o := range all {
		s.awaitEnd(o)
	}
	s.never("a doubled telling", 2*time.Second, func() bool {
		return slices.ContainsFunc(all, func(o *offer) bool { return len(s.postsIn(o.channel)) != 2 })
	})
	for _, o := range all {
		told, calls, want := s.postsIn(o.channel)[1], desk.calls(o.title), "That is what came of it."
		if o.posts {
			for _, p := range s.postsIn(s.general) {
				if strings.HasSuffix(p.Text, "\n\n"+o.title) {
					calls++
					want = "Posted in #general: "
				}
			}
		}
		if !strings.HasPrefix(told.Text, want) || told.ThreadTS != o.question || calls != o.calls {
			t.Errorf("%s: told %+v after %d calls, want %d", o.name, told, calls, o.calls)
		}
	}
}

// offer is a proposal in a channel of its own.
type offer struct {
	actStep
	store.Proposal
	name, title, channel, question string
}

// offer has a ticket proposed and approved, and kills a program at the step's point meanwhile.
func (s *system) offer(o *offer, desk *ticketDesk) {
	s.t.Helper()
	killed := s.worker
	if o.starter {
		killed = s.starter
	}
	kill := func() {
		s.await("everything to be relayed", func() bool { // else the starter would reach its point before the click
			n, _, err := s.store.BacklogSize(s.t.Context())
			return err == nil && n == 0
		})
		killed.Kill()
		killed.Start(failpoint.Variable + "=" + o.point)
		s.Ready()
	}
	died := func() {
		s.awaitDeath(killed, o.point)
		killed.Start()
		s.Ready()
	}
	o.channel = s.Workspace.AddChannel(workspace.Private, o.title, s.Workspace.Bot().UserID, s.alice.ID)
	if o.early {
		kill()
	}
	verb := map[bool]string{false: "create ", true: "reopen "}[o.again]
	if o.posts {
		verb = "say "
	}
	o.question = s.Workspace.Say(o.channel, s.alice.ID, s.mention(verb+o.title))
	if o.early {
		died()
	}
	s.await("the proposal of "+o.name, func() bool {
		found, err := s.store.Proposals(s.t.Context(), store.ChoiceFilter{Team: "T0E2E", Channel: o.channel, All: true, Limit: 10})
		if err != nil || len(found) > 1 {
			s.t.Fatalf("%s: proposed %+v, %v", o.name, found, err)
		}
		if len(found) == 1 {
			o.Proposal = found[0]
		}
		return o.ShownTS != "" && s.phase(o.Conversation().ID()) == conversation.Idle
	})
	if n := desk.calls(o.title); n != 0 {
		s.t.Errorf("%s: %d calls before anybody approved", o.name, n)
	}
	if !o.early {
		kill()
	}
	for range 2 {
		s.click(o.channel, s.alice.ID, o.ShownTS, slack.ActionApprove, o.ID)
	}
	if !o.early {
		died()
	}
}

// awaitEnd waits until the proposal has ended and shows it, and what came of it is told and in the ledger.
func (s *system) awaitEnd(o *offer) {
	s.t.Helper()
	s.await("the end of "+o.name, func() bool {
		p, err := s.store.Proposal(s.t.Context(), o.ID)
		rows := s.decisions(o.Conversation().ID())
		return err == nil && p.State == o.state && p.DecidedBy == "slack:"+s.alice.ID && len(rows) == 2 && rows[1].Outcome == conversation.OutcomePosted
	})
	s.await("the buttons of "+o.name, func() bool {
		for _, m := range s.Workspace.Messages(o.channel) {
			if m.TS == o.ShownTS {
				return !strings.Contains(string(m.Blocks), slack.ActionApprove) && strings.Contains(string(m.Blocks), "approved by")
			}
		}
		return false
	})
}
