package agents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"myao/internal/answer/prompt"
	"myao/internal/answer/recall"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/llm"
)

// Judgment is the question whether to speak.
type Judgment struct {
	// Features are what is plain to see in the conversation.
	Features conversation.Features
	// Shared is set if people of other companies read a reply.
	Shared bool

	agents   *Agents
	scope    chat.Scope
	read     recall.Recollection
	pending  []string
	maxDelay int
	tools    []string // that a reply here may use
	prompts  *prompt.Renderer
	// pictureAlone is set if the newest message is nothing but a picture, which files has where it is shown.
	pictureAlone bool
	files        []llm.File
}

// Judgment reads the context to judge by. pending are the ts of the messages that are judged.
// maxDelay is the longest delay, in seconds, that the model may choose.
func (ag *Agents) Judgment(ctx context.Context, c chat.Conversation, pending []string, maxDelay int) (Judgment, error) {
	return ag.judgment(ctx, c, pending, maxDelay, true)
}

func (ag *Agents) judgment(ctx context.Context, c chat.Conversation, pending []string, maxDelay int,
	showsFiles bool) (Judgment, error) {
	r, settings, err := ag.recall(ctx, c, false, "")
	if err != nil {
		return Judgment{}, err
	}
	scene := conversation.Scene{
		Now: ag.Clock(), Target: r.Target(), Threads: r.Conversation.Threads, Pending: pending,
		BotID: r.Bot, BotNames: r.Persona.AllNames(), Members: members(r.Conversation.All()),
	}
	j := Judgment{Features: scene.Features(), agents: ag, scope: chat.Scope(c), read: r, pending: pending,
		maxDelay: maxDelay, tools: settings.Tools, prompts: ag.In(settings.Language)}
	j.showPicture(ctx, settings, c, showsFiles)
	return j, nil
}

// members are the names of the people who wrote some messages.
func members(messages []chat.Message) []string {
	var all []string
	for _, m := range messages {
		if !m.ByBot() && m.Name != "" && !slices.Contains(all, m.Name) {
			all = append(all, m.Name)
		}
	}
	return all
}

// Question renders the question. fault says why the last answer could not be read; it is empty
// the first time.
func (j Judgment) Question(fault string) (Question, error) {
	first := judge{j.agents.ByUse.Judgment, j.prompts, llm.PurposeJudgment}
	return first.question(j.material(), j.files, fault)
}

// material is what the question is rendered from now.
func (j Judgment) material() Snapshot {
	o := j.agents.options(j.agents.ByUse.Judgment, j.read)
	o.MaxDelaySeconds, o.Tools = j.maxDelay, j.tools
	if j.Shared {
		o.Tools = tools.WhereShared(o.Tools)
	}
	if !j.agents.ReadsFiles() {
		o.Tools = tools.WithoutFiles(o.Tools)
	}
	if !j.read.Alone {
		o.Playbooks = j.agents.playbooks(o.Tools)
	}
	o.Reactions = j.agents.Reactions()
	o.Pending, o.Features = j.pending, &j.Features
	o.PictureAlone, o.PictureShown = j.pictureAlone, len(j.files) > 0
	if d := j.read.LastVerdict; d != nil {
		o.LastVerdict = &prompt.LastVerdict{At: d.Decided(), Spoke: d.ShouldRespond, Reason: d.Reason}
	}
	return Snapshot{Conversation: chat.Conversation(j.scope), Context: j.read.Context, Options: o}
}

// judge is a model that gives verdicts, with the templates that it is asked by.
type judge struct {
	agent   Agent
	prompts *prompt.Renderer
	purpose string
}

func (j judge) question(s Snapshot, files []llm.File, fault string) (Question, error) {
	o := s.Options
	o.Fault = fault
	return newLimitedQuestion(j.agent, chat.Scope(s.Conversation), func(a Agent, characters int) (llm.Request, error) {
		o.AgentPrompt, o.MaxCharacters, o.Marked = a.SystemPrompt, characters, true
		system, user, err := j.prompts.Judgment(s.Context, o)
		r := llm.Request{Purpose: j.purpose, Prompt: user, Schema: llm.VerdictSchema(o.MaxDelaySeconds,
			o.Reactions...), Files: files}
		return fitFiles(cacheable(r, system, chat.Scope(s.Conversation))), err
	})
}

// anyDelay is a limit that every delay keeps.
const anyDelay = math.MaxInt32

// Judge asks for a verdict, by askReadable. A model that insists on too long a delay gets the longest
// allowed one: that it wants to speak is clear. The answer has the usage and the latency of all calls.
func (ag *Agents) Judge(ctx context.Context, j Judgment, a Attempt) (v chat.Verdict, all Answer, err error) {
	return ag.verdict(ctx, j.Question, j.maxDelay, a)
}

func (ag *Agents) verdict(ctx context.Context, question func(fault string) (Question, error), maxDelay int,
	a Attempt) (v chat.Verdict, all Answer, err error) {
	longest := maxDelay
	all, err = ag.askReadable(ctx, "verdict", question, a, func(answer string) error {
		v, err = chat.ParseVerdict(answer, longest)
		longest = anyDelay
		if llm.WritesCall(v.Gist) {
			v.Gist = ""
		}
		return errors.Join(err, readable(v.Reason))
	})
	if err != nil {
		return chat.Verdict{}, all, err
	}
	if v.DelaySeconds != nil {
		*v.DelaySeconds = min(*v.DelaySeconds, maxDelay)
	}
	return v, all, nil
}

// readable returns an error for a reason that is no words.
func readable(reason string) error {
	if llm.WritesCall(reason) {
		return errors.New("reason is a call of a tool: one line of text")
	}
	return nil
}

// askReadable asks a question until read takes the answer, at most twice. The second time it tells the
// model the fault, and allows more tokens if the answer was cut. A second unreadable answer is a
// FinalError, which names what was asked for. The answer has the usage and the latency of all calls.
func (ag *Agents) askReadable(ctx context.Context, what string, question func(fault string) (Question, error),
	a Attempt, read func(answer string) error) (Answer, error) {
	began, all := ag.Clock(), Answer{}
	fault, cut := "", false
	for range 2 {
		q, err := question(fault)
		if err != nil {
			return all, err
		}
		if cut {
			q = q.withMoreTokens()
		}
		answer, err := ag.Ask(ctx, q, a)
		answer.Usage = all.Usage.Add(answer.Usage)
		all = Answer{Response: answer.Response, Latency: ag.Clock().Sub(began)}
		cut = errors.Is(err, llm.ErrCut)
		if err != nil && !cut {
			return all, err
		}
		if err = read(answer.Text); err == nil {
			return all, nil
		}
		if fault = err.Error(); cut {
			fault = "it was cut at max_output_tokens, before its end; one short line of reason is enough"
		}
	}
	return all, &FinalError{fmt.Errorf("the model's %s cannot be read: %s", what, fault)}
}
