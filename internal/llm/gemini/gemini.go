// Package gemini puts Google's Gemini API behind llm.Model, with the
// generative-ai-go client. That client is past its end of life. It only makes
// unary calls for text or JSON here, through llm.Transport. The transport sends
// the key in a header, prevents the client's endless retries of 503, adds the order of
// a schema's properties, and hides parts of an answer that the client cannot read. It also
// carries what the client does not know of tools: ids of calls, and thought signatures.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"myao/internal/llm"
	httponly "myao/internal/llm/gemini/option"
)

const provider = "gemini"

// DefaultEndpoint is Google's own.
const DefaultEndpoint = "https://generativelanguage.googleapis.com"

// Config is the address of the API and our key.
type Config struct {
	// APIKey is required unless Endpoint is set.
	APIKey string
	// Endpoint is an http or https URL, which may have a path prefix; empty is Google's.
	Endpoint string
	// Transport sends the requests; nil is llm.DefaultTransport.
	Transport http.RoundTripper
}

// Model is Gemini as an llm.Model.
type Model struct {
	client    *genai.Client
	unused    *grpc.ClientConn
	transport *llm.Transport

	mu       sync.Mutex
	refusals map[string]refusals // by model
}

var _ llm.Model = (*Model)(nil)

// New does not connect yet. Make one Model for a process and keep it: the client
// library holds a few goroutines for each, which even Close does not end.
func New(ctx context.Context, c Config) (*Model, error) {
	key, base, err := llm.ParseAccess(provider, c.APIKey, c.Endpoint, DefaultEndpoint)
	if err != nil {
		return nil, err
	}
	t := &llm.Transport{Provider: provider, Base: c.Transport, Credentials: http.Header{}, Adjust: namedEnums,
		RewriteRequest: complete, Rewrite: rewrite}
	if t.Base == nil {
		t.Base = llm.DefaultTransport()
	}
	if key != "" {
		t.Credentials.Set("X-Goog-Api-Key", key)
	}
	// The library also opens a gRPC client for caches, which we never use. Left to itself it would
	// connect to a proxy, and run the helper program of a client certificate that it finds on this
	// machine. So it gets a connection that is none.
	none, err := grpc.NewClient("passthrough:///none", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("open gemini: %w", err)
	}
	client, err := genai.NewClient(ctx,
		option.WithGRPCConn(none),
		httponly.WithoutGRPCConn(),
		option.WithHTTPClient(&http.Client{Transport: t}),
		// The library appends "/v1beta/…" and its own query.
		option.WithEndpoint(strings.TrimRight(llm.WithoutQuery(base), "/")),
		option.WithoutAuthentication(),
		// Otherwise an environment variable could make it log whole prompts.
		option.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open gemini: %w", err), none.Close())
	}
	return &Model{client: client, unused: none, transport: t, refusals: map[string]refusals{}}, nil
}

// complete turns the library's body into the one that is sent.
func complete(ctx context.Context, body []byte) ([]byte, error) {
	body, err := ordered(body)
	if err != nil {
		return nil, err
	}
	return withTools(ctx, body)
}

// namedEnums asks Google for the names of enums, such as finish reasons. The library would
// ask for numbers, and newer numbers are documented nowhere. Both sides accept either.
func namedEnums(r *http.Request) {
	q := r.URL.Query()
	q.Set("$alt", "json")
	r.URL.RawQuery = q.Encode()
}

// Close closes idle connections. It does not interrupt running calls.
func (m *Model) Close() error {
	m.transport.CloseIdleConnections()
	if err := errors.Join(m.client.Close(), m.unused.Close()); err != nil {
		return fmt.Errorf("close gemini: %w", err)
	}
	return nil
}

// Generate makes one HTTP request, and a second one without tools if the model takes none, which
// it remembers. Errors are *llm.Error, see llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Check(provider); err != nil {
		return llm.Response{}, err
	}
	for {
		known := m.learnt(r.Model)
		sent, unseen := known.sent(r)
		res, err := m.generate(ctx, sent)
		refused, ok := errors.AsType[*llm.Error](err)
		if ok {
			ok = m.learn(r.Model, known, refused, r)
		}
		if !ok {
			res.WithoutTools, res.WithoutFiles = len(sent.Tools) < len(r.Tools), unseen
			return res, err
		}
		if r.ClientRequestID != "" {
			r.ClientRequestID = llm.NewClientRequestID(llm.DecisionOf(r.ClientRequestID))
		}
	}
}

func (m *Model) generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	var seen answer
	asking := withRequest(withAnswer(r.Context(ctx), &seen), r)
	_, last := r.Chat() // the transport writes what comes before
	res, err := m.model(r).GenerateContent(asking, append(blobs(r.Files), genai.Text(last))...)
	// The library returns some stopped answers as errors and others as successes,
	// without their usage. So the answer that the transport saw decides.
	if !seen.read {
		if err == nil {
			err = errors.New("the answer did not pass through the transport")
		}
		return llm.Response{}, m.transport.Failure(ctx, err)
	}
	if blocked := (*genai.BlockedError)(nil); err != nil && !errors.As(err, &blocked) {
		return llm.Response{}, m.transport.Failure(ctx, err)
	}
	return seen.response(r, text(res))
}

// model returns the library's value for one request. It holds no connection.
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

// text joins the texts of the first candidate.
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
