// Package anthropic puts Anthropic's Messages API behind llm.Model, and every server that
// speaks its protocol. Only its Config decides where a request goes and with which key: the
// client library's environment variables (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL,
// ANTHROPIC_CUSTOM_HEADERS, …) are not read.
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"myao/internal/llm"
)

const provider = "anthropic"

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

const (
	// defaultMaxTokens is sent for a request without a limit, since the API requires one.
	// Every model allows it.
	defaultMaxTokens = 4096
	// timeout ends a call whose context does not end before. Without it the library refuses
	// limits of tokens that could take more than ten minutes.
	timeout = 10 * time.Minute
)

// Config is the address of the server and our key.
type Config struct {
	// APIKey may be empty if BaseURL is set: another server may need none.
	APIKey string
	// BaseURL is the URL before "v1/messages", with or without a slash at its end; empty is
	// Anthropic's. A query in it goes with each request.
	BaseURL string
	// Transport sends the requests; nil is llm.DefaultTransport.
	Transport http.RoundTripper
}

// Model is a server of the Messages API as an llm.Model.
type Model struct {
	messages  sdk.MessageService
	transport *llm.Transport
	// marks: the server is Anthropic's own and takes marks of what to keep for the next questions.
	marks bool

	mu     sync.Mutex
	learnt map[string]dialect // by model
}

var _ llm.Model = (*Model)(nil)

// New checks the configuration. It does not connect yet.
func New(c Config) (*Model, error) {
	key, base, err := llm.ParseAccess(provider, c.APIKey, c.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, err
	}
	t := &llm.Transport{Provider: provider, Base: c.Transport, Credentials: http.Header{}}
	if t.Base == nil {
		t.Base = llm.DefaultTransport()
	}
	if key != "" {
		t.Credentials.Set("X-Api-Key", key)
	}
	opts := []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: t}),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(timeout),
		// llm.Measured has a span for each call; an environment variable would put whole
		// prompts into the library's.
		option.WithoutOpenTelemetry(),
	}
	// The library resolves its path against the base, which drops the base's query.
	for name, values := range base.Query() {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	opts = append(opts, option.WithBaseURL(llm.WithoutQuery(base)))
	// The service alone reads no environment; sdk.NewClient would.
	return &Model{messages: sdk.NewMessageService(opts...), transport: t, learnt: map[string]dialect{},
		marks: strings.EqualFold(base.Hostname(), "api.anthropic.com")}, nil
}

// Close closes idle connections. It does not interrupt running calls.
func (m *Model) Close() error {
	m.transport.CloseIdleConnections()
	return nil
}

// Generate makes one HTTP request. If the server refuses its form, which costs nothing,
// Generate tries the next form and remembers the one that was accepted. Errors are
// *llm.Error, see llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Check(provider); err != nil {
		return llm.Response{}, err
	}
	d := m.dialect(r.Model)
	for {
		sent, unseen := d.sent(r)
		if !m.marks {
			sent.Stable = nil
		}
		res, err := m.messages.New(r.Context(ctx), params(sent, d))
		if err == nil {
			m.learn(r.Model, d)
			answer, err := outcome(sent, res)
			answer.WithoutTools, answer.WithoutFiles = len(sent.Tools) < len(r.Tools), unseen
			return answer, err
		}
		refused := classify(m.transport.Failure(ctx, err))
		next, ok := d.fallback(refused, r)
		if !ok {
			return llm.Response{}, refused
		}
		d = next
		if r.ClientRequestID != "" {
			r.ClientRequestID = llm.NewClientRequestID(llm.DecisionOf(r.ClientRequestID))
		}
	}
}

func params(r llm.Request, d dialect) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:     r.Model,
		MaxTokens: int64(d.maxTokens(r)),
	}
	before, last := r.Chat()
	for _, s := range before {
		if s.Own {
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(sdk.NewTextBlock(s.Text)))
		} else {
			p.Messages = append(p.Messages, sdk.NewUserMessage(sdk.NewTextBlock(s.Text)))
		}
	}
	p.Messages = append(p.Messages, sdk.NewUserMessage(user(r.Files, last)...))
	if r.System != "" {
		p.System = system(r)
	}
	for _, t := range r.Turns {
		p.Messages = append(p.Messages, turn(t)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	if r.Temperature != nil {
		p.Temperature = sdk.Float(*r.Temperature)
	}
	if r.Schema != nil && !d.byPrompt {
		p.OutputConfig.Format.Schema = schema(r.Schema)
	}
	return p
}

// system returns the system prompt, in blocks that end at its stable places and are marked to be kept. What is too
// short to be kept the server reads as always. It takes four marks.
func system(r llm.Request) (blocks []sdk.TextBlockParam) {
	began := 0
	for _, end := range r.Stable[:min(len(r.Stable), 4)] {
		if began < end && end < len(r.System) {
			blocks = append(blocks, sdk.TextBlockParam{Text: r.System[began:end],
				CacheControl: sdk.NewCacheControlEphemeralParam()})
			began = end
		}
	}
	return append(blocks, sdk.TextBlockParam{Text: r.System[began:]})
}

// schema returns the schema in the library's form. The properties keep their order, which is
// the order in which the model writes them.
func schema(s *llm.Schema) map[string]any {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(s.JSONSchema(), &fields); err != nil {
		panic(fmt.Sprintf("anthropic: a schema that is not JSON: %v", err)) // JSONSchema returns an object
	}
	out := make(map[string]any, len(fields))
	for name, field := range fields {
		out[name] = field
	}
	return out
}
