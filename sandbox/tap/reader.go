package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// reader parses answers as the bot does, with the provider's adapters. An adapter gets
// the recorded answer in place of a new one.
type reader struct {
	models map[string]func() (llm.Model, error)
}

func newReader() reader {
	// No request goes there.
	const nowhere = "http://tap.invalid"
	r := reader{map[string]func() (llm.Model, error){}}
	for _, p := range providers.All() {
		r.models[string(p.Name)] = sync.OnceValues(func() (llm.Model, error) {
			return p.Open(context.Background(), config.Access{BaseURL: nowhere}, replay{})
		})
	}
	return r
}

// anyTool stands for all tools of a request: an adapter reads the calls of any.
var anyTool = []llm.Tool{{Name: "any", Schema: json.RawMessage(`{"type":"object"}`)}}

// read returns the text and the calls of an answer to a request, and its fault, or "".
func (m reader) read(ctx context.Context, asked llmtest.Call, res *http.Response, body []byte) (text, fault string) {
	model, err := m.models[asked.Provider]()
	if err != nil {
		return "", fmt.Sprintf("cannot read the answer: %v", err)
	}
	// The answer is complete, even if the bot no longer waits for it.
	ctx = context.WithValue(context.WithoutCancel(ctx), answerKey{}, &http.Response{
		StatusCode: res.StatusCode, Status: res.Status, Proto: res.Proto, ProtoMajor: res.ProtoMajor,
		ProtoMinor: res.ProtoMinor,
		Header:     res.Header.Clone(), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	})
	r := llm.Request{Model: "any", Prompt: "any"}
	if len(asked.Tools) > 0 && res.StatusCode < 300 { // after a refusal an adapter may ask once more
		r.Tools = anyTool
	}
	answer, err := model.Generate(ctx, r)
	if err != nil {
		return answered(answer), err.Error()
	}
	return answered(answer), ""
}

type answerKey struct{}

// replay returns the answer in the context of a request.
type replay struct{}

func (replay) RoundTrip(r *http.Request) (*http.Response, error) {
	if res, ok := r.Context().Value(answerKey{}).(*http.Response); ok {
		res.Request = r
		return res, nil
	}
	return nil, errors.New("there is no answer to read")
}
