package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/answer/document"
	"myao/internal/answer/document/pdf"
	"myao/internal/answer/document/webpage"
	"myao/internal/answer/mcp"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/operate/timeline"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// promptCommand prints the prompt that a model would be sent about a conversation now.
type promptCommand struct {
	For     string `required:"" enum:"response,judgment,memory" placeholder:"PURPOSE" help:"What the model is for: response, judgment or memory."`
	Channel string `placeholder:"CHANNEL" help:"The channel or direct message: its id, or its name with or without #. Without it, --for memory means the workspace."`
	Thread  string `placeholder:"TS" help:"The ts of the thread's parent message. Without it, the channel's top level, or for memory the channel with its threads."`
	Ask     bool   `help:"Also ask the model and print its answer. This costs tokens."`
	teamFlag
	output
}

// Help implements kong's Help.
func (promptCommand) Help() string {
	return `Examples:
  starter prompt --for judgment --channel '#general'
  starter prompt --for response --channel general --thread 1700000000.000100 --ask
  starter prompt --for memory                            for the workspace`
}

// Validate implements kong's Validate.
func (c *promptCommand) Validate() error {
	switch {
	case c.Thread != "" && !chat.ValidTS(c.Thread):
		return fmt.Errorf("--thread %q: want the ts of a message, such as 1700000000.000100", c.Thread)
	case c.Thread != "" && c.Channel == "":
		return errors.New("--thread needs --channel")
	case c.Channel == "" && (c.For == "response" || c.For == "judgment"):
		return fmt.Errorf("--for %s needs --channel", c.For)
	}
	return nil
}

func (c *promptCommand) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	team := ""
	if p.Config.Slack.Installable() {
		if team, err = p.choose(ctx, db, c.Channel); err != nil {
			return err
		}
	}
	of, err := p.workspace(ctx, team)
	if err != nil {
		return err
	}
	p.Config = of.Config
	models, closeModels, err := agents.Open(ctx, p.Config, p.Logger)
	if err != nil {
		return err
	}
	defer closeModels()
	directory := &channels.Directory{Store: db, Slack: of.Slack, Config: p.Config, Clock: time.Now, Logger: p.Logger}
	ag := models.For(of, db, directory, p.Logger)
	files := document.New(of.Slack, pdf.NewReader(), ag.Prompts.Material, p.Logger)
	ag.Files, ag.Recall.Transcripts = files, files
	remote := mcp.New(mcp.Options{Servers: p.Config.MCP.Servers, Store: db, Material: ag.Prompts.Material,
		Clock: time.Now, Logger: p.Logger, Remembered: true})
	defer remote.Close()
	questions, err := c.questions(ctx, p.Config, db, ag,
		ag.Tools(of.Slack, directory,
			webpage.New(webpage.Options{Memory: files.Memory, Denied: p.Config.Tools.Denied()}),
			files, remote, p.Config.Secrets()), of.Own)
	if err != nil {
		return err
	}
	var asked []promptReport
	for _, q := range questions {
		a, err := c.ask(ctx, ag, q)
		if err != nil {
			return err
		}
		asked = append(asked, a)
	}
	return c.print(p.stdout, asked, func(w io.Writer) error {
		for _, a := range asked {
			if err := a.text(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// titledQuestion is a question with its purpose.
type titledQuestion struct {
	title string
	agents.Question
	reply *agents.Reply // for a response
}

func (c *promptCommand) questions(ctx context.Context, of config.Config, db *store.Store, ag *agents.Agents,
	offers *tools.Registry, own slack.Identity) ([]titledQuestion, error) {
	where := chat.Conversation{Team: own.TeamID}
	if c.Channel != "" {
		var err error
		scope, err := scopeIn(ctx, db, own.TeamID, c.Channel, c.Thread)
		if err != nil {
			return nil, err
		}
		where = chat.Conversation(scope)
	}
	settings, err := storedSettings(ctx, of, db, where)
	if err != nil {
		return nil, err
	}
	known, err := db.Channels(ctx, where.Team, []string{where.Channel})
	if err != nil {
		return nil, err
	}
	readers, err := db.ReadersOf(ctx, where.Team, where.Channel)
	if err != nil {
		return nil, err
	}
	switch c.For {
	case "response":
		said, addressed, err := trigger(ctx, db, where, own, settings.Mode)
		if err != nil {
			return nil, err
		}
		reply := agents.Reply{Conversation: where, Trigger: said.TS, Addressed: addressed, ShowsFiles: true,
			Reactions: ag.Reactions()}
		reply.Tools, err = offers.Offered(ctx, tools.Place{
			Conversation: where, Trigger: said.TS, Addressed: addressed, ChannelName: known[where.Channel].Name,
			Shared: readers.Shared, Outsiders: readers.Outsiders, Allowed: settings.Tools, Remote: settings.MCPTools,
			PostTo: settings.PostTo, Hooks: settings.Hooks,
			Now: time.Now(), Zone: ag.ZoneOf(ctx, where.Team, said.UserID, "", settings),
		})
		if err != nil {
			return nil, err
		}
		q, err := ag.ReplyTo(ctx, reply)
		return []titledQuestion{{"response to " + said.TS, q.Question, &reply}}, err
	case "judgment":
		pending, err := unanswered(ctx, db, where)
		if err != nil {
			return nil, err
		}
		judgment, err := ag.Judgment(ctx, where, pending, int(settings.MaxDelay/time.Second))
		if err != nil {
			return nil, err
		}
		judgment.Shared = readers.Shared
		q, err := judgment.Question("")
		return []titledQuestion{{"judgment", q, nil}}, err
	}
	scope := chat.Scope(where)
	if settings.Remember == config.RememberNowhere && !scope.Workspace() {
		return nil, fmt.Errorf("%s is not remembered: its setting remember is nowhere", scope)
	}
	memories, err := ag.MemoryQuestions(ctx, scope, time.Now())
	if err != nil {
		return nil, err
	}
	if len(memories) == 0 {
		return nil, fmt.Errorf("there is nothing new to remember of %s", scope)
	}
	var questions []titledQuestion
	for _, q := range memories {
		questions = append(questions, titledQuestion{string(q.Term) + "-term memory of " + scope.String(), q.Question,
			nil})
	}
	return questions, nil
}

// unanswered is the ts of what people have written since the bot's newest message: what would wait
// for a judgment if all of it came now.
func unanswered(ctx context.Context, db *store.Store, where chat.Conversation) (pending []string, err error) {
	tail, err := db.Tail(ctx, where, 20)
	for _, m := range tail {
		switch {
		case m.Own:
			pending = nil
		case !m.ByBot() && m.TS != where.Thread:
			pending = append(pending, m.TS)
		}
	}
	return pending, err
}

// trigger finds the message that a reply would answer: the newest that is not the bot's own.
func trigger(ctx context.Context, db *store.Store, where chat.Conversation, own slack.Identity,
	mode conversation.Mode) (said chat.Message, addressed bool, err error) {
	tail, err := db.Tail(ctx, where, 20)
	if err != nil {
		return chat.Message{}, false, err
	}
	for _, m := range tail {
		if !m.Own {
			said = m
			addressed = conversation.Addresses(m, chat.Mentions(m.Text, own.UserID), mode)
		}
	}
	if said.TS == "" {
		return chat.Message{}, false, fmt.Errorf("there is nothing to answer in %s: the database has no message by a "+
			"user", where.ID())
	}
	return said, addressed, nil
}

// promptReport is one prompt, with the model's answer if it was asked.
type promptReport struct {
	For    string        `json:"for"`
	Model  string        `json:"model"`
	System string        `json:"system"`
	Said   []saidReport  `json:"said,omitempty"` // as chat turns before the prompt
	Prompt string        `json:"prompt"`
	Files  []string      `json:"files,omitempty"` // that are shown with it
	Tools  []toolReport  `json:"tools,omitempty"` // that the model is offered
	Answer *answerReport `json:"answer,omitempty"`
}

type saidReport struct {
	Role string `json:"role"` // assistant or user
	Text string `json:"text"`
}

type toolReport struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // of its input
}

type answerReport struct {
	Model     string `json:"model"`
	TokensIn  int    `json:"tokens_in"`
	TokensOut int    `json:"tokens_out"`
	Text      string `json:"text"`
	// Calls are the tools that it would use before it writes the reply. They are not carried out.
	Calls []callReport `json:"calls,omitempty"`
}

type callReport struct {
	Tool  string `json:"tool"`
	Input string `json:"input"` // as the model wrote it
}

func (c *promptCommand) ask(ctx context.Context, ag *agents.Agents, q titledQuestion) (promptReport, error) {
	if !c.Ask {
		return promptOf(q), nil
	}
	var got agents.Answer
	var err error
	if q.reply != nil {
		var asked agents.ReplyQuestion
		asked, got, err = ag.AskReply(ctx, *q.reply, agents.Attempt{})
		q.Question = asked.Question // without tools, if the model takes none
	} else {
		got, err = ag.Ask(ctx, q.Question, agents.Attempt{})
	}
	if cut, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrCut) {
		got.Text, err = cut.Text+" …", nil
	}
	a := promptOf(q)
	a.Answer = &answerReport{Model: got.Model, TokensIn: got.Usage.Input, TokensOut: got.Usage.Output,
		Text: strings.TrimSpace(got.Text)}
	if got.Turn != nil {
		a.Answer.Text = strings.TrimSpace(got.Turn.Text)
		for _, call := range got.Turn.Calls {
			a.Answer.Calls = append(a.Answer.Calls, callReport{call.Name, string(call.Input)})
		}
	}
	return a, err
}

func promptOf(q titledQuestion) promptReport {
	a := promptReport{For: q.title, Model: q.Model, System: q.System, Prompt: q.Prompt}
	for _, s := range q.Said {
		role := "user"
		if s.Own {
			role = "assistant"
		}
		a.Said = append(a.Said, saidReport{role, s.Text})
	}
	for _, f := range q.Files {
		a.Files = append(a.Files, f.String())
	}
	for _, t := range q.Tools {
		a.Tools = append(a.Tools, toolReport{t.Name, t.Description, t.Schema})
	}
	return a
}

// text writes it for a terminal, to which the answer can do nothing; what people said
// lost all that is not to be seen when the prompt was made.
func (a promptReport) text(w io.Writer) error {
	said := ""
	for _, s := range a.Said {
		said += "===== " + s.Role + "\n" + s.Text + "\n"
	}
	_, err := fmt.Fprintf(w, "===== %s, %s: system\n%s\n%s===== user\n%s\n", a.For, a.Model, a.System, said, a.Prompt)
	if err != nil {
		return err
	}
	for _, f := range a.Files {
		if _, err = fmt.Fprintln(w, timeline.Plain(f)); err != nil {
			return err
		}
	}
	if len(a.Tools) > 0 {
		offered := "===== tools\n"
		for _, t := range a.Tools {
			offered += t.Name + ": " + t.Description + "\n"
		}
		if _, err = io.WriteString(w, offered); err != nil {
			return err
		}
	}
	if a.Answer == nil {
		return nil
	}
	if _, err = fmt.Fprintf(w, "===== answer of %s, %d tokens in, %d out\n", timeline.Plain(a.Answer.Model),
		a.Answer.TokensIn, a.Answer.TokensOut); err != nil {
		return err
	}
	for _, call := range a.Answer.Calls {
		if _, err = fmt.Fprintf(w, "asks for %s %s\n", timeline.Plain(call.Tool),
			timeline.Plain(call.Input)); err != nil {
			return err
		}
	}
	if len(a.Answer.Calls) > 0 && a.Answer.Text == "" {
		return nil
	}
	return printPlain(w, a.Answer.Text)
}
