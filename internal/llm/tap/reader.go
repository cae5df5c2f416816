package tap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/llm/providers"
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

// read returns the text of an answer and its fault, or "".
func (m reader) read(ctx context.Context, provider string, res *http.Response, body []byte) (text, fault string) {
	model, err := m.models[provider]()
	if err != nil {
		return "", fmt.Sprintf("cannot read the answer: %v", err)
	}
	// The answer is complete, even if the bot no longer waits for it.
	ctx = context.WithValue(context.WithoutCancel(ctx), answerKey{}, &http.Response{
		StatusCode: res.StatusCode, Status: res.Status, Proto: res.Proto, ProtoMajor: res.ProtoMajor, ProtoMinor: res.ProtoMinor,
		Header: res.Header.Clone(), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	})
	answer, err := model.Generate(ctx, llm.Request{Model: "any", Prompt: "any"})
	if err != nil {
		return answer.Text, err.Error()
	}
	return answer.Text, ""
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
