package doctor

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/runtime/timeout"
	"myao/test/llmtest"
)

func TestConfiguration(t *testing.T) {
	t.Parallel()
	c := config.Default()
	e := &examination{Doctor: Doctor{Config: c}}
	expect(t, e.configuration(t.Context()), Warn, "without a price: gemini-3.5-flash-lite, gemini-3.8-flash")
	e.Config.LLM.Prices = map[string]config.Price{"gemini-3.8-flash": {}, "gemini-3.5-flash-lite": {}}
	expect(t, e.configuration(t.Context()), OK, "valid")
	e.Config.Channels = map[string]config.Channel{"general": {Model: "gemini-pro"}}
	expect(t, e.configuration(t.Context()), Warn, "without a price: gemini-pro")
}

var (
	// networked is an agent whose model is asked by OpenAI's protocol; local answers by rules on this machine.
	networked = config.Agent{Provider: config.ProviderOpenAI, Model: "m", MaxOutputTokens: 10}
	local     = config.Agent{Provider: config.ProviderDemo}
)

// asking is an examination that asks the models of these agents, at a server that speaks OpenAI's protocol.
func asking(url string, agents config.Agents) *examination {
	c := config.Default()
	c.LLM.OpenAI.BaseURL, c.Agents = url, agents
	return &examination{Doctor: Doctor{Config: c, Ask: true, Clock: time.Now}}
}

func TestModels(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"ready"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`))
	}))
	defer server.Close()
	find := func(ask bool) []Finding {
		e := asking(server.URL, config.Agents{Response: networked, Memory: networked, Judgment: local})
		e.Ask = ask
		return runChecks(timeout.Extend(t.Context()), e.models())
	}
	findings := find(false)
	if len(findings) != 2 || findings[0].Check != "model openai m" || findings[1].Check != "model demo" {
		t.Fatalf("%+v", findings)
	}
	expect(t, findings[0], OK, "for response, memory: its access is configured")
	expect(t, findings[1], OK, "for judgment: rules on this machine")
	expect(t, find(true)[0], OK, "9 tokens in, 1 out")
	for _, tc := range []struct {
		http   int
		status Status
		says   string
	}{
		{http.StatusUnauthorized, Fail, "llm.openai.api_key"},
		{http.StatusNotFound, Fail, "a model of this name"},
		{http.StatusNotFound, Fail, "llm.openai.base_url is the address before chat/completions"},
		{http.StatusTooManyRequests, Warn, "limit"},
		{http.StatusPaymentRequired, Fail, "pay, or raise the quota"},
		{http.StatusBadGateway, Fail, "can reach the provider"},
	} {
		status = tc.http
		expect(t, find(true)[0], tc.status, tc.says)
	}
}

// One model at two servers is two checks, and each finding names its own keys.
func TestAModelAtTwoServers(t *testing.T) {
	t.Parallel()
	cloud, own := llmtest.New(t, llmtest.Script(llmtest.Text("ready"))), llmtest.New(t, llmtest.Script(llmtest.Fail(http.StatusUnauthorized)))
	e := asking(cloud.URL+"/v1", config.Agents{Response: networked, Judgment: networked, Memory: networked})
	e.Config.LLM.OpenAI.APIKey, e.Config.Agents.Judgment.BaseURL = "cloud-key", own.URL+"/v1"
	findings := runChecks(timeout.Extend(t.Context()), e.models())
	if len(findings) != 2 || findings[0].Check != "model openai m" || findings[1].Check != "model openai m of agents.judgment" {
		t.Fatalf("%+v", findings)
	}
	expect(t, findings[0], OK, "for response, memory: answers after")
	expect(t, findings[1], Fail, "set agents.judgment.api_key to a key")
}

// The probe of a model for judgments asks for a verdict by the same schema as a judgment.
func TestAModelForJudgments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		reply  llmtest.Reply
		status Status
		says   string
	}{
		{"a verdict", llmtest.No("ready"), OK, "for response, judgment, memory: answers after"},
		{"prose", llmtest.Text("ready"), Warn, "agents.judgment"},
		{"half a verdict", llmtest.Text(`{"should_respond": "no"}`), Warn, "cannot read its verdict"},
		{"several faults are one line", llmtest.Text(`{}`), Warn, "should_respond is missing: true or false; reason is missing"},
		{"cut while thinking", llmtest.Reply{Cut: true, ThoughtTokens: 10}, OK, "answers after"},
		{"nothing", llmtest.Reply{}, Warn, "use another model; and make sure that llm.openai.base_url"},
		{"LM Studio without /v1", llmtest.Reply{Raw: `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`}, Fail, "base_url is the address before chat/completions"},
		{"a page", llmtest.Reply{Raw: "<html>Welcome</html>"}, Fail, "base_url is the address before chat/completions"},
		{"no money", llmtest.Reply{Status: 429, Code: "insufficient_quota"}, Fail, "pay, or raise the quota"},
		{"slow", llmtest.Reply{Delay: time.Minute}, Fail, "had to load the model first"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t, llmtest.Script(tc.reply))
			e := asking(server.URL+"/v1", config.Agents{Response: networked, Memory: networked, Judgment: networked})
			timeout := modelTimeout
			if tc.reply.Delay > 0 {
				timeout = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			expect(t, e.model(ctx, uses(e.Config)[0]), tc.status, tc.says)
			for i, call := range server.Calls() { // then one with a tool, once its verdict was read
				if call.Judgment() != (i == 0) || i > 0 && tc.status != OK || call.System == "" {
					t.Errorf("probe %d is %s", i, call.Body)
				}
			}
		})
	}
}

// The model of replies is asked with a tool. It need not call it, but one that takes none looks
// nothing up.
func TestAModelForReplies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		reply  llmtest.Reply // to a request with tools
		status Status
		says   string
	}{
		{"calls it", llmtest.Calls(llmtest.ToolCall("ready", `{}`)), OK, "for response, memory: answers after"},
		{"answers", llmtest.Text("ready"), OK, "for response, memory: answers after"},
		{"takes none", llmtest.Reply{Status: 400, Message: "registry.ollama.ai/library/gemma3:4b does not support tools"}, Warn, "but takes no tools"},
		{"takes none", llmtest.Reply{Status: 400, Message: "registry.ollama.ai/library/gemma3:4b does not support tools"}, Warn, "use a model for agents.response that takes tools"},
		{"is another", llmtest.Fail(http.StatusNotFound), Fail, "a model of this name"},
	} {
		server := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
			if len(c.Tools) > 0 {
				return tc.reply
			}
			return llmtest.Text("ready")
		})
		e := asking(server.URL+"/v1", config.Agents{Response: networked, Memory: networked, Judgment: local})
		expect(t, e.model(t.Context(), uses(e.Config)[0]), tc.status, tc.says)
		if want := map[bool]int{true: 2, false: 1}[tc.status == Warn]; len(server.Calls()) != want {
			t.Errorf("%s: asked %d times, want %d", tc.name, len(server.Calls()), want)
		}
	}
}

// A judge of shadow is asked for a verdict. If it fails, the bot works all the same.
func TestAModelOfShadow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reply  llmtest.Reply
		status Status
		says   string
	}{
		{llmtest.No("ready"), OK, "for shadow small, shadow again: answers after"},
		{llmtest.Text("ready"), Warn, "use a model for shadow.judges that answers in JSON"},
		{llmtest.Fail(http.StatusUnauthorized), Warn, "set llm.openai.api_key"},
	} {
		server := llmtest.New(t, llmtest.Script(tc.reply))
		e := asking(server.URL+"/v1", config.Agents{Response: local, Judgment: local, Memory: local})
		for _, name := range []string{"small", "again"} {
			e.Config.Shadow.Judges = append(e.Config.Shadow.Judges, config.ShadowJudge{Name: name, Provider: config.ProviderOpenAI, Model: "m"})
		}
		findings := runChecks(timeout.Extend(t.Context()), e.models())
		if len(findings) != 2 || findings[1].Check != "model openai m" || len(server.Calls()) != 1 || !server.Calls()[0].Judgment() {
			t.Fatalf("%+v, %d calls", findings, len(server.Calls()))
		}
		expect(t, findings[1], tc.status, tc.says)
	}
}

// What a workspace has of its own is asked with the workspace's key, and what it shares is asked once.
func TestAWorkspacesModel(t *testing.T) {
	t.Parallel()
	shared, own := llmtest.New(t, llmtest.Script(llmtest.Text("ready"))), llmtest.New(t, llmtest.Script(llmtest.Text("ready")))
	e := asking(shared.URL+"/v1", config.Agents{Response: networked, Judgment: local, Memory: networked})
	e.Config.Workspaces = map[string]config.Workspace{"T1": {Agents: config.Agents{Judgment: config.Agent{Provider: config.ProviderOpenAI,
		Model: "m", APIKey: "key-of-t1", BaseURL: own.URL + "/v1", MaxOutputTokens: 10}}}}
	findings := runChecks(timeout.Extend(t.Context()), e.models())
	if len(findings) != 3 || findings[2].Check != "model openai m of workspaces.T1.agents.judgment" {
		t.Fatalf("%+v", findings)
	}
	expect(t, findings[2], Warn, "use a model for workspaces.T1.agents.judgment that answers in JSON")
	if asked := own.Calls(); len(asked) != 1 || !asked[0].Judgment() || asked[0].Header.Get("Authorization") != "Bearer key-of-t1" {
		t.Errorf("asked %+v", asked)
	}
}

// A fallback is asked what its agent is asked, with its own key. Without it the bot works all the same.
func TestAFallback(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		of        string
		reply     llmtest.Reply
		judgment  bool
		withTools bool
		status    Status
		says      string
	}{
		{"response", llmtest.Text("ready"), false, true, OK, "for response.fallback: answers after"},
		{"judgment", llmtest.No("ready"), true, false, OK, "for judgment.fallback: answers after"},
		{"judgment", llmtest.Text("ready"), true, false, Warn, "use a model for agents.judgment.fallback that answers in JSON"},
		{"memory", llmtest.Fail(http.StatusUnauthorized), false, false, Warn, "set agents.memory.fallback.api_key"},
	} {
		server := llmtest.New(t, llmtest.Script(tc.reply))
		c := config.Default()
		for name, a := range map[string]*config.Agent{"response": &c.Agents.Response, "judgment": &c.Agents.Judgment, "memory": &c.Agents.Memory} {
			if a.Provider = config.ProviderDemo; name == tc.of {
				a.Fallback = config.Fallback{Provider: config.ProviderOpenAI, Model: "m", APIKey: "own", BaseURL: server.URL + "/v1"}
			}
		}
		e := &examination{Doctor: Doctor{Config: c, Ask: true, Clock: time.Now}}
		findings, asked := runChecks(timeout.Extend(t.Context()), e.models()), server.Calls()
		if len(findings) != 2 || findings[1].Check != "model openai m" || len(asked) != 1 {
			t.Fatalf("%s: %+v, %d calls", tc.of, findings, len(asked))
		}
		if call := asked[0]; call.Judgment() != tc.judgment || (len(call.Tools) > 0) != tc.withTools || call.Header.Get("Authorization") != "Bearer own" {
			t.Errorf("%s: asked %s", tc.of, call.Body)
		}
		expect(t, findings[1], tc.status, tc.says)
	}
}

// Whoever only changes the providers still has the names of Gemini's models in the file.
func TestTheDemoModelIsCheckedOnce(t *testing.T) {
	t.Parallel()
	c := config.Default()
	for _, a := range []*config.Agent{&c.Agents.Response, &c.Agents.Judgment, &c.Agents.Memory} {
		a.Provider = config.ProviderDemo
	}
	c.Channels = map[string]config.Channel{"general": {Model: "another"}}
	e := &examination{Doctor: Doctor{Config: c}}
	findings := runChecks(timeout.Extend(t.Context()), e.models())
	if len(findings) != 1 || findings[0].Check != "model demo" {
		t.Fatalf("%+v", findings)
	}
	expect(t, findings[0], OK, "for response, judgment, memory, channels.general: rules on this machine")
}

func TestEncryption(t *testing.T) {
	t.Parallel()
	key := config.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32)))
	for _, tc := range []struct {
		name   string
		keys   config.Encryption
		status Status
		says   string
	}{
		{"none", config.Encryption{}, OK, "off"},
		{"one", config.Encryption{ActiveKey: "a", Keys: map[string]config.Secret{"a": key}, BindPayloads: true}, OK, `"a"; data of 1 key can be read`},
		{"not bound", config.Encryption{ActiveKey: "a", Keys: map[string]config.Secret{"a": key}}, Warn, "can be moved"},
		{"none active", config.Encryption{Keys: map[string]config.Secret{"a": key, "b": key}}, Warn, "2 keys, but none is active"},
		{"broken", config.Encryption{ActiveKey: "a", Keys: map[string]config.Secret{"a": key, "b": "short"}}, Fail, `"b"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := &examination{Doctor: Doctor{Config: config.Config{Encryption: tc.keys}}}
			expect(t, e.encryption(t.Context()), tc.status, tc.says)
		})
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]Status{0: Warn, 400: OK} {
		e := &examination{Doctor: Doctor{Config: config.Config{Retention: config.Retention{MessagesDays: days}}}}
		if got := e.retention(t.Context()); got.Status != want || (got.Fix != "") != (want == Warn) {
			t.Errorf("%d days: %+v", days, got)
		}
	}
}
