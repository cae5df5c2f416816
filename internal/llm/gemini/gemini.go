// Package gemini puts Google's Gemini API behind llm.Model, by way of the
// generative-ai-go client. That client is past its end of life, so it is kept
// to what it does well, one unary call of text or JSON, and llm.Transport
// stands between it and the network: it carries the key in a header, prevents
// the client's endless retry of 503, and shows it only those parts of an
// answer that it can read.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"

	"myao/internal/llm"
)

const provider = "gemini"

// DefaultEndpoint is Google's own.
const DefaultEndpoint = "https://generativelanguage.googleapis.com"

// Config says where Gemini is and who we are.
type Config struct {
	// APIKey is needed unless an Endpoint is set.
	APIKey string
	// Endpoint is an http or https URL, with a path prefix perhaps; empty is Google's.
	Endpoint string
	// Transport sends the requests; nil is llm.DefaultTransport.
	Transport http.RoundTripper
}

// Model is Gemini as an llm.Model.
type Model struct {
	client    *genai.Client
	transport *llm.Transport
}

var _ llm.Model = (*Model)(nil)

// New connects nothing yet. Make one Model for a process and keep it: the
// client library holds a few goroutines for each that even Close does not end.
func New(ctx context.Context, c Config) (*Model, error) {
	key, err := llm.ParseKey(c.APIKey)
	if err != nil {
		return nil, fmt.Errorf("open gemini: %w", err)
	}
	if key == "" && c.Endpoint == "" {
		return nil, errors.New("open gemini: no API key")
	}
	endpoint := DefaultEndpoint
	if c.Endpoint != "" {
		u, err := llm.ParseEndpoint(c.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("open gemini: %w", err)
		}
		// The library appends "/v1beta/…" and its own query.
		u.RawQuery, u.Fragment = "", ""
		endpoint = strings.TrimRight(u.String(), "/")
	}
	t := &llm.Transport{Provider: provider, Base: c.Transport, Credentials: http.Header{}, Adjust: byName, Rewrite: rewrite}
	if t.Base == nil {
		t.Base = llm.DefaultTransport()
	}
	if key != "" {
		t.Credentials.Set("X-Goog-Api-Key", key)
	}
	// The endpoint is always given, scheme included: the library also opens a
	// gRPC client for caches, which we never use, and that one cannot dial a URL
	// and so stays off the network.
	client, err := genai.NewClient(ctx,
		option.WithEndpoint(endpoint),
		option.WithHTTPClient(&http.Client{Transport: t}),
		option.WithoutAuthentication(),
		// An environment variable would otherwise make it log whole prompts.
		option.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		return nil, fmt.Errorf("open gemini: %w", err)
	}
	return &Model{client: client, transport: t}, nil
}

// byName has Google name what the library would have it number, such as why an answer
// ended: of the newer numbers there is no list. Both take either.
func byName(r *http.Request) {
	q := r.URL.Query()
	q.Set("$alt", "json")
	r.URL.RawQuery = q.Encode()
}

// Close lets go of the connections. Calls that run are not interrupted.
func (m *Model) Close() error {
	m.transport.CloseIdleConnections()
	if err := m.client.Close(); err != nil {
		return fmt.Errorf("close gemini: %w", err)
	}
	return nil
}

// Generate makes exactly one HTTP request. Errors are *llm.Error, see llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Check(provider); err != nil {
		return llm.Response{}, err
	}
	var seen answer
	res, err := m.model(r).GenerateContent(withAnswer(r.Context(ctx), &seen), genai.Text(r.Prompt))
	// The library calls some stopped answers errors and others successes, and
	// tells neither's cost: what the transport saw of the answer decides.
	if !seen.read {
		if err == nil {
			err = errors.New("the answer did not pass through the transport")
		}
		return llm.Response{}, m.transport.Failure(ctx, err)
	}
	if blocked := (*genai.BlockedError)(nil); err != nil && !errors.As(err, &blocked) {
		return llm.Response{}, m.transport.Failure(ctx, err)
	}
	return seen.response(r.Model, text(res))
}

// model is a value of the library's for one request; it holds no connection.
func (m *Model) model(r llm.Request) *genai.GenerativeModel {
	g := m.client.GenerativeModel(r.Model)
	if r.System != "" {
		g.SystemInstruction = &genai.Content{Parts: []genai.Part{genai.Text(r.System)}}
	}
	if r.MaxOutputTokens > 0 {
		g.SetMaxOutputTokens(int32(min(r.MaxOutputTokens, 1<<30)))
	}
	if r.Temperature != nil {
		g.SetTemperature(float32(*r.Temperature))
	}
	if r.Schema != nil {
		g.ResponseMIMEType = "application/json"
		g.ResponseSchema = schema(r.Schema)
	}
	return g
}

var types = map[llm.Type]genai.Type{
	llm.String: genai.TypeString, llm.Boolean: genai.TypeBoolean,
	llm.Number: genai.TypeNumber, llm.Integer: genai.TypeInteger,
}

func schema(s *llm.Schema) *genai.Schema {
	object := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{}}
	for _, p := range s.Properties {
		form := &genai.Schema{Type: types[p.Type], Description: p.Description, Nullable: p.Nullable, Enum: p.Enum}
		if len(p.Enum) > 0 {
			form.Format = "enum"
		}
		object.Properties[p.Name] = form
		object.Required = append(object.Required, p.Name)
	}
	return object
}

// text joins what the first candidate says.
func text(res *genai.GenerateContentResponse) string {
	if res == nil || len(res.Candidates) == 0 || res.Candidates[0].Content == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range res.Candidates[0].Content.Parts {
		if t, ok := part.(genai.Text); ok {
			b.WriteString(string(t))
		}
	}
	return b.String()
}
