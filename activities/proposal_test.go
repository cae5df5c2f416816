package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/tools"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// deskTools offers create, which acts, besides search_messages.
type deskTools struct {
	*fakeTools
	made []string
	err  error
}

func (d *deskTools) Offered(ctx context.Context, p tools.Place) ([]tools.Offer, error) {
	offers, err := d.fakeTools.Offered(ctx, p)
	return append(offers, tools.Offer{Act: true, Server: "desk", Tool: llm.Tool{Name: "desk__create", Description: "opens a ticket", Schema: json.RawMessage(`{"type":"object"}`)}}), err
}

func (d *deskTools) Run(ctx context.Context, p tools.Place, step, name string, input json.RawMessage) (tools.Result, error) {
	if name != "desk__create" {
		return d.fakeTools.Run(ctx, p, step, name, input)
	}
	if p.Approved != step {
		return tools.Result{Text: "not approved", Failed: true}, nil
	}
	d.made = append(d.made, string(input))
	return tools.Result{Text: "ticket 7"}, d.err
}

func create(title string) llm.Call {
	return llm.Call{Name: "desk__create", Input: json.RawMessage(fmt.Sprintf(`{"title":%q}`, title))}
}

// propose answers a mention by a reply with a proposal, posts it, and returns the proposal.
func (b *bundle) propose(in ComposeInput) store.Proposal {
	b.Helper()
	if _, out := b.play(in); out.Result != conversation.Done {
		b.Fatalf("composed %+v", out)
	}
	out, err := runOnce[ReplyOutput](b.Post, PostInput{Task: in.Task, Addressed: true})
	if err != nil || len(out.Opened) != 1 || !out.Opened[0].LapsesAt.After(time.Now().Add(23*time.Hour)) {
		b.Fatalf("posted %+v, %v", out, err)
	}
	p, err := b.Store.Proposal(b.Context(), out.Opened[0].ID)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func TestProposesAndActs(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		mixed := search("dwarfs")
		mixed.Calls = append(mixed.Calls, create("Seven <!channel> dwarfs"))
		b := setup(t, url, withModel(llmtest.Script(mixed, llmtest.Text("Shall I open a ticket?"), llmtest.Text("It is ticket 7."))))
		desk := &deskTools{fakeTools: b.withTools()}
		b.Tools, b.Feedback = desk, config.FeedbackAddressed
		in := ComposeInput{Task: inThread(b.say(b.Mention("open a ticket"))), Addressed: true}
		p := b.propose(in)
		if calls := b.Model.Calls(); len(calls) != 2 || calls[1].Turns[0].Results[1].Text != stepProposed || calls[1].Turns[0].Results[0].Text != `found {"query":"dwarfs"}` ||
			!strings.Contains(calls[0].System, "is only proposed when you call it") {
			t.Errorf("the model was asked %+v", calls)
		}
		posts := b.Workspace.Posts()
		shown := posts[len(posts)-1].Message
		if blocks := string(shown.Blocks); p.ShownTS != shown.TS || !strings.Contains(blocks, `"myao_approve"`) || !strings.Contains(blocks, `"value":"`+p.ID+`"`) || !strings.Contains(blocks, `"myao_feedback"`) ||
			!strings.Contains(blocks, `desk › create\n• title: Seven \u003c!channel\u003e dwarfs`) {
			t.Errorf("shown %s", blocks)
		}
		of := ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: p.ID}
		if out, err := runOnce[ActOutput](b.Act, of); err != nil || out.Tell || len(desk.made) != 0 {
			t.Fatalf("acted before anybody approved: %+v, %v, %v", out, err, desk.made)
		}
		if _, first, _, err := b.Store.DecideProposal(t.Context(), p.ID, conversation.Approved, "slack:"+b.Alice.ID); err != nil || !first {
			t.Fatal(first, err)
		}
		for range 2 { // the second attempt finds it done
			if out, err := runOnce[ActOutput](b.Act, of); err != nil || !out.Tell || out.Asker != b.Alice.ID {
				t.Errorf("acted: %+v, %v", out, err)
			}
		}
		if len(desk.made) != 1 || desk.made[0] != `{"title":"Seven \u003c!channel\u003e dwarfs"}` {
			t.Errorf("made %v", desk.made)
		}
		if _, err := runOnce[any](b.ShowProposal, of); err != nil {
			t.Fatal(err)
		}
		if after := b.Held(in.Conversation.Channel, p.ShownTS); strings.Contains(string(after.Blocks), "myao_approve") || !strings.Contains(string(after.Blocks), "approved by \\u003c@"+b.Alice.ID) ||
			!strings.Contains(string(after.Blocks), `"myao_feedback"`) || !strings.Contains(string(after.Blocks), "Shall I open a ticket?") {
			t.Errorf("after it: %s", after.Blocks)
		}

		tell := in
		tell.Occasion, tell.Task.Epoch = conversation.Occasion{Step: p.ID}, 2
		tell.Task.Decision += "2"
		if _, out := b.play(tell); out.Result != conversation.Done {
			t.Fatalf("told %+v", out)
		}
		for range 2 { // and told once
			if out, err := runOnce[ReplyOutput](b.Post, PostInput{Task: tell.Task, Addressed: true}); err != nil || out.Result != conversation.Done || len(out.Opened) != 0 {
				t.Errorf("posted %+v, %v", out, err)
			}
		}
		if n := len(b.Workspace.Posts()) - len(posts); n != 1 {
			t.Errorf("told %d times", n)
		}
		last := b.Model.Calls()[2]
		if !strings.Contains(last.System, "## What you proposed, and what came of it") || !strings.Contains(last.System, "ticket 7") {
			t.Errorf("the model was asked\n%s", last.System)
		}
	})
}

// Somebody may click before the post's end is written down: what came of it is shown all the same.
func TestClickBeforeThePostIsWrittenDown(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Calls: []llm.Call{create("Seven")}}, llmtest.Text("Shall I?"))))
	b.Tools = &deskTools{fakeTools: b.withTools()}
	in := ComposeInput{Task: inThread(b.say(b.Mention("open a ticket"))), Addressed: true}
	b.play(in)
	proposed, err := b.Store.ProposalsOf(t.Context(), in.decisionKey())
	if err != nil || len(proposed) != 1 {
		t.Fatal(proposed, err)
	}
	of := ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: proposed[0].ID}
	show := func() {
		t.Helper()
		if _, err := runOnce[any](b.ShowProposal, of); err != nil {
			t.Fatal(err)
		}
	}
	b.Slack = &hookedSlack{Client: b.Slack.(*slack.Client), after: func() {
		if _, first, _, err := b.Store.DecideProposal(t.Context(), of.Proposal, conversation.Declined, "slack:"+b.Alice.ID); err != nil || !first {
			t.Error(first, err)
		}
		show() // nobody knows where yet
	}}
	out, err := runOnce[ReplyOutput](b.Post, PostInput{Task: in.Task, Addressed: true})
	if err != nil || len(out.Opened) != 1 {
		t.Fatalf("posted %+v, %v: the conversation must learn of the proposal to have it shown", out, err)
	}
	show()
	posts := b.Workspace.Posts()
	if after := string(b.Held(in.Conversation.Channel, posts[len(posts)-1].TS).Blocks); strings.Contains(after, "myao_") || !strings.Contains(after, "declined by") {
		t.Errorf("after it: %s", after)
	}
}

// A call that was certainly not made has failed, and nothing that fails before it makes its end unknown.
func TestServerAwayAtTheClick(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Calls: []llm.Call{create("Seven")}}, llmtest.Text("Shall I?"))))
	desk := &deskTools{fakeTools: b.withTools(), err: fmt.Errorf("dial: %w", tools.ErrNotCalled)}
	b.Tools = desk
	in := ComposeInput{Task: inThread(b.say(b.Mention("open a ticket"))), Addressed: true}
	p := b.propose(in)
	if _, _, _, err := b.Store.DecideProposal(t.Context(), p.ID, conversation.Approved, "slack:"+b.Alice.ID); err != nil {
		t.Fatal(err)
	}
	of := ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: p.ID}
	resolve := b.Directory
	b.Directory = noDirectory{resolve}
	if out, err := runOnce[ActOutput](b.Act, of); err == nil {
		t.Fatalf("acted without settings: %+v", out)
	}
	b.Directory = resolve
	out, err := runOnce[ActOutput](b.Act, of)
	if p, err2 := b.Store.Proposal(t.Context(), p.ID); err != nil || err2 != nil || !out.Tell || p.State != store.ProposalFailed || p.Output != callNotMade {
		t.Errorf("%+v, %v; the proposal is %+v, %v", out, err, p, err2)
	}
}

// Slack may refuse a reply. The note in its place says nothing of proposals, so it shows none; what came of a
// call is told in the program's words.
func TestRefusedRepliesOfProposals(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Calls: []llm.Call{create("Seven")}}, llmtest.Text("Shall I?"), llmtest.Reply{Calls: []llm.Call{create("Eight")}}, llmtest.Text("Shall I?"), llmtest.Text("It is ticket 7."))))
	b.Tools = &deskTools{fakeTools: b.withTools()}
	refuse := func() {
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Times: 1, Error: "msg_too_long"})
	}
	newest := func() workspace.Message { return b.Workspace.Posts()[len(b.Workspace.Posts())-1].Message }

	refused := ComposeInput{Task: inThread(b.say(b.Mention("open a ticket"))), Addressed: true}
	b.play(refused)
	refuse()
	if out, err := runOnce[ReplyOutput](b.Post, PostInput{Task: refused.Task, Addressed: true}); err != nil || len(out.Opened) != 0 || strings.Contains(string(newest().Blocks), "myao_") {
		t.Errorf("posted %+v, %v\n%s", out, err, newest().Blocks)
	}

	in := ComposeInput{Task: inThread(b.say(b.Mention("open another ticket"))), Addressed: true}
	p := b.propose(in)
	if _, _, _, err := b.Store.DecideProposal(t.Context(), p.ID, conversation.Approved, "slack:"+b.Alice.ID); err != nil {
		t.Fatal(err)
	}
	if out, err := runOnce[ActOutput](b.Act, ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: p.ID}); err != nil || !out.Tell {
		t.Fatal(out, err)
	}
	in.Occasion, in.Task.Decision = conversation.Occasion{Step: p.ID}, in.Task.Decision+"2"
	b.play(in)
	refuse()
	if out, err := runOnce[ReplyOutput](b.Post, PostInput{Task: in.Task, Addressed: true}); err != nil || out.Result != conversation.Done || newest().Text != "Done." {
		t.Errorf("told %+v, %v: %s", out, err, newest().Text)
	}
}

// Where Slack takes no answer, the proposal stands in a direct message, and shows there what has become of it.
func TestProposalInADirectMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Calls: []llm.Call{create("Seven")}}, llmtest.Text("Shall I?"))))
	b.Tools = &deskTools{fakeTools: b.withTools()}
	in := ComposeInput{Task: inThread(b.say(b.Mention("open a ticket"))), Addressed: true}
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Error: "restricted_action_read_only_channel", Match: func(c workspace.Call) bool {
		return c.Args.Get("channel") == in.Conversation.Channel
	}})
	p := b.propose(in)
	post := b.Workspace.Posts()[0]
	if post.Channel == in.Conversation.Channel || p.ShownTS != post.TS || !strings.Contains(string(post.Blocks), `"myao_approve"`) {
		t.Errorf("posted %+v", post)
	}
	if here, err := b.Store.StandsIn(t.Context(), p.Decision, post.Channel); err != nil || !here {
		t.Errorf("it stands there: %v, %v", here, err)
	}
	if _, _, _, err := b.Store.DecideProposal(t.Context(), p.ID, conversation.Declined, "slack:"+b.Alice.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := runOnce[any](b.ShowProposal, ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: p.ID}); err != nil {
		t.Fatal(err)
	}
	if after := b.Held(post.Channel, p.ShownTS); strings.Contains(string(after.Blocks), "myao_approve") || !strings.Contains(string(after.Blocks), "declined") {
		t.Errorf("after it: %s", after.Blocks)
	}
}

// What nobody could decide about is not proposed, and what came of a call is told without a model, too.
func TestProposalsThatAreNone(t *testing.T) {
	t.Parallel()
	many := llmtest.Reply{Calls: []llm.Call{create(strings.Repeat("x", 2000))}}
	many.Calls = append(many.Calls, create("my password"))
	for i := range 6 {
		many.Calls = append(many.Calls, create(fmt.Sprint(i)))
	}
	b := setup(t, withModel(llmtest.Script(many, llmtest.Text("Shall I?"))))
	desk := &deskTools{fakeTools: b.withTools(), err: errors.New("connection lost")}
	b.Tools = desk
	in := ComposeInput{Task: inThread(b.say(b.Mention("open tickets"))), Addressed: true}
	if _, out := b.play(in); out.Result != conversation.Done {
		t.Fatalf("composed %+v", out)
	}
	results := b.Model.Calls()[1].Turns[0].Results
	if results[0].Text != stepTooLong || results[1].Text != "refused" || results[3].Text != stepProposed || results[4].Text != stepTooMany {
		t.Errorf("the model is told %+v", results)
	}
	if parts := b.outbox(in.Task); len(parts) != 1 || !strings.Contains(parts[0].Text, "There was more to propose (4).") {
		t.Errorf("people are told %+v", parts)
	}
	out, err := runOnce[ReplyOutput](b.Post, PostInput{Task: in.Task, Addressed: true})
	if err != nil || len(out.Opened) != maxProposals {
		t.Fatalf("posted %+v, %v", out, err)
	}
	of := ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: out.Opened[0].ID}
	if _, _, _, err := b.Store.DecideProposal(t.Context(), of.Proposal, conversation.Approved, "slack:"+b.Alice.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := runOnce[ActOutput](b.Act, of); err != nil || !out.Tell {
			t.Errorf("acted: %+v, %v", out, err)
		}
	}
	if p, err := b.Store.Proposal(t.Context(), of.Proposal); err != nil || p.State != store.ProposalUnknown || len(desk.made) != 1 {
		t.Errorf("%+v, %v after %d calls", p, err, len(desk.made))
	}
	more := in
	more.Occasion = conversation.Occasion{Step: of.Proposal}
	more.Task.Decision += "3"
	b.Model.Handle(llmtest.Script(llmtest.Reply{Calls: []llm.Call{create("7")}}, llmtest.Text("And another one?")))
	calls := len(b.Model.Calls())
	b.play(more)
	if results := b.Model.Calls()[calls+1].Turns[0].Results; results[0].Text != stepTooMany {
		t.Errorf("a further reply to the same message is told %+v", results)
	}
	b.Model.Handle(llmtest.Script())
	tell := in
	tell.Occasion, tell.Notice = conversation.Occasion{Step: of.Proposal}, true
	tell.Task.Decision += "2"
	if out, err := runOnce[ReplyOutput](b.Compose, tell); err != nil || out.Result != conversation.Done {
		t.Fatalf("composed %+v, %v", out, err)
	}
	if parts := b.outbox(tell.Task); len(parts) != 1 || !strings.HasPrefix(parts[0].Text, "I was interrupted") {
		t.Errorf("told %+v", parts)
	}
}

// noDirectory knows the settings of no channel.
type noDirectory struct{ Directory }

func (noDirectory) Resolve(context.Context, string, config.ChannelFacts) (config.ChannelSettings, error) {
	return config.ChannelSettings{}, errors.New("the settings are away")
}

// overtakenSlack is a Slack to which an update is under way while something else happens.
type overtakenSlack struct {
	*slack.Client
	meanwhile func()
}

func (s *overtakenSlack) Update(ctx context.Context, u slack.Update) (bool, error) {
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return s.Client.Update(ctx, u)
}

// An update that arrives after a newer one does not leave the message as it was before that one.
func TestAnOvertakenUpdateShowsTheRow(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(llmtest.Reply{Calls: []llm.Call{create("x")}}, llmtest.Text("Shall I?"))))
	b.Tools = &deskTools{fakeTools: b.withTools()}
	in := ComposeInput{Task: inThread(b.say(b.Mention("open a ticket"))), Addressed: true}
	p := b.propose(in)
	of := ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: p.ID}
	b.Slack = &overtakenSlack{b.Slack.(*slack.Client), func() {
		if _, _, _, err := b.Store.DecideProposal(t.Context(), p.ID, conversation.Declined, "slack:"+b.Alice.ID); err != nil {
			t.Error(err)
		}
	}}
	if _, err := runOnce[any](b.ShowProposal, of); err != nil {
		t.Fatal(err)
	}
	if blocks := string(b.Held(in.Conversation.Channel, p.ShownTS).Blocks); !strings.Contains(blocks, "declined by") || strings.Contains(blocks, "myao_") {
		t.Errorf("shown %s", blocks)
	}
}
