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
	"myao/internal/llm/llmtest"
	"myao/internal/pause"
	"myao/internal/testserver"
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
		// broken breaks the system. People go on to ask the bot something every three seconds.
		broken func(w *world)
		// check is the first problem of the doctor, which says this.
		check, says string
		// alert is the first that fires.
		alert string
		// ready is a part of the starter's /readyz; empty: it is ready.
		ready string
	}{
		{
			name:   "slack token revoked",
			broken: func(w *world) { w.workspace.Uninstall() },
			check:  "slack token", says: "install the app again, set slack.bot_token",
			alert: "MyaoSlackRevoked", ready: "the app was uninstalled from the workspace at ",
		},
		{
			name: "model key wrong",
			broken: func(w *world) {
				w.model.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: 403, Message: "API key not valid"} })
			},
			check: "model calls", says: "set llm.gemini.api_key",
			alert: "MyaoModelRefusesKey",
		},
		{
			name: "model slow",
			broken: func(w *world) {
				w.model.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 35 * time.Second, Text: "at last"} })
			},
			check: "model calls", says: "took more than 35s",
			alert: "MyaoModelSlow",
		},
		{
			name: "postgres read-only",
			broken: func(w *world) {
				name := w.database[strings.LastIndex(w.database, "/")+1 : strings.LastIndex(w.database, "?")]
				w.execute("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
				w.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			},
			check: "database writes", says: "it is read-only",
			alert: "MyaoDatabaseReadOnly", ready: "database: write to database: it is read-only",
		},
		{
			name: "postgres disk full", database: tablespace,
			broken: func(w *world) { w.fill() },
			check:  "database writes", says: "the disk of the database is full",
			alert: "MyaoDatabaseFull",
		},
		{
			name: "sqlite disk full", database: func(_ *testing.T, disk string) string { return "sqlite:" + filepath.Join(disk, "myao.db") },
			broken: func(w *world) { w.fill() },
			check:  "database file", says: "free space there",
			alert: "MyaoDatabaseFull",
		},
		{
			name:   "temporal namespace gone",
			broken: (*world).deleteNamespace,
			check:  "namespace", says: "does not exist",
			alert: "MyaoNamespaceGone", ready: "does not exist",
		},
		{
			name:   "clock off by ten minutes",
			broken: func(w *world) { w.workspace.SkewClock(10 * time.Minute) },
			check:  "slack clock", says: "synchronise this machine's clock with NTP",
			alert: "MyaoClockOff",
		},
		{
			name: "an mcp server that hangs", config: "mcp: {servers: {desk: {url: " + strconv.Quote(desk.url) + ", channels: [all]}}}",
			broken: func(w *world) {
				w.model.Handle(func(c llmtest.Call) llmtest.Reply {
					if len(c.Turns) == 0 && slices.ContainsFunc(c.Tools, func(t llm.Tool) bool { return t.Name == "desk__find" }) {
						return llmtest.Reply{Calls: []llm.Call{{Name: "desk__find", Input: json.RawMessage(`{}`)}}}
					}
					return llmtest.Default(c)
				})
				w.ask()
				w.await("the tool to be called", time.Minute, func() bool {
					return slices.ContainsFunc(w.model.Calls(), func(c llmtest.Call) bool { return len(c.Turns) > 0 })
				})
				desk.hangs.Store(true)
			},
			check: "mcp desk", says: "it does not answer",
			alert: "MyaoToolServerAway",
		},
		{
			name: "a channel of 10,000 messages an hour",
			broken: func(w *world) { // ten minutes of it, in one
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
			alert: "MyaoFlood",
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			var w *world
			if way.database == nil {
				w = start(t, testserver.Postgres(t), way.config)
			} else {
				disk := smallDisk(t)
				w = start(t, way.database(t, disk), way.config)
				w.disk = disk
			}
			t.Logf("all was well after %s", time.Since(began).Round(time.Second))
			way.broken(w)
			stop := w.talk()
			w.firesFirst(way.alert)
			stop()
			w.namesFirst(way.check, way.says)
			t.Logf("after %s", time.Since(began).Round(time.Second))
			w.await("/readyz to say why", 30*time.Second, func() bool { return strings.Contains(w.readyz(w.door), way.ready) })
		})
	}
}

// namesFirst waits until the doctor names a cause before anything else.
func (w *world) namesFirst(check, says string) {
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

// firesFirst waits until an alert fires, and looks for some seconds more whether it stays the first one.
func (w *world) firesFirst(alert string) {
	w.t.Helper()
	var seen []string
	fires := false
	ran := testserver.MeasureRunning()
	for until := time.Minute; ran() < until; time.Sleep(500 * time.Millisecond) {
		now := w.firing()
		for _, name := range now {
			if !slices.Contains(seen, name) {
				seen = append(seen, name)
			}
		}
		if !fires && slices.Contains(now, alert) {
			fires, until = true, ran()+settling
		}
	}
	now := w.firing()
	w.t.Logf("fired: %q; now %q", seen, now)
	if !fires || len(now) == 0 || now[0] != alert {
		w.t.Errorf("%s is not the first alert: %q, fired: %q", alert, now, seen)
	}
}

// talk has alice ask the bot something every three seconds until the returned function is called.
func (w *world) talk() (stop func()) {
	ctx, stop := context.WithCancel(w.t.Context())
	go func() {
		for w.ask(); pause.For(ctx, 3*time.Second); {
			w.ask()
		}
	}()
	return stop
}

// settling is how long consequences have to raise alerts of their own.
const settling = 15 * time.Second
