package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// expect compares a finding with a status and a part of its message or its fix.
func expect(t *testing.T, f Finding, status Status, says string) {
	t.Helper()
	if all := f.Message + " → " + f.Fix; f.Status != status || !strings.Contains(all, says) {
		t.Errorf("%s: %s, want %s with %q", f.Status, all, status, says)
	}
	if (f.Status == Warn || f.Status == Fail) && f.Fix == "" {
		t.Errorf("%q: no fix", f.Message)
	}
}

func TestChecksRunConcurrently(t *testing.T) {
	t.Parallel()
	var order []string
	rows := []check{
		{name: "slow", run: func(context.Context) Finding { time.Sleep(10 * time.Millisecond); return warn("wait", "slow") }},
		{name: "broken", run: func(context.Context) Finding { return fail("fix it", "broken") }},
		{name: "on broken", needs: "broken", run: func(context.Context) Finding { t.Error("the check ran"); return ok("") }},
		{name: "on that", needs: "on broken", run: func(context.Context) Finding { t.Error("the check ran"); return ok("") }},
		{name: "on slow", needs: "slow", run: func(context.Context) Finding { return ok("there") }},
		{name: "stuck", timeout: time.Millisecond, run: func(ctx context.Context) Finding { <-ctx.Done(); return fail("hurry", "%v", ctx.Err()) }},
	}
	findings := runChecks(t.Context(), rows)
	for _, f := range findings {
		order = append(order, f.Check+" "+string(f.Status))
	}
	if want := []string{"slow warn", "broken fail", "on broken skip", "on that skip", "on slow ok", "stuck fail"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	if n := Count(findings, Skip); n != 2 {
		t.Errorf("%d are skipped, want 2", n)
	}
}

func TestFindingsHideSecrets(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "temporalkey")
	c := config.Default()
	c.Slack.BotToken, c.Slack.SigningSecret, c.LLM.Gemini.APIKey = "xoxb-secret", "signing", "xoxb-secret-longer"
	c.Encryption.Keys = map[string]config.Secret{"k": "base64key"}
	c.Database.URL = "postgres://u:hunter2@db/myao"
	c.Agents.Judgment.APIKey = "judges-key"
	got := redact([]Finding{{Message: "a\nxoxb-secret-longer, xoxb-secret, signing,\x00 base64key judges-key", Fix: "hunter2\r\ntemporalkey"}}, c)
	want := []Finding{{Message: "a (hidden), (hidden), (hidden),  (hidden) (hidden)", Fix: "(hidden) (hidden)"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+q, want %+q", got, want)
	}
	if long := redact([]Finding{{Message: strings.Repeat("ä", 1000)}}, c)[0].Message; len([]rune(long)) != maxMessage+1 {
		t.Errorf("a long message has %d characters", len([]rune(long)))
	}
}

func TestExamineHidesSecrets(t *testing.T) {
	t.Parallel()
	_, e := slackOf(t, workspace.Config{})
	e.Config.Database.URL = "sqlite:" + t.TempDir() + "/none.db"
	e.Dial = func() (client.Client, error) { return nil, errors.New("no server for xoxb-sandbox\nat all") }
	findings := e.Examine(t.Context())
	at := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == "temporal" })
	expect(t, findings[at], Fail, "no server for (hidden) at all")
}

// slackOf is an examination against a stand-in for Slack.
func slackOf(t *testing.T, options workspace.Config) (*workspace.Workspace, *examination) {
	t.Helper()
	w := workspace.New(options)
	server := httptest.NewServer(w.Handler())
	t.Cleanup(func() { server.Close(); w.Close() })
	c := config.Default()
	c.Slack.BotToken, c.Slack.AppToken, c.Slack.APIURL = "xoxb-sandbox", "xapp-sandbox", server.URL+"/api/"
	return w, &examination{Doctor: Doctor{
		Config: c, Clock: time.Now, Slack: slack.New(slack.Config{Token: "xoxb-sandbox", APIURL: c.Slack.APIURL,
			HTTPClient: &http.Client{Timeout: time.Minute}}),
	}}
}

// needed are the scopes that the app needs, without some.
func needed(without ...string) []string {
	return slices.DeleteFunc(manifest.Names(manifest.Scopes(config.Default())), func(name string) bool { return slices.Contains(without, name) })
}

func TestSlack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		scopes []string
		change func(*examination)
		check  func(*examination, context.Context) Finding
		status Status
		says   string
	}{
		{"all scopes", needed(), nil, (*examination).scopes, OK, "every scope that it needs"},
		{"more scopes", append(needed(), "files:write"), nil, (*examination).scopes, OK, "not needed: files:write"},
		{"an extra one is missing", needed("reactions:read"), nil, (*examination).scopes, Warn, "missing: reactions:read (who has taken something on: judgments see reactions; :shushing_face:"},
		{"an extra one is missing, and nobody hushes", needed("reactions:read"), func(e *examination) { e.Config.Slack.HushReaction = "" }, (*examination).scopes, Warn, "missing: reactions:read (who has taken something on"},
		{"installed before files were read", needed("files:read"), nil, (*examination).scopes, Warn, "missing: files:read (read the files that people attach; without it read_file is not offered)"},
		{"installed before it reacted", needed("reactions:write"), nil, (*examination).scopes, Warn, "missing: reactions:write (answer thanks by an emoji (slack.react); without it the bot writes)"},
		{"it does not react", needed("reactions:write"), func(e *examination) { e.Config.Slack.React = false }, (*examination).scopes, OK, "every scope that it needs"},
		{"installed before group direct messages were asked for", needed("mpim:history", "mpim:read"), nil, (*examination).scopes, Warn, "missing: mpim:history (the same for group direct messages), mpim:read"},
		{"channels without them", needed("mpim:history", "mpim:read"), nil, (*examination).channels, Warn, "in no channel"},
		{"one is missing", needed("chat:write", "commands"), nil, (*examination).scopes, Fail, "chat:write (speak), commands (/myao"},
		{"scopes unknown", nil, nil, (*examination).scopes, Skip, "does not say"},
		{"status", needed(), nil, (*examination).threadStatus, OK, "may show"},
		{"no status", needed("chat:write"), nil, (*examination).threadStatus, Warn, "missing_scope → give the app the scope chat:write, or assistant:write"},
		{"clock", needed(), nil, (*examination).clock, OK, "within"},
		{"clock fast", needed(), func(e *examination) { e.Clock = shifted(3 * time.Minute) }, (*examination).clock, Warn, "3m"},
		{"clock slow", needed(), func(e *examination) { e.Clock = shifted(-6 * time.Minute) }, (*examination).clock, Fail, "NTP"},
		{"agent", append(needed(), manifest.AgentScope), nil, (*examination).scopes, OK, "the token has every scope that it needs"},
		{"home tab", needed(), nil, (*examination).home, OK, "not refused"},
		{"in no channel", needed(), nil, (*examination).channels, Warn, "/invite @myao"},
		{"socket", needed(), nil, (*examination).socket, OK, "connection"},
		{"no such app token", needed(), func(e *examination) { e.Config.Slack.AppToken = "xapp-other" }, (*examination).socket, Fail, "connections:write"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, e := slackOf(t, workspace.Config{Scopes: tc.scopes})
			if tc.change != nil {
				tc.change(e)
			}
			expect(t, e.token(t.Context()), OK, "workspace Sandbox (T0SANDBOX), bot myao (U0BOT)")
			expect(t, tc.check(e, t.Context()), tc.status, tc.says)
		})
	}
}

// An app may have ten connections. Whoever has taken them is asked for.
func TestTooManySockets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says   []string
		status Status
		want   string
	}{
		{[]string{`{"type":"hello","num_connections":2}`}, OK, "connections open with it: 2"},
		{[]string{`{"type":"hello","num_connections":10}`}, Fail, "who else uses this app token?"},
		{[]string{`{"type":"hello","num_connections":1}`, `{"type":"disconnect","reason":"too_many_websockets"}`}, Fail, "who else uses this app token?"},
		{[]string{`{"type":"disconnect","reason":"link_disabled"}`}, Fail, "link_disabled"},
	} {
		var server *httptest.Server
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/api/") {
				fmt.Fprintf(w, `{"ok":true,"url":"ws%s/link"}`, strings.TrimPrefix(server.URL, "http"))
				return
			}
			upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
			conn, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			for _, message := range c.says {
				_ = conn.WriteMessage(websocket.TextMessage, []byte(message))
			}
			_, _, _ = conn.ReadMessage()
		}))
		t.Cleanup(server.Close)
		_, e := slackOf(t, workspace.Config{Scopes: needed()})
		e.Config.Slack.APIURL = server.URL + "/api/"
		expect(t, e.socket(t.Context()), c.status, c.want)
	}
}

func TestNoHomeTab(t *testing.T) {
	t.Parallel()
	w, e := slackOf(t, workspace.Config{})
	w.Faults().Add(workspace.Fault{Method: "views.publish", Error: "not_enabled"})
	expect(t, e.token(t.Context()), OK, "")
	expect(t, e.home(t.Context()), Warn, "app_home_opened")
}

func shifted(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

func TestAnInstallationForAnOrganisation(t *testing.T) {
	t.Parallel()
	w, e := slackOf(t, workspace.Config{})
	w.Faults().Add(workspace.Fault{Method: "auth.test", Alter: func(answer map[string]any) {
		answer["team"], answer["team_id"], answer["enterprise_id"], answer["is_enterprise_install"] = "Acme", "E0ACME", "E0ACME", true
	}})
	expect(t, e.token(t.Context()), Warn, "the whole of organisation Acme (E0ACME)")
}

func TestSlackRefuses(t *testing.T) {
	t.Parallel()
	_, e := slackOf(t, workspace.Config{BotToken: "xoxb-other"})
	expect(t, e.token(t.Context()), Fail, "Bot User OAuth Token")
	e.Slack = slack.New(slack.Config{Token: "xoxb-1", APIURL: "http://127.0.0.1:1/api/"})
	expect(t, e.token(t.Context()), Fail, "make sure that this machine can reach "+e.Config.Slack.APIURL)
	e.Config.Slack.APIURL = "https://u:hunter%402@proxy/api/"
	if found := redact([]Finding{e.token(t.Context())}, e.Config)[0]; strings.Contains(found.Fix, "hunter") || !strings.Contains(found.Fix, "@proxy/api/") {
		t.Errorf("got %+v", found)
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	w, e := slackOf(t, workspace.Config{PageSize: 2})
	alice, bot := w.AddUser("alice").ID, w.Bot().UserID
	general := w.AddChannel(workspace.Public, "general", alice, bot)
	w.AddChannel(workspace.Private, "secret", alice, bot)
	w.AddChannel(workspace.DM, "", alice)
	w.Archive(w.AddChannel(workspace.Public, "old", bot), true)
	expect(t, e.token(t.Context()), OK, "")
	e.Config.Channels = map[string]config.Channel{general: {}, "secret": {}}
	expect(t, e.channels(t.Context()), OK, "in 2 channels and 1 direct message")
	e.Config.Channels["genral"] = config.Channel{}
	expect(t, e.channels(t.Context()), Warn, "not in: genral")
	if len(e.Config.Channels) != 3 {
		t.Error("the check has changed the configuration")
	}
	e.Config.Channels["general"] = config.Channel{}
	expect(t, e.channels(t.Context()), Warn, "not in: genral")
	expect(t, e.channels(t.Context()), Warn, "not used: general")
	delete(e.Config.Channels, "genral")
	expect(t, e.channels(t.Context()), Warn, "not used: general")
	delete(e.Config.Channels, general)
	e.Config.Tools.PostTo = config.Places{config.PostMembers, general, "#secret"}
	expect(t, e.channels(t.Context()), OK, "in 2 channels")
	e.Config.Tools.PostTo = config.Places{"old", "#genral"}
	expect(t, e.channels(t.Context()), Warn, "are archived: #genral, old")
}

func TestTemporalAtAnUnknownHost(t *testing.T) {
	t.Parallel()
	e := &examination{Doctor: Doctor{Address: "nope.invalid:7233"}}
	e.Dial = func() (client.Client, error) { return client.NewLazyClient(client.Options{HostPort: e.Address}) }
	defer e.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	expect(t, e.server(ctx), Fail, "nope.invalid:7233: lookup nope.invalid")
}

// Where the server does not list search attributes, the check tries each one.
func TestSearchAttributesWithoutAList(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		unknown string
		want    Status
		says    string
	}{
		{"", OK, conversation.AttributePhase},
		{conversation.AttributePhase, Warn, "missing: " + conversation.AttributePhase},
	} {
		answer := func(_ context.Context, method string, req, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
			q, counts := req.(*workflowservice.CountWorkflowExecutionsRequest)
			switch {
			case strings.HasSuffix(method, "/ListSearchAttributes"):
				return status.Error(codes.PermissionDenied, "Request unauthorized.")
			case counts && tc.unknown != "" && strings.Contains(q.GetQuery(), tc.unknown):
				return status.Error(codes.InvalidArgument, "not a valid search attribute")
			default:
				return nil
			}
		}
		c, err := client.NewLazyClient(client.Options{ConnectionOptions: client.ConnectionOptions{
			DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(answer)},
		}})
		testserver.Must(t, err)
		defer c.Close()
		e := &examination{Doctor: Doctor{Namespace: "myao.a1b2c", Address: "us-east-1.aws.api.temporal.io:7233"}, temporal: c}
		expect(t, e.attributes(t.Context()), tc.want, tc.says)
	}
}
