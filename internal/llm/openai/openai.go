// Package openai puts every server that speaks OpenAI's chat completions
// behind llm.Model: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama, vLLM,
// LiteLLM. Only its Config decides where a request goes and with which key. The
// client library's environment variables (OPENAI_API_KEY, OPENAI_BASE_URL,
// OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS, …) are not read.
package openai

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"myao/internal/llm"
)

const provider = "openai"

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config is the address of the server and our key.
type Config struct {
	// APIKey may be empty if BaseURL is set: Ollama needs none.
	APIKey string
	// BaseURL is the URL before "chat/completions", such as
	// http://localhost:11434/v1, with or without a slash at its end. Empty is
	// OpenAI's. A query in it (Azure's api-version) goes with each request.
	BaseURL string
	// Transport sends the requests; nil is llm.DefaultTransport.
	Transport http.RoundTripper
}

// Model is a chat completions server as an llm.Model.
type Model struct {
	chat      sdk.ChatCompletionService
	transport *llm.Transport
	// newLimit: the server accepts max_completion_tokens.
	newLimit bool
	// own: the server is OpenAI's own.
	own bool

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
	t := &llm.Transport{Provider: provider, Base: c.Transport, Credentials: credentials(base, key)}
	if t.Base == nil {
		t.Base = llm.DefaultTransport()
	}
	opts := []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: t}),
		option.WithMaxRetries(0),
	}
	// The library resolves its path against the base, which drops the base's query.
	for name, values := range base.Query() {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	opts = append(opts, option.WithBaseURL(llm.WithoutQuery(base)))
	// The service alone reads no environment; sdk.NewClient would.
	return &Model{chat: sdk.NewChatCompletionService(opts...), transport: t, newLimit: knowsNewLimit(base),
		own: isOpenAI(base), learnt: map[string]dialect{}}, nil
}

// credentials returns the header in which the host expects the key; none for an empty key.
func credentials(base *url.URL, key string) http.Header {
	h := http.Header{}
	switch {
	case key == "":
	case isAzure(base):
		h.Set("Api-Key", key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
	return h
}

// azure are the domains of Microsoft's servers for OpenAI's protocol.
var azure = []string{
	".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com",
	".openai.azure.us", ".cognitiveservices.azure.us", // the government cloud
}

func isAzure(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	return slices.ContainsFunc(azure, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// knowsNewLimit reports whether the host accepts max_completion_tokens, which its
// newer models require. Older Ollama, vLLM and LiteLLM accept only max_tokens.
func knowsNewLimit(base *url.URL) bool {
	return isOpenAI(base) || isAzure(base)
}

func isOpenAI(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	// OpenAI's regions are subdomains: eu.api.openai.com.
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}

// Close closes idle connections. It does not interrupt running calls.
func (m *Model) Close() error {
	m.transport.CloseIdleConnections()
	return nil
}

// Generate makes one HTTP request. If the server refuses its form, which costs nothing,
// Generate tries the next form and remembers the one that was accepted. This loop is here
// and not in package agents, because only the adapter knows the forms. Errors are *llm.Error, see
// llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Check(provider); err != nil {
		return llm.Response{}, err
	}
	d := m.dialect(r.Model)
	for {
		sent, unseen := d.sent(r)
		if !m.own {
			sent.CacheKey = ""
		}
		res, err := m.chat.New(r.Context(ctx), params(sent, d))
		if err == nil {
			m.learn(r.Model, d)
			answer, err := outcome(sent, res)
			answer.WithoutTools, answer.WithoutFiles = len(sent.Tools) < len(r.Tools), unseen
			return answer, err
		}
		refused := m.transport.Failure(ctx, err)
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

func params(r llm.Request, d dialect) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: r.Model}
	if r.CacheKey != "" {
		p.PromptCacheKey = sdk.String(r.CacheKey)
	}
	if r.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(r.System))
	}
	before, last := r.Chat()
	for _, s := range before {
		if s.Own {
			p.Messages = append(p.Messages, sdk.AssistantMessage(s.Text))
		} else {
			p.Messages = append(p.Messages, sdk.UserMessage(s.Text))
		}
	}
	p.Messages = append(p.Messages, user(r.Files, last))
	for _, t := range r.Turns {
		p.Messages = append(p.Messages, turn(t, d)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, tool(t, d))
	}
	switch {
	case r.MaxOutputTokens == 0:
	case d.newLimit:
		p.MaxCompletionTokens = sdk.Int(int64(r.MaxOutputTokens))
	default:
		p.MaxTokens = sdk.Int(int64(r.MaxOutputTokens))
	}
	if r.Temperature != nil {
		p.Temperature = sdk.Float(*r.Temperature)
	}
	switch {
	case r.Schema == nil || d.form == byPrompt:
	case d.form == byObject:
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	default:
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name:   r.Schema.Name,
				Strict: sdk.Bool(true),
				Schema: r.Schema.JSONSchema(),
			},
		}
	}
	return p
}
