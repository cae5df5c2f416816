package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"myao/internal/llm"
	"myao/internal/runtime/timeout"
)

// Variable is the environment variable with the address of the sandbox's Tap, http://HOST:PORT. The sandbox sets it
// for its worker. Without it no prompt goes anywhere but to the model.
const Variable = "MYAO_SANDBOX_TAP"

// reportTimeout is how long the sandbox may take to answer, on a slow machine.
const reportTimeout = 10 * time.Second

// Before returns what makes a model report its calls to the Tap at the address. It refuses an address beyond this
// machine.
func Before(address string, clock func() time.Time) (func(llm.Model) llm.Model, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" || !net.ParseIP(at.Hostname()).IsLoopback() {
		return nil, fmt.Errorf("%s: want http://HOST:PORT of this machine, since prompts go there", Variable)
	}
	return func(m llm.Model) llm.Model { return model{m, address, clock} }, nil
}

// model reports its calls, and makes none while the tap is down.
type model struct {
	llm.Model
	tap   string
	clock func() time.Time
}

// Generate implements llm.Model.
func (m model) Generate(ctx context.Context, r llm.Request) (res llm.Response, err error) {
	x := asked(r, m.clock())
	if m.send(ctx, http.MethodGet, nil) == http.StatusServiceUnavailable {
		err = &llm.Error{Kind: llm.ErrUnavailable, Status: http.StatusServiceUnavailable, Message: "the model is switched off"}
	} else {
		res, err = m.Model.Generate(ctx, r)
	}
	x.Answer = answered(res)
	if err != nil {
		x.Error = err.Error()
	}
	if body, err := json.Marshal(x); err == nil {
		m.send(context.WithoutCancel(ctx), http.MethodPost, body)
	}
	return res, err
}

// send returns the tap's status; 0: it did not answer, as when the sandbox is about to end.
func (m model) send(ctx context.Context, method string, body []byte) (status int) {
	ctx, cancel := timeout.After(ctx, reportTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, m.tap, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
