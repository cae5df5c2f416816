package drill

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/pause"
	"myao/internal/testserver"
)

// The ten ways. Of each, the doctor and the alerts name the cause before any consequence.
func TestDrill(t *testing.T) {
	if !*flagRun {
		t.Skip("minutes; make drill runs it")
	}
	for _, way := range []struct {
		name   string
		config string
		// broken breaks the system. People go on to ask the bot something every two seconds.
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
			name: "postgres read-only",
			broken: func(w *world) {
				name := w.database[strings.LastIndex(w.database, "/")+1 : strings.LastIndex(w.database, "?")]
				w.execute("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
				w.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			},
			check: "database writes", says: "it is read-only",
			alert: "MyaoDatabaseReadOnly", ready: "database: write to database: it is read-only",
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, testserver.Postgres(t), way.config)
			way.broken(w)
			stop := w.talk()
			w.firesFirst(way.alert)
			stop()
			w.namesFirst(way.check, way.says)
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

// talk has alice ask the bot something every two seconds until the returned function is called.
func (w *world) talk() (stop func()) {
	ctx, stop := context.WithCancel(w.t.Context())
	go func() {
		for w.ask(); pause.For(ctx, 2*time.Second); {
			w.ask()
		}
	}()
	return stop
}

// settling is how long consequences have to raise alerts of their own.
const settling = 15 * time.Second
