package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/internal/llm"
	"myao/internal/runtime/pause"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// The ten ways. Of each, the doctor and the alerts name the cause before any consequence.
func TestDrill(t *testing.T) {
	if !*flagRun {
		t.Skip("minutes; make drill runs it")
	}
	desk := newDesk(t)
	for _, way := range []struct {
		name   string
		config string
		// database makes one on a small disk; nil: an empty Postgres database.
		database func(t *testing.T, disk string) string
		// temporal starts a server, and returns its host:port; nil: a dev server.
		temporal func(t *testing.T) string
		// broken breaks the system. People go on to ask the bot something every three seconds.
		broken func(w *system)
		// check is the first problem of the doctor, which says this.
		check, says string
		// alert is the first that fires.
		alert string
		// health is a part of what starter health says of the starter.
		health string
		// command is another one that tells the cause, or how far it reaches, with a part of what it says.
		// ASKED is the ts of the first question.
		command []string
		tells   string
	}{
		{
			name:   "slack token revoked",
			broken: func(w *system) { w.Workspace.Uninstall() },
			check:  "slack token", says: "install the app again, set slack.bot_token",
			alert: "MyaoSlackRevoked", health: "the app was uninstalled from the workspace at ",
		},
		{
			name: "model key wrong",
			broken: func(w *system) {
				w.Model.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: 403, Message: "API key not valid"} })
			},
			check: "model calls", says: "set llm.gemini.api_key",
			alert: "MyaoModelRefusesKey", health: "ready",
			command: []string{"why", "#general", "ASKED"}, tells: "auth",
		},
		{
			name: "model slow",
			broken: func(w *system) {
				w.Model.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 35 * time.Second, Text: "at last"} })
			},
			check: "model calls", says: "took more than 35s",
			alert: "MyaoModelSlow", health: "ready",
			command: []string{"conversations", "--phase", "replying"}, tells: "general",
		},
		{
			name: "postgres read-only",
			broken: func(w *system) {
				name := w.Database[strings.LastIndex(w.Database, "/")+1 : strings.LastIndex(w.Database, "?")]
				w.execute("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
				w.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			},
			check: "database writes", says: "it is read-only",
			alert: "MyaoDatabaseReadOnly", health: "database: write to database: it is read-only",
		},
		{
			name: "postgres disk full", database: tablespace,
			broken: func(w *system) { w.fill() },
			check:  "database writes", says: "the disk of the database is full",
			alert: "MyaoDatabaseFull",
		},
		{
			name: "sqlite disk full", database: func(_ *testing.T, disk string) string { return "sqlite:" + filepath.Join(disk, "myao.db") },
			broken: func(w *system) { w.fill() },
			check:  "database file", says: "free space there",
			alert: "MyaoDatabaseFull",
		},
		{
			name:   "temporal namespace gone",
			broken: (*system).deleteNamespace,
			check:  "namespace", says: "does not exist",
			alert: "MyaoNamespaceGone", health: "does not exist",
			command: []string{"conversations"}, tells: "has no namespace",
		},
		{
			name:   "clock off by ten minutes",
			broken: func(w *system) { w.Workspace.SkewClock(10 * time.Minute) },
			check:  "slack clock", says: "synchronise this machine's clock with NTP",
			alert: "MyaoClockOff", health: "ready",
		},
		{
			name:     "a stuck workflow",
			temporal: temporalThatReports,
			broken:   (*system).stick,
			check:    "stuck", says: "thread/T0DRILL/",
			alert: "MyaoWorkflowTasksFail", health: "ready",
			command: []string{"conversations"}, tells: "unknown",
		},
		{
			name: "an mcp server that hangs", config: "mcp: {servers: {desk: {url: " + strconv.Quote(desk.url) + ", channels: [all]}}}",
			broken: func(w *system) {
				w.Model.Handle(func(c llmtest.Call) llmtest.Reply {
					if len(c.Turns) == 0 && slices.ContainsFunc(c.Tools, func(t llm.Tool) bool { return t.Name == "desk__find" }) {
						return llmtest.Reply{Calls: []llm.Call{{Name: "desk__find", Input: json.RawMessage(`{}`)}}}
					}
					return llmtest.Default(c)
				})
				w.ask()
				w.await("the tool to be called", func() bool {
					return slices.ContainsFunc(w.Model.Calls(), func(c llmtest.Call) bool { return len(c.Turns) > 0 })
				})
				desk.hangs.Store(true)
			},
			check: "mcp desk", says: "it does not answer",
			alert: "MyaoToolServerAway", health: "ready",
			command: []string{"tools", "list"}, tells: "does not answer",
		},
		{
			name: "a channel of 10,000 messages an hour",
			broken: func(w *system) { // ten minutes of it, in one
				go func() {
					for i := range 10_000 / 6 {
						w.say(fmt.Sprint("line ", i))
						if !pause.For(w.t.Context(), time.Minute/(10_000/6)) {
							return
						}
					}
				}()
			},
			check: "busiest channel", says: "channel general",
			alert: "MyaoFlood", health: "ready",
			command: []string{"conversations"}, tells: "general",
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			disk, database, temporal := "", "", ""
			if way.database == nil {
				database = testserver.Postgres(t)
			} else {
				disk = smallDisk(t)
				database = way.database(t, disk)
			}
			if way.temporal == nil {
				temporal = testserver.Temporal(t)
			} else {
				temporal = way.temporal(t)
			}
			w := start(t, temporal, database, way.config)
			w.disk = disk
			t.Logf("all was well after %s", time.Since(began).Round(time.Second))
			way.broken(w)
			stop := w.talk()
			w.firesFirst(way.alert)
			stop()
			w.namesFirst(way.check, way.says)
			t.Logf("after %s", time.Since(began).Round(time.Second))
			w.await("health to say "+way.health, func() bool { return strings.Contains(w.health(w.starter.Address), way.health) })
			if way.command != nil {
				out, complaint, _ := w.Command(strings.Split(strings.ReplaceAll(strings.Join(way.command, "\n"), "ASKED", w.asked), "\n")...)
				if !strings.Contains(out+complaint, way.tells) {
					t.Errorf("starter %q says %q and %q, not %q", way.command, out, complaint, way.tells)
				}
			}
		})
	}
}

// namesFirst waits until the doctor names a cause before anything else.
func (w *system) namesFirst(check, says string) {
	w.t.Helper()
	ran := testserver.MeasureRunning()
	for {
		problems := w.problems()
		if len(problems) > 0 && problems[0].Check == check && strings.Contains(problems[0].Message+" → "+problems[0].Fix, says) {
			w.t.Logf("the doctor names %+v", problems)
			return
		}
		if ran() > time.Minute {
			w.t.Errorf("the doctor does not name %s with %q first: %+v", check, says, problems)
			return
		}
	}
}

// firesFirst waits until an alert fires, and looks for some seconds more whether one fires that stands before it.
func (w *system) firesFirst(alert string) {
	w.t.Helper()
	fired := map[string]bool{}
	ran := testserver.MeasureRunning()
	for until := time.Minute; ran() < until; time.Sleep(500 * time.Millisecond) {
		already := fired[alert]
		for _, name := range w.firing() {
			fired[name] = true
		}
		if fired[alert] && !already {
			until = ran() + settling
		}
	}
	inOrder := slices.DeleteFunc(slices.Clone(w.rules), func(name string) bool { return !fired[name] })
	w.t.Logf("fired: %q", inOrder)
	if len(inOrder) == 0 || inOrder[0] != alert {
		w.t.Errorf("%s is not the first alert: %q", alert, inOrder)
	}
}

// talk has alice ask the bot something every three seconds until the returned function is called.
func (w *system) talk() (stop func()) {
	ctx, stop := context.WithCancel(w.t.Context())
	w.asked = w.ask()
	go func() {
		for pause.For(ctx, 3*time.Second) {
			w.ask()
		}
	}()
	return stop
}

// settling is how long consequences have to raise alerts of their own.
const settling = 15 * time.Second
