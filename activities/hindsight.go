package activities

import (
	"context"
	"fmt"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation/label"
	"myao/internal/store"
)

// hindsightChunk is how many decisions are labelled in one transaction.
const hindsightChunk = 200

// LabelDecisionsOutput counts what a run of LabelDecisions did.
type LabelDecisionsOutput struct {
	Decisions int `json:"decisions"` // that it looked at
	Labels    int `json:"labels"`
}

// LabelDecisions labels the judgments that are older than a day by what followed them. An attempt goes on where
// the one before has ended.
func (a *Activities) LabelDecisions(ctx context.Context, _ Of) (LabelDecisionsOutput, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	out, err := a.label(ctx)
	if err != nil {
		return LabelDecisionsOutput{}, classify(fmt.Errorf("label: %w", err))
	}
	return out, nil
}

func (a *Activities) label(ctx context.Context) (out LabelDecisionsOutput, err error) {
	before := a.Clock().Add(-label.Window - time.Minute) // the database's clock may be another one
	for {
		decisions, err := a.Store.Unlabelled(ctx, before, hindsightChunk)
		if err != nil {
			return out, err
		}
		if len(decisions) == 0 { // the next run shall not read again what has none
			return out, a.Store.SaveHindsight(ctx, store.Decision{DecidedUS: before.UnixMicro()}, nil)
		}
		var labels []store.Label
		for _, d := range decisions {
			found, err := a.labelsOf(ctx, d)
			if err != nil {
				return out, err
			}
			labels = append(labels, found...)
		}
		if err := a.Store.SaveHindsight(ctx, decisions[len(decisions)-1], labels); err != nil {
			return out, err
		}
		out.Decisions, out.Labels = out.Decisions+len(decisions), out.Labels+len(labels)
	}
}

func (a *Activities) labelsOf(ctx context.Context, d store.Decision) ([]store.Label, error) {
	c, err := chat.ParseConversation(d.WorkflowID)
	if err != nil {
		return nil, err
	}
	bot := a.Own.UserID
	if a.Bot != nil && c.Team != a.Own.TeamID {
		if bot, err = a.Bot(ctx, c.Team); err != nil {
			return nil, err
		}
	}
	of, events, err := a.Store.Followed(ctx, d, bot)
	if err != nil {
		return nil, err
	}
	var rows []store.Label
	for _, l := range label.Of(of, events) {
		rows = append(rows, store.Label{
			TeamID: c.Team, ChannelID: c.Channel, Decision: d.Key, Kind: l.Kind, Truth: l.Truth, Weight: l.Weight,
			TS: l.TS, AtUS: l.At.UnixMicro(),
		})
	}
	return rows, nil
}
