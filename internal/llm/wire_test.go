package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/test/llmtest"
)

// keyHeaders are the headers in which providers expect the key.
var keyHeaders = map[string]string{"gemini": "X-Goog-Api-Key", "openai": "Authorization", "anthropic": "X-Api-Key"}

// sentKeys returns the headers of a request that carry keys.
func sentKeys(h http.Header) http.Header {
	found := http.Header{}
	for _, name := range append(slices.Collect(maps.Values(keyHeaders)), "Api-Key") {
		if values, sent := h[name]; sent {
			found[name] = values
		}
	}
	return found
}

// The whole of a request, as each provider documents it.
func TestWire(t *testing.T) {
	const order = `["addressee","gist","reason","should_respond","confidence","delay_seconds","tone"]`
	bodies := map[string]string{ // with the JSON schema in the place of %s
		// Gemini's type numbers: string 1, number 2, integer 3, boolean 4, object 6.
		"gemini": `{"model":"models/m-1",
			"systemInstruction":{"parts":[{"text":"You are kind."}]},
			"contents":[{"role":"user","parts":[{"text":"Answer now."}]}],
			"generationConfig":{"maxOutputTokens":500,"responseMimeType":"application/json","responseSchema":{"type":6,
				"required":` + order + `,"propertyOrdering":` + order + `,
				"properties":{
					"addressee":{"type":1,"format":"enum","enum":["me","someone","everyone","nobody"],"description":"whom the new messages are meant for: me, someone else, everyone, or nobody; if they differ, that of the one you would answer, or else of the newest"},
					"gist":{"type":1,"description":"what you would add, in at most 15 words; empty if there is nothing"},
					"should_respond":{"type":4,"description":"true to speak, false to stay silent"},
					"reason":{"type":1,"description":"one short line: what decided it"},
					"confidence":{"type":2,"description":"how certain the decision is, from 0 to 1"},
					"delay_seconds":{"type":3,"nullable":true,"description":"whole seconds to hold back before speaking, from 0 to 600; null only when silent"},
					"tone":{"type":1,"format":"enum","enum":["warm","dry"]}}}}}`,
		"openai": `{"model":"m-1","max_tokens":500,
			"messages":[{"role":"system","content":"You are kind."},{"role":"user","content":"Answer now."}],
			"response_format":{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":%s}}}`,
		"anthropic": `{"model":"m-1","max_tokens":500,"system":[{"type":"text","text":"You are kind."}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Answer now."}]}],
			"output_config":{"format":{"type":"json_schema","schema":%s}}}`,
	}
	each(t, func(t *testing.T, m llm.Model, s *llmtest.Running) {
		r := request()
		r.MaxOutputTokens = 500
		r.Schema = llm.VerdictSchema(600)
		tone := llm.Property{Name: "tone", Type: llm.String, Enum: []string{"warm", "dry"}}
		r.Schema.Properties = append(r.Schema.Properties, tone)
		res, err := m.Generate(t.Context(), r)
		if err != nil || !strings.Contains(res.Text, `"should_respond":false`) {
			t.Fatalf("got %q, %v", res.Text, err)
		}
		c := s.Calls()[0]
		name, secret := keyHeaders[c.Provider], key
		if name == "Authorization" {
			secret = "Bearer " + key
		}
		if got := sentKeys(c.Header); !reflect.DeepEqual(got, http.Header{name: {secret}}) {
			t.Errorf("got the keys %q", got)
		}
		want := strings.Replace(bodies[c.Provider], "%s", string(r.Schema.JSONSchema()), 1)
		var got, expected any
		if err := errors.Join(json.Unmarshal(c.Body, &got), json.Unmarshal([]byte(want), &expected)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, expected) {
			t.Errorf("got  %s\nwant %s", c.Body, want)
		}
		// The order of the properties is the order in which the model writes them.
		if !c.Judgment() || c.Provider == "openai" && string(c.Schema) != string(r.Schema.JSONSchema()) {
			t.Errorf("got the schema %s", c.Schema)
		}
	})
}

// A configured address may have a path and a query, and end with a slash or not. Without a key none is sent.
func TestAddresses(t *testing.T) {
	for name, addresses := range map[string]map[string]string{
		"gemini": {
			"":               "/v1beta/models/m-1:generateContent?%24alt=json",
			"/":              "/v1beta/models/m-1:generateContent?%24alt=json",
			"/proxy/google/": "/proxy/google/v1beta/models/m-1:generateContent?%24alt=json",
			"/proxy?key=no":  "/proxy/v1beta/models/m-1:generateContent?%24alt=json",
		},
		"openai": {
			"":                           "/chat/completions?",
			"/":                          "/chat/completions?",
			"/v1":                        "/v1/chat/completions?",
			"/v1/":                       "/v1/chat/completions?",
			"/proxy/openai/v1":           "/proxy/openai/v1/chat/completions?",
			"/openai/v1/?api-version=v1": "/openai/v1/chat/completions?api-version=v1",
		},
		"anthropic": {
			"":                       "/v1/messages?",
			"/":                      "/v1/messages?",
			"/proxy/anthropic":       "/proxy/anthropic/v1/messages?",
			"/proxy/?api-version=v1": "/proxy/v1/messages?api-version=v1",
		},
	} {
		for address, want := range addresses {
			s := llmtest.New(t, nil)
			m, err := opened(t, name, config.Access{BaseURL: s.URL + address}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Generate(t.Context(), request()); err != nil {
				t.Fatalf("%s: %q: %v", name, address, err)
			}
			c := s.Calls()[0]
			if got := c.Path + "?" + c.Query; got != want {
				t.Errorf("%s: %q: got %s, want %s", name, address, got, want)
			}
			if got := sentKeys(c.Header); len(got) != 0 {
				t.Errorf("%s: sent the keys %q", name, got)
			}
		}
	}
}

func TestAccessIsChecked(t *testing.T) {
	for name := range adapters {
		for what, access := range map[string]config.Access{
			"no key for the provider's own server": {},
			"key with a line break":                {APIKey: "sec\nret"},
			"address not a URL":                    {APIKey: "secret", BaseURL: "localhost:11434/v1"},
		} {
			if _, err := opened(t, name, access, nil); err == nil || strings.Contains(err.Error(), "sec") {
				t.Errorf("%s: %s: got %v", name, what, err)
			}
		}
	}
}

// Not parallel: it sets the environment, which the libraries of the providers would read.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-env", "OPENAI_ADMIN_KEY": "sk-env-admin", "OPENAI_BASE_URL": "https://env.example/v1",
		"OPENAI_ORG_ID": "org-env", "OPENAI_PROJECT_ID": "proj-env", "OPENAI_WEBHOOK_SECRET": "hook-env",
		"OPENAI_CUSTOM_HEADERS": "X-Env: env-header\nAuthorization: Bearer sk-env",
		"ANTHROPIC_API_KEY":     "sk-env", "ANTHROPIC_AUTH_TOKEN": "token-env", "ANTHROPIC_BASE_URL": "https://env.example",
		"ANTHROPIC_PROFILE": "env", "ANTHROPIC_WORKSPACE_ID": "env", "ANTHROPIC_CUSTOM_HEADERS": "X-Env: env-header\nX-Api-Key: sk-env",
		"GEMINI_API_KEY": "sk-env", "GOOGLE_API_KEY": "sk-env",
	} {
		t.Setenv(name, value)
	}
	for name, path := range map[string]string{
		"gemini": "/v1beta/models/m-1:generateContent?%24alt=json", "openai": "/chat/completions", "anthropic": "/v1/messages",
	} {
		own := map[string]string{
			"gemini": "https://generativelanguage.googleapis.com", "openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com",
		}[name]
		for address, access := range map[string]config.Access{
			own:                      {APIKey: "sk-config"},
			"http://localhost:11434": {BaseURL: "http://localhost:11434"},
		} {
			asked, _ := captured(t, name, access, request())
			if got := asked.URL.String(); got != address+path {
				t.Errorf("%s: sent to %s, want %s", name, got, address+path)
			}
			for header, values := range asked.Header {
				if strings.Contains(fmt.Sprint(values), "env") || strings.HasPrefix(header, "Openai-") {
					t.Errorf("%s: sent %s: %v", name, header, values)
				}
			}
		}
		if _, err := opened(t, name, config.Access{}, nil); err == nil {
			t.Errorf("%s: the key of the environment was taken", name)
		}
	}
}

// The servers of OpenAI and Azure are told by their hosts.
func TestHosts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		base, url, limit, header string
	}{
		{"", "https://api.openai.com/v1/chat/completions", "max_completion_tokens", "Authorization"},
		{"https://API.openai.com/v1", "https://API.openai.com/v1/chat/completions", "max_completion_tokens", "Authorization"},
		{"https://us.openai.azure.com/openai/v1", "https://us.openai.azure.com/openai/v1/chat/completions", "max_completion_tokens", "Api-Key"},
		{"https://us.cognitiveservices.azure.com/openai/v1/", "https://us.cognitiveservices.azure.com/openai/v1/chat/completions", "max_completion_tokens", "Api-Key"},
		{"https://eu.api.openai.com/v1", "https://eu.api.openai.com/v1/chat/completions", "max_completion_tokens", "Authorization"},
		{"https://us.API.openai.com/v1", "https://us.API.openai.com/v1/chat/completions", "max_completion_tokens", "Authorization"},
		{"https://us.services.ai.azure.com/openai/v1", "https://us.services.ai.azure.com/openai/v1/chat/completions", "max_completion_tokens", "Api-Key"},
		{"https://us.openai.azure.us/openai/v1", "https://us.openai.azure.us/openai/v1/chat/completions", "max_completion_tokens", "Api-Key"},
		{"https://us.cognitiveservices.azure.us/openai/v1", "https://us.cognitiveservices.azure.us/openai/v1/chat/completions", "max_completion_tokens", "Api-Key"},
		{"http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions", "max_tokens", "Authorization"},
		{"https://api.openai.com.evil.example/v1", "https://api.openai.com.evil.example/v1/chat/completions", "max_tokens", "Authorization"},
		{"https://eu-api.openai.com/v1", "https://eu-api.openai.com/v1/chat/completions", "max_tokens", "Authorization"},
		{"https://openai.azure.us.evil.example/v1", "https://openai.azure.us.evil.example/v1/chat/completions", "max_tokens", "Authorization"},
	}
	for _, tt := range tests {
		r := request()
		r.MaxOutputTokens = 9
		asked, body := captured(t, "openai", config.Access{APIKey: "k", BaseURL: tt.base}, r)
		if got := asked.URL.String(); got != tt.url {
			t.Errorf("%q: got %s, want %s", tt.base, got, tt.url)
		}
		for _, limit := range []string{"max_tokens", "max_completion_tokens"} {
			if _, sent := body[limit]; sent != (limit == tt.limit) {
				t.Errorf("%q: %s sent: %v", tt.base, limit, sent)
			}
		}
		for _, header := range []string{"Authorization", "Api-Key"} {
			if _, sent := asked.Header[header]; sent != (header == tt.header) {
				t.Errorf("%q: %s sent: %v", tt.base, header, sent)
			}
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// opened opens a provider until the test ends.
func opened(t *testing.T, name string, access config.Access, transport http.RoundTripper) (llm.Model, error) {
	t.Helper()
	p, err := providers.Named(config.Provider(name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Open(t.Context(), access, transport)
	if err == nil {
		t.Cleanup(func() {
			if err := m.(io.Closer).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return m, err
}

// captured returns the request to a host that a test must not reach, and its body.
func captured(t *testing.T, name string, access config.Access, r llm.Request) (*http.Request, map[string]any) {
	t.Helper()
	var asked *http.Request
	var body map[string]any
	m, err := opened(t, name, access, roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		return nil, errors.New("no network in tests")
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), r); !errors.Is(err, llm.ErrUnavailable) || asked == nil {
		t.Fatalf("%s: got %v, want ErrUnavailable", name, err)
	}
	return asked, body
}
