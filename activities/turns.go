package activities

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"myao/internal/answer/agents"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/store"
)

// looked is what was looked up for a reply before its present round.
type looked struct {
	turns []llm.Turn
	by    string // the model that wrote them
	calls int
	// proposed are the proposals among the calls, unproposed those that were too many.
	proposed, unproposed int
	// chars are the characters of all results.
	chars int
	began time.Time // when the first round was written down
	read  time.Time // when the conversation was read for it
	cost  agents.Answer
	cited []tools.Reference // the messages that have numbers in the results
}

// lookedFor reads what was looked up for a reply. Results beyond max_total_chars are left out.
func (a *Activities) lookedFor(ctx context.Context, in ComposeInput) (looked, error) {
	if in.Round == 0 {
		return looked{}, nil
	}
	rows, err := a.Store.Turns(ctx, in.decisionKey())
	if err != nil {
		return looked{}, err
	}
	files, err := a.Store.StepFiles(ctx, in.decisionKey())
	if err != nil {
		return looked{}, err
	}
	var l looked
	for _, row := range rows {
		if row.Round >= in.Round { // of a run that was reset
			break
		}
		t := llm.Turn{Provider: row.Provider, Opaque: json.RawMessage(row.Opaque), Text: row.Text}
		for _, st := range row.Steps {
			text, failed := resultOf(st)
			switch {
			case st.State == store.StepProposed:
				l.proposed++
			case st.State == store.StepRefused && st.Output == stepTooMany:
				l.unproposed++
			}
			text = l.fit(text, a.Limits.MaxTotalChars)
			t.Calls = append(t.Calls, llm.Call{ID: st.CallID, Name: st.Tool, Input: json.RawMessage(st.Input)})
			result := llm.ToolResult{CallID: st.CallID, Name: st.Tool, Text: text, Failed: failed}
			for _, f := range files[st.ID] {
				result.Files = append(result.Files, llm.File{Name: f.Name, MIME: f.MIME, Data: f.Data})
			}
			t.Results = append(t.Results, result)
		}
		if l.turns == nil {
			l.began, l.read = row.Made(), row.Read()
		}
		l.turns, l.by, l.calls = append(l.turns, t), row.Model, l.calls+len(t.Calls)
		l.cost.Usage = l.cost.Usage.Add(llm.Usage{Input: row.TokensIn, Output: row.TokensOut})
	}
	if err := a.hideUnseen(ctx, in.Conversation, l.turns); err != nil {
		return looked{}, err
	}
	l.number()
	return l, nil
}

// hideUnseen empties the results with messages that were deleted since they were looked up, or are of
// channels that readers of the conversation may not know any more: it was shared, or a guest came.
func (a *Activities) hideUnseen(ctx context.Context, c chat.Conversation, turns []llm.Turn) error {
	in := map[string][]string{} // by channel
	for _, t := range turns {
		for _, r := range t.Results {
			for _, found := range tools.References(r.Text) {
				in[found.Channel] = append(in[found.Channel], found.TS)
			}
		}
	}
	if len(in) == 0 {
		return nil
	}
	seen, err := a.Store.Seen(ctx, c.Team, c.Channel, slices.Collect(maps.Keys(in)))
	if err != nil {
		return err
	}
	deleted := map[tools.Reference]bool{}
	for channel, ts := range in {
		messages, err := a.Store.MessagesByTS(ctx, c.Team, channel, ts)
		if err != nil {
			return err
		}
		for _, m := range messages {
			deleted[tools.Reference{Channel: channel, TS: m.TS}] = m.Deleted
		}
	}
	for _, t := range turns {
		for i, r := range t.Results {
			if slices.ContainsFunc(tools.References(r.Text),
				func(found tools.Reference) bool { return !seen[found.Channel] || deleted[found] }) {
				t.Results[i].Text, t.Results[i].Files = resultHidden, nil
			}
		}
	}
	return nil
}

// number gives the messages in all results their numbers.
func (l *looked) number() {
	var texts []string
	for _, t := range l.turns {
		for _, r := range t.Results {
			texts = append(texts, r.Text)
		}
	}
	texts, l.cited = tools.Number(texts)
	for _, t := range l.turns {
		for i := range t.Results {
			t.Results[i].Text, texts = texts[0], texts[1:]
		}
	}
}

// fit is what of a result still fits into the limit of all of them.
func (l *looked) fit(text string, most int) string {
	left := most - l.chars
	l.chars += utf8.RuneCountInString(text)
	switch {
	case most <= 0 || l.chars <= most:
		return text
	case left <= 0:
		return resultsOver
	}
	return clipped(text, left)
}

// last reports whether no more may be looked up.
func (l *looked) last(limits config.Tools, round int, now time.Time) bool {
	return round >= limits.MaxRounds || l.calls >= limits.MaxCalls || l.chars >= limits.MaxTotalChars ||
		!l.began.IsZero() && now.Sub(l.began) >= limits.Longest()
}

// keepTurn writes down what a model asks for, so that it is not paid for again, and returns what is to
// be looked up. Calls past max_calls are refused.
func (a *Activities) keepTurn(ctx context.Context, in ComposeInput, q agents.ReplyQuestion, answer agents.Answer,
	before looked, p proposer) ([]conversation.Step, error) {
	t := store.Turn{
		Decision: in.decisionKey(), Round: in.Round, Provider: answer.Turn.Provider, Model: q.Model,
		Text: store.Clean(answer.Turn.Text), Opaque: store.Clean(string(answer.Turn.Opaque)),
		TokensIn: answer.Usage.Input, TokensOut: answer.Usage.Output, ReadUS: p.began.UnixMicro(),
	}
	proposed := before.proposed
	if slices.ContainsFunc(answer.Turn.Calls, func(call llm.Call) bool { return p.offer(call.Name).Act }) {
		shown, err := a.Store.ProposalsShown(ctx, in.Conversation, in.Trigger, t.Decision)
		if err != nil {
			return nil, err
		}
		proposed += shown
	}
	for i, call := range answer.Turn.Calls {
		st := store.Step{CallID: store.Clean(call.ID), Tool: store.Clean(call.Name),
			Input: store.Clean(string(call.Input)), State: store.StepWaiting}
		if before.calls+i >= a.Limits.MaxCalls {
			st.State, st.Output, st.Failed = store.StepRefused, stepRefused, true
		} else if offer := p.offer(call.Name); offer.Act {
			a.propose(ctx, &st, offer, p, proposed)
			if st.State == store.StepProposed {
				proposed++
			}
		}
		t.Steps = append(t.Steps, st)
	}
	steps, err := a.Store.SaveTurn(ctx, in.Conversation, in.Trigger, t)
	return stepsOf(steps, p.offers...), err
}

// stepsOf are the steps that are to be looked up, as the workflow knows them: by the names of our own tools
// and of what was offered.
func stepsOf(rows []store.Step, offered ...tools.Offer) []conversation.Step {
	var steps []conversation.Step
	for _, st := range rows {
		if st.Ended() {
			continue
		}
		step := conversation.Step{ID: st.ID, Tool: st.Tool}
		if !slices.Contains(chat.ToolNames(), st.Tool) &&
			!slices.ContainsFunc(offered, func(o tools.Offer) bool { return o.Name == st.Tool }) {
			step.Tool = "unknown" // a model may write anything, and this goes into the history
		}
		steps = append(steps, step)
	}
	return steps
}
