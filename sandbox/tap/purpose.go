package tap

import (
	"fmt"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// purpose guesses the purpose of a request, which no protocol states: from its form, and from
// the user turn at the end of each prompt for a memory.
func (t *Tap) purpose(c llmtest.Call) string {
	switch {
	case c.Judgment():
		return llm.PurposeJudgment
	case t.memoryPrompts[c.User]:
		return llm.PurposeMemory
	}
	return llm.PurposeResponse
}

// memoryPrompts returns the user turns of the prompts for memories, one a language.
func memoryPrompts() map[string]bool {
	turns := map[string]bool{}
	for _, language := range []string{"en", "ja"} {
		prompts, err := prompt.New(prompt.Config{Language: language})
		if err != nil {
			panic(fmt.Sprintf("tap: the embedded prompts: %v", err)) // every program renders them when it starts
		}
		_, user, err := prompts.Memory(prompt.ThreadSummary, chat.Context{}, prompt.Options{})
		if err != nil {
			panic(fmt.Sprintf("tap: the embedded prompts: %v", err))
		}
		turns[user] = true
	}
	return turns
}
