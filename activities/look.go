package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/runtime/failpoint"
	"myao/internal/store"
)

const (
	// A step whose infrastructure fails is tried again with pauses, until it has been tried
	// maxStepAttempts times, or minStepAttempts times within maxStepTime. Then the model is told.
	minStepAttempts, maxStepAttempts = 3, 6
	maxStepTime                      = time.Minute
)

// The texts for the model where a tool has none.
const (
	stepFailed  = "This could not be done: the tool does not work at the moment. Do without it."
	stepUnknown = "This was not done: it took too long. Do without it."
	stepLost    = "This was not done: the program that did it ended, or hung. It is not tried again. " +
		"Say that it could not be done, and do not guess what would have come of it."
	stepRefused  = "This was not done: too many calls for one answer. Write the answer with what you have."
	resultsOver  = "(left out: the results of one answer are limited)"
	resultHidden = "(left out: it may not be shown here any more)"
	cutResultFmt = "%s\n(cut here: %d more characters)"
)

// LookInput asks for one step of a reply.
type LookInput struct {
	Task
	Step      string `json:"step"` // its id
	Addressed bool   `json:"addressed,omitempty"`
}

// Look carries out one step and saves the result, unless it has one already. The step of a reply that
// nobody waits for any more is left alone. A failure that stays is a result as well: it is no failure
// of the reply.
func (a *Activities) Look(ctx context.Context, in LookInput) error {
	ctx, stop := heartbeat(ctx)
	defer stop()
	if err := a.look(ctx, in); err != nil {
		return ended(ctx, classify(fmt.Errorf("look: %w", err)))
	}
	return nil
}

func (a *Activities) look(ctx context.Context, in LookInput) error {
	st, err := a.Store.BeginStep(ctx, in.Step)
	if err != nil || st.Ended() || st.Given {
		return err
	}
	failpoint.Here("look: begun")
	tried := st.Attempts - 1
	if tried >= maxStepAttempts || tried >= minStepAttempts && a.Clock().Sub(st.Began()) > maxStepTime {
		a.Logger.WarnContext(ctx, "step given up", "conversation", in.Conversation.ID(), "step", st.ID, "attempts",
			tried)
		return a.Store.EndStep(ctx, st.ID, store.StepResult{Output: stepFailed, Failed: true})
	}
	if lost := progressOf(ctx).Lost; lost >= maxLostSteps || lost > 0 && tools.ReadsForeign(st.Tool) {
		a.Logger.WarnContext(ctx, "step given up: an attempt never ended: its worker died, or it hung",
			"conversation", in.Conversation.ID(), "step", st.ID, "tool", st.Tool, "lost", lost)
		return errors.Join(a.Store.SaveLost(ctx, in.Conversation),
			a.Store.EndStep(ctx, st.ID, store.StepResult{Output: stepLost, Failed: true}))
	}
	settings, err := a.Directory.Resolve(ctx, in.Conversation.Team, config.ChannelFacts{ID: in.Conversation.Channel,
		Name: st.ChannelName})
	if err != nil {
		return err
	}
	defer a.showStep(ctx, in, st.Step)()
	result := tools.Result{Text: stepFailed, Failed: true}
	if a.Tools != nil {
		place := a.placeOf(in.Task, in.Addressed, st.Asker, st.ChannelName, st.Readers, settings)
		if st.Tool == chat.ToolLookAgain {
			place.Decision, place.Zone = st.Decision, a.Agents.ZoneOf(ctx, in.Conversation.Team, st.Asker, "", settings)
		}
		result, err = a.Tools.Run(ctx, place, st.ID, st.Tool, json.RawMessage(st.Input))
	}
	if err != nil {
		a.Logger.WarnContext(ctx, "step failed", "conversation", in.Conversation.ID(), "step", st.ID, "attempt",
			st.Attempts, "error", err)
		return err
	}
	failpoint.Here("look: looked")
	var files []store.StepFile
	for _, f := range result.Files {
		files = append(files, store.StepFile{Name: store.Clean(f.Name), MIME: f.MIME, Data: f.Data})
	}
	text := clipped(store.Clean(result.Text), a.Limits.MaxResultChars)
	var quotes []store.Quote
	for _, shown := range append(tools.References(text), result.Shown...) {
		quotes = append(quotes, store.Quote(shown))
	}
	return a.Store.EndStep(ctx, st.ID, store.StepResult{Output: text, Failed: result.Failed, Files: files,
		Quotes: quotes})
}

// placeOf is where and for whom a task's reply is written. A reply that keeps a promise is not asked for now,
// so that it makes no other, and acts as little as one that was not asked for.
func (a *Activities) placeOf(t Task, addressed bool, asker, channelName string, readers store.Readers,
	settings config.ChannelSettings) tools.Place {
	if t.Occasion.Promise != "" {
		addressed = false
	}
	p := tools.Place{
		Conversation: t.Conversation, Trigger: t.Trigger, Addressed: addressed, Now: a.Clock(), Zone: settings.Zone,
		Allowed: settings.Tools, Remote: settings.MCPTools, Hooks: settings.Hooks,
		ChannelName: channelName, Shared: readers.Shared, Outsiders: readers.Outsiders,
	}
	if addressed {
		p.Asker = asker
	}
	if !t.hasOccasion() { // what came of a call is material
		p.PostTo = settings.PostTo
	}
	return p
}

// clipped is at most so many characters of a text, and says how many were cut.
func clipped(text string, most int) string {
	runes := []rune(text)
	if most <= 0 || len(runes) <= most {
		return text
	}
	head := tools.Whole(string(runes[:most]))
	return fmt.Sprintf(cutResultFmt, head, len(runes)-len([]rune(head)))
}

// resultOf returns the text that the model gets for a step.
func resultOf(st store.Step) (text string, failed bool) {
	if !st.Ended() {
		return stepUnknown, true
	}
	return st.Output, st.Failed
}
