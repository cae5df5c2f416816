package activities

import (
	"context"
	"fmt"
	"strings"
)

// IntroduceInput names the message by which the bot introduces itself in a channel.
type IntroduceInput struct {
	// Reply is its key in the outbox.
	Reply string `json:"reply"`
}

// Workspace implements Input. The key begins with the team.
func (in IntroduceInput) Workspace() string {
	team, _, _ := strings.Cut(in.Reply, "/")
	return team
}

// Introduce posts the message by which the bot introduces itself, once, like the parts of a reply (Post).
// Where the channel is muted by now, or Slack refuses the message, it posts nothing.
func (a *Activities) Introduce(ctx context.Context, in IntroduceInput) error {
	ctx, stop := heartbeat(ctx)
	defer stop()
	parts, err := a.Store.Parts(ctx, in.Reply)
	if err != nil {
		return classify(err)
	}
	for _, p := range parts {
		result, _, err := a.postPart(ctx, p, false)
		switch {
		case refusedBySlack(err):
			a.Logger.WarnContext(ctx, "introduction refused", "channel", p.Channel, "error", err)
			return nil
		case err != nil:
			return classify(fmt.Errorf("introduce: %w", err))
		}
		a.Logger.InfoContext(ctx, "introduction ended", "channel", p.Channel, "result", string(result))
	}
	return nil
}
