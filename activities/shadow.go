package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"myao/internal/answer/agents"
	"myao/internal/llm"
	"myao/internal/runtime/failpoint"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

const (
	// shadowTimeout bounds the questions to one judge about one judgment, as long as a model may take.
	shadowTimeout = 2 * time.Minute
	// shadowLease is how long a snapshot is held for a run that has ended in mid-work.
	shadowLease = 10 * time.Minute
	// shadowPause is how long a snapshot is put off if a judge cannot be asked.
	shadowPause = 10 * time.Minute
	// shadowAttempts is how often a judge that does not answer is asked about one judgment.
	shadowAttempts = 3
)

// ShadowInput asks for the opinions about the next snapshot.
type ShadowInput struct {
	Of
	// Without are the names of judges that are not asked, because they did not answer before.
	Without []string `json:"without,omitempty"`
}

// ShadowOutput says how it went.
type ShadowOutput struct {
	// Done is set if there is nothing to do for now: no snapshot, no judge, or the daily limit is reached.
	Done bool `json:"done,omitempty"`
	// Silent are the names of judges that did not answer.
	Silent []string `json:"silent,omitempty"`
}

// keepSnapshot keeps what a judgment read for other judges, if it is sampled. A failure is only logged: the
// judgment does not depend on it.
func (a *Activities) keepSnapshot(ctx context.Context, t Task, asked *agents.Asked) {
	if len(a.Agents.Shadow) == 0 || !agents.Sampled(t.decisionKey(), a.Shadow.Sample) {
		return
	}
	s, ok := asked.Judgment.Snapshot(asked.Read)
	if !ok {
		return
	}
	ctx, cancel := timeout.After(ctx, writeTimeout)
	defer cancel()
	data, err := s.Encode()
	if err == nil {
		row := store.Snapshot{Decision: t.decisionKey(), Team: t.Conversation.Team, Channel: t.Conversation.Channel,
			Messages: s.Messages(), Read: asked.Read, Data: data}
		for _, n := range s.Context.Notes {
			row.Notes = append(row.Notes, n.TS)
		}
		err = a.Store.SaveSnapshot(ctx, row)
	}
	if err != nil {
		a.Logger.WarnContext(ctx, "nothing kept for the judges of shadow", "conversation", t.Conversation.ID(),
			"trigger", t.Trigger, "error", err)
	}
}

// AskShadow asks the judges of shadow about one judgment, and writes down what they say. It may be killed at any
// time: the next attempt asks those that have not said anything yet.
func (a *Activities) AskShadow(ctx context.Context, in ShadowInput) (ShadowOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.askShadow(ctx, in)
	if err != nil {
		return ShadowOutput{}, classify(fmt.Errorf("ask the judges of shadow: %w", err))
	}
	return out, nil
}

func (a *Activities) askShadow(ctx context.Context, in ShadowInput) (out ShadowOutput, err error) {
	asked := func(j agents.ShadowJudge) bool { return !slices.Contains(in.Without, j.Name) }
	if !slices.ContainsFunc(a.Agents.Shadow, asked) {
		return ShadowOutput{Done: true}, nil
	}
	if used, err := a.shadowUsedUp(ctx); err != nil || used {
		return ShadowOutput{Done: true}, err
	}
	snapshot, err := a.Store.LeaseSnapshot(ctx, runOf(ctx), shadowLease)
	if err != nil || snapshot == nil {
		return ShadowOutput{Done: true}, err
	}
	s, err := agents.DecodeSnapshot(snapshot.Data)
	if err != nil { // of another version
		a.Logger.WarnContext(ctx, "a snapshot cannot be read", "decision", snapshot.Decision, "error", err)
		return ShadowOutput{}, a.Store.DropSnapshot(ctx, snapshot.Decision)
	}
	given, err := a.Store.OpinionsOf(ctx, []string{snapshot.Decision})
	if err != nil {
		return ShadowOutput{}, err
	}
	left := false
	for _, j := range a.Agents.Shadow {
		if slices.ContainsFunc(given, func(o store.Opinion) bool { return o.Judge == j.Name }) {
			continue
		}
		if !asked(j) {
			left = true
			continue
		}
		if used, err := a.shadowUsedUp(ctx); err != nil || used {
			return ShadowOutput{Done: true}, errors.Join(err, a.Store.PutOffSnapshot(ctx, snapshot.Decision, 0))
		}
		answered, err := a.opinion(ctx, j, *snapshot, s)
		if err != nil {
			return ShadowOutput{}, err
		}
		if !answered {
			left, out.Silent = true, append(out.Silent, j.Name)
		}
	}
	if left {
		return out, a.Store.PutOffSnapshot(ctx, snapshot.Decision, shadowPause)
	}
	return out, a.Store.DropSnapshot(ctx, snapshot.Decision)
}

// opinion asks one judge and saves what it says. answered is false if it may answer later.
func (a *Activities) opinion(ctx context.Context, j agents.ShadowJudge, snapshot store.Snapshot,
	s agents.Snapshot) (answered bool, err error) {
	asking, cancel := timeout.After(ctx, shadowTimeout)
	defer cancel()
	v, answer, failure := a.Agents.Opinion(asking, j, s)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	o := store.Opinion{
		TeamID: snapshot.Team, ChannelID: snapshot.Channel, Decision: snapshot.Decision, Judge: j.Name,
		MinConfidence: j.MinConfidence, Prompt: j.Prompts.JudgmentFingerprint(),
		Model: answer.Model, TokensIn: answer.Usage.Input, TokensOut: answer.Usage.Output,
		LatencyUS: answer.Latency.Microseconds(),
	}
	refused, fromModel := errors.AsType[*llm.Error](failure)
	switch {
	case failure == nil:
		o.Confidence, o.Reason, o.DelaySeconds, o.Wanted = &v.Confidence, v.Reason, v.DelaySeconds, v.ShouldRespond
		o.ShouldRespond = v.ShouldRespond && v.Confidence >= j.MinConfidence
	case fromModel && refused.Retryable() && snapshot.Attempts < shadowAttempts:
		a.Logger.WarnContext(ctx, "a judge of shadow does not answer", "judge", j.Name, "conversation",
			s.Conversation.ID(), "error_kind", llm.KindOf(failure))
		return false, nil
	case fromModel:
		o.Error = llm.KindOf(failure)
	case errors.As(failure, new(*agents.FinalError)):
		o.Error = "unreadable"
	default:
		return false, failure
	}
	failpoint.Here("shadow: answered")
	there, err := a.Store.SaveOpinion(ctx, o)
	if err != nil {
		return false, err
	}
	a.Logger.InfoContext(ctx, "judged in shadow", "judge", j.Name, "conversation", s.Conversation.ID(),
		"should_respond", o.ShouldRespond, "confidence", v.Confidence,
		"error_kind", o.Error, "forgotten", !there)
	return true, nil
}

// shadowUsedUp reports whether the judges of shadow have made as many calls today as they may.
func (a *Activities) shadowUsedUp(ctx context.Context) (bool, error) {
	if a.Shadow.DailyCalls == 0 {
		return false, nil
	}
	spent, err := a.Store.SpentOnShadow(ctx, a.StartOfDay(a.Clock()))
	return spent.Calls >= a.Shadow.DailyCalls, err
}

// runOf is the run of the workflow that an activity is of. Its attempts follow each other.
func runOf(ctx context.Context) string {
	if !activity.IsActivity(ctx) {
		return "none"
	}
	return activity.GetInfo(ctx).WorkflowExecution.RunID
}
