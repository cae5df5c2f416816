package agents

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/llm"
)

// ShadowJudge is a judge beside the first one, whose verdicts are only written down.
type ShadowJudge struct {
	Name    string
	Agent   Agent
	Prompts *prompt.Renderer
	// MinConfidence is how sure it must be for its yes to count, 0 to 1.
	MinConfidence float64
}

// Snapshot is everything that the question of a judgment is rendered from. Another judge may render its
// own question from it later. It holds texts of people.
type Snapshot struct {
	Conversation chat.Conversation
	Context      chat.Context
	Options      prompt.Options
}

// Snapshot is what the judgment was asked about at a time. It is false for one that shows files, which a
// snapshot has no room for.
func (j Judgment) Snapshot(at time.Time) (s Snapshot, ok bool) {
	s = j.material()
	s.Options.Now = at
	return s, len(j.files) == 0
}

// Messages are all messages that it holds.
func (s Snapshot) Messages() []chat.Message { return s.Context.Conversation.All() }

// Encode is the snapshot as JSON, compressed by gzip.
func (s Snapshot) Encode() ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(s); err != nil {
		return nil, fmt.Errorf("encode the snapshot of a judgment: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress the snapshot of a judgment: %w", err)
	}
	return b.Bytes(), nil
}

// maxSnapshot bounds a snapshot, in bytes of JSON. Those of the largest contexts are a few megabytes.
const maxSnapshot = 64 << 20

// DecodeSnapshot is the inverse of Encode.
func DecodeSnapshot(data []byte) (s Snapshot, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, maxSnapshot)).Decode(&s)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the snapshot of a judgment: %w", err)
	}
	return s, nil
}

// Opinion asks another judge what Judge would ask. The calls are saved, but count for no decision.
func (ag *Agents) Opinion(ctx context.Context, by ShadowJudge, s Snapshot) (chat.Verdict, Answer, error) {
	j := judge{by.Agent, by.Prompts, llm.PurposeShadow}
	return ag.verdict(ctx, func(fault string) (Question, error) { return j.question(s, nil, fault) },
		s.Options.MaxDelaySeconds, Attempt{})
}
