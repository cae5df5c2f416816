package cli

import (
	"context"

	"myao/internal/conversation"
)

type answerNowCommand struct{ orderCommand }

// Help implements kong's Help.
func (answerNowCommand) Help() string {
	return `A delayed reply is posted now. Messages that wait for a judgment are answered without one. The
order is refused if nothing is waiting.

  starter answer-now general
  starter answer-now '#general' 1700000000.000100`
}

func (c *answerNowCommand) run(ctx context.Context, p *program) error {
	return c.send(ctx, p, c.conversationArg, conversation.UpdateAnswerNow, 0)
}
