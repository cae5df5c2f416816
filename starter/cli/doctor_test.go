package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
	"myao/internal/operate/doctor"
	"myao/internal/runtime/temporal"
	"myao/internal/slack/manifest"
	"myao/sandbox/workspace"
	"myao/test/startertest"
	"myao/test/testserver"
	"myao/workflows"
)

// doctorBundle runs starter doctor as a process, against servers of the test.
type doctorBundle struct {
	t      *testing.T
	config string
	env    []string
}

// doctor runs starter doctor, and returns its findings by check and its exit status.
func (p doctorBundle) doctor(args ...string) (map[string]doctor.Finding, int) {
	p.t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"--config", p.config, "doctor", "--json"}, args...)...)
	cmd.Env = append(append(os.Environ(), startertest.Variable+"=1"), p.env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err != nil && cmd.ProcessState.ExitCode() < 0 {
		p.t.Fatal(err)
	}
	var list []doctor.Finding
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		p.t.Fatalf("%v: %s%s", err, &out, &said)
	}
	found := map[string]doctor.Finding{}
	for _, f := range list {
		found[f.Check] = f
		if strings.ContainsAny(f.Message+f.Fix, "\r\n") {
			p.t.Errorf("%s: more than one line", f.Check)
		}
		for _, secret := range []string{"xoxb-1", "xoxb-2", "0123456789abcdef"} {
			if strings.Contains(f.Message+f.Fix, secret) {
				p.t.Errorf("%s: it tells a secret: %+v", f.Check, f)
			}
		}
	}
	return found, cmd.ProcessState.ExitCode()
}

// settle runs the doctor until it fails with a status of 1 in these checks alone. A check has five seconds, so a
// machine that stalls makes others fail.
func (p doctorBundle) settle(when string, want ...string) (found map[string]doctor.Finding) {
	p.t.Helper()
	startertest.Await(p.t, fmt.Sprintf("failures of %v alone, %s", want, when), func() bool {
		var status int
		found, status = p.doctor()
		return status == 1 && slices.Equal(statuses(found, doctor.Fail), want)
	})
	return found
}

// expect checks the status of a finding, and a part of its message.
func (p doctorBundle) expect(found map[string]doctor.Finding, check string, status doctor.Status, says string) {
	p.t.Helper()
	if f := found[check]; f.Status != status || !strings.Contains(f.Message+" → "+f.Fix, says) {
		p.t.Errorf("%s: %+v, want %s with %q", check, f, status, says)
	}
}

func statuses(found map[string]doctor.Finding, s doctor.Status) (names []string) {
	for name, f := range found {
		if f.Status == s {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

const plausible = "0123456789abcdef0123456789abcdef"

// write writes the configuration.
func (p *doctorBundle) write(address, database, slackAPI, token string) {
	p.t.Helper()
	p.config = filepath.Join(p.t.TempDir(), "config.yaml")
	if err := os.WriteFile(p.config, fmt.Appendf(nil, `
slack: {bot_token: %q, signing_secret: %q, api_url: %q}
server: {address: %q}
database: {url: %q}
memory: {interval_seconds: 604800} # not by itself while this is looked at
retention: {messages_days: 400}
agents:
  response: {provider: demo}
  judgment: {provider: demo}
  memory: {provider: demo}
`, token, plausible, slackAPI, address, database), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	scopes := manifest.Names(manifest.Scopes(example(t, nil, io.Discard).Config))
	w := workspace.New(workspace.Config{BotToken: "xoxb-1", SigningSecret: plausible, Scopes: scopes, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(w.Close)
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	w.AddChannel(workspace.Public, "general", w.Bot().UserID)
	ns := startertest.Namespace(t)
	address := testserver.FreeAddress(t)
	p := &doctorBundle{t: t, env: []string{"TEMPORAL_ADDRESS=" + testserver.Temporal(t), "TEMPORAL_NAMESPACE=" + ns}}
	database := startertest.SQLite(t)
	p.write(address, database, server.URL+"/api/", "xoxb-1")
	c := startertest.Client(t, ns)

	found := p.settle("before anything runs", "schedules", "workers")
	p.expect(found, "search attributes", doctor.Warn, "temporal operator search-attribute create --namespace "+ns+" --name MyaoTeam --type Keyword")
	p.expect(found, "schedules", doctor.Fail, "start the starter")
	p.expect(found, "workers", doctor.Fail, "no worker polls myao (workflows), myao (activities), myao-model (activities), myao-tools (activities)")
	p.expect(found, "events address", doctor.Warn, "no starter at http://"+address)
	p.expect(found, "database", doctor.Warn, "does not exist yet")
	if _, err := os.Stat(strings.TrimPrefix(database, "sqlite:")); !os.IsNotExist(err) {
		t.Errorf("the doctor has made a database: %v", err)
	}

	p.serve(address)
	var left atomic.Int64
	pollQueues(t, c, &left)
	var (
		last   map[string]doctor.Finding
		status int
	)
	startertest.Await(t, "all to be well", func() bool {
		last, status = p.doctor("--url", "http://"+address)
		// Slack requires TLS. The dev server does not report workflows whose tasks fail.
		return status == 0 && slices.Equal(statuses(last, doctor.Warn), []string{"events address"}) &&
			slices.Equal(statuses(last, doctor.Skip), []string{"stuck"})
	})
	p.expect(last, "slack token", doctor.OK, "workspace Sandbox (T0SANDBOX), bot myao")
	p.expect(last, "channels", doctor.OK, "in 1 channel")
	p.expect(last, "namespace", doctor.OK, ns+", keeps closed workflows for 24 hours")
	p.expect(last, "door", doctor.OK, "")
	p.expect(last, "backlog", doctor.OK, "nothing waits")

	for _, queue := range []string{"myao (workflows)", "myao (activities)", "myao-model (activities)", "myao-tools (activities)"} {
		asked := regexp.MustCompile(regexp.QuoteMeta(queue) + ` by 1 worker, \d+ seconds ago`)
		if f := last["workers"]; f.Status != doctor.OK || !asked.MatchString(f.Message) {
			t.Errorf("workers: %+v, want ok with %s", f, asked)
		}
	}

	p.expect(last, "memory", doctor.OK, "has not run yet")

	memory := c.ScheduleClient().GetHandle(t.Context(), temporal.MemorySchedule)
	if err := memory.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	startertest.Await(t, "a run that failed", func() bool {
		last, status = p.doctor()
		return last["memory"].Status == doctor.Warn && strings.Contains(last["memory"].Message, "seconds ago, is failed")
	})
	for _, run := range []struct {
		left   int64
		status doctor.Status
		says   string
	}{
		{0, doctor.OK, "seconds ago: completed"},
		{2, doctor.Warn, "failed in part: 2 left out"},
	} {
		left.Store(run.left)
		if err := c.ScheduleClient().GetHandle(t.Context(), temporal.CatchUpSchedule).Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
			t.Fatal(err)
		}
		startertest.Await(t, "a run that has caught up", func() bool {
			last, _ = p.doctor()
			return last["catch-up"].Status == run.status && strings.Contains(last["catch-up"].Message, run.says)
		})
	}
	if err := memory.Pause(t.Context(), client.SchedulePauseOptions{Note: "on holiday"}); err != nil {
		t.Fatal(err)
	}
	startertest.Await(t, "a schedule that is paused to be no failure", func() bool {
		found, status = p.doctor()
		return status == 0 && found["schedules"].Status == doctor.Warn
	})
	p.expect(found, "schedules", doctor.Warn, "memory (on holiday)")
	p.expect(found, "schedules", doctor.Warn, "temporal schedule toggle --unpause --namespace "+ns+" --schedule-id memory")

	wrong := *p
	wrong.env = []string{p.env[0], "TEMPORAL_NAMESPACE=" + ns + "-not"}
	wrong.write(address, database, server.URL+"/api/", "xoxb-2")
	found = wrong.settle("with a wrong token and namespace", "namespace", "slack token")
	wrong.expect(found, "slack token", doctor.Fail, "invalid_auth")
	wrong.expect(found, "namespace", doctor.Fail, "temporal operator namespace create --namespace "+ns+"-not")
}

// serve runs a starter until the test ends, and returns when it is ready.
func (p *doctorBundle) serve(address string) {
	p.t.Helper()
	w := startertest.StartProcess(p.t, p.env, "--config", p.config)
	w.Address = address
	w.Await("the starter to be ready", func() bool { return w.Missing() == nil })
}

// pollQueues polls both task queues as a worker does. Its memory workflow fails, and its catch-up
// fails for left channels.
func pollQueues(t *testing.T, c client.Client, left *atomic.Int64) {
	t.Helper()
	for _, queue := range []string{conversation.TaskQueue, conversation.ModelTaskQueue, conversation.ToolsTaskQueue} {
		w := worker.New(c, queue, worker.Options{})
		w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "ChannelSync"})
		w.RegisterWorkflowWithOptions(func(workflow.Context) (workflows.CatchUpOutput, error) {
			return workflows.CatchUpOutput{Failed: int(left.Load())}, nil
		}, workflow.RegisterOptions{Name: "CatchUp"})
		w.RegisterWorkflowWithOptions(func(workflow.Context) error { return errors.New("out of luck") }, workflow.RegisterOptions{Name: "Memory"})
		w.RegisterActivityWithOptions(func() error { return nil }, activity.RegisterOptions{Name: "none"})
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
	}
}

// With nothing running every check fails.
func TestDoctorWithNothingRunning(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for name, there := range map[string]string{"refused": startertest.Nowhere, "silent": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &doctorBundle{t: t, env: []string{"TEMPORAL_ADDRESS=" + there}}
			p.write(there, "postgres://u:0123456789abcdef@"+there+"/db?sslmode=disable", "http://"+there+"/api/", "xoxb-1")
			found, status := p.doctor("--url", "https://"+there)
			if want := []string{"database", "events address", "slack token", "temporal"}; status != 1 || !slices.Equal(statuses(found, doctor.Fail), want) {
				t.Errorf("status %d, failures %v, want %v", status, statuses(found, doctor.Fail), want)
			}
			for name, f := range found {
				if f.Status == doctor.Fail && f.Fix == "" {
					t.Errorf("%s: it does not say how to fix it", name)
				}
			}
		})
	}
}

func TestDoctorText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printFindings(&out, []doctor.Finding{
		{Check: "configuration", Status: doctor.OK, Message: "valid"},
		{Check: "temporal", Status: doctor.Fail, Message: "gone", Fix: "start it"},
		{Check: "memory", Status: doctor.Skip, Message: "not checked: see temporal"},
	})
	if want := `ok    configuration  valid
fail  temporal       gone
                     → start it
skip  memory         not checked: see temporal
`; err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &out, want)
	}
}

func TestDoctorAddress(t *testing.T) {
	t.Parallel()
	for url, taken := range map[string]bool{
		"": true, "https://myao.example.com": true, "http://127.0.0.1:8080/": true, "myao.example.com": false, "https://myao.example.com/slack/events": false, "http://127.0.0.1/slack/commands/": false,
	} {
		if err := (&doctorCommand{URL: url}).Validate(); (err == nil) != taken {
			t.Errorf("%q: %v", url, err)
		}
	}
}
