package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/config"
	"myao/internal/runtime/codec"
	"myao/internal/slack/workspaces"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// installable is the configuration of an app that people install, and sealingKey its key.
const (
	installable = `
slack: {bot_token: "", client_id: "1.2", client_secret: client-secret, allowed_workspaces: ["*"]}
server: {public_url: "http://localhost:1"}
encryption: {active_key: one, keys: {one: "` + sealingKey + `"}}
response: {min_wait_seconds: 3600, max_wait_seconds: 7200}
log: {level: warn}`
	sealingKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
)

// busyChannels is how many channels the first workspace has. The others have one.
const busyChannels = 20

// many is a system whose app is installed in many workspaces, with equal ids in all.
type many struct {
	*system
	all []*workspace.Workspace
}

// install starts the programs for n workspaces, and returns once the channels of all have been read.
func install(b *bench, name string, n int, temporal string) *many {
	b.Helper()
	b.logf("%s: %d workspaces", name, n)
	w := &many{system: &system{b: b, World: world.New(b, world.Settings{
		Name: "bench-" + name, Temporal: temporal, Database: b.servers.postgres.Database(), App: &workspace.SlackConfig{},
		Slack: workspace.Config{Team: team, Deliverers: 2, LogLimit: 1000},
		Model: func(llmtest.Call) llmtest.Reply { return llmtest.Text("I see.") },
	})}}
	w.starter, w.worker = w.Starters[0], w.Workers[0]
	w.Configure(installable,
		"response: {workspace_daily_calls: 100000000, workspace_daily_tokens: 1000000000000}")
	seals, err := codec.New(config.Encryption{ActiveKey: "one", Keys: map[string]config.Secret{"one": sealingKey}})
	testserver.Must(b, err)
	s, err := store.Open(b.Context(), w.Database)
	testserver.Must(b, err)
	defer func() { _ = s.Close() }()
	testserver.Must(b, testserver.ErrOf(s.Migrate(b.Context())))
	for i := range n {
		id := fmt.Sprintf("T%05d", i)
		added := w.Add(id, "xoxb-"+id)
		bot := added.Bot()
		w.person = added.AddUser("alice").ID
		channels := 1
		if i == 0 {
			channels = busyChannels
		}
		for k := range channels {
			if id := added.AddChannel(workspace.Public, fmt.Sprint("room-", k), bot.UserID, w.person); i == 0 {
				w.channels = append(w.channels, id)
			}
		}
		token, err := seals.Seal([]byte("xoxb-"+id), workspaces.SealedName(id))
		testserver.Must(b, err)
		testserver.Must(b, testserver.ErrOf(s.SaveInstallation(b.Context(), store.Installation{
			ID: id, Name: id, AppID: bot.AppID, BotUserID: bot.UserID, BotID: bot.BotID, URL: "http://localhost/",
			Tokens: store.Tokens{Token: token}, InstalledBy: "slack:" + w.person,
		})))
		w.all = append(w.all, added)
	}
	w.db = world.DB(b, strings.Replace(w.Database, "postgres@", observerRole+"@", 1))
	w.statements(func() {}) // counted from now on
	w.Start()
	w.worker.Ready()
	b.await("the catching up at start", 20*time.Minute, func() bool {
		return w.count("SELECT COUNT(*) FROM closed_gaps c, gaps g WHERE c.closed = g.newest AND g.newest > 0") == n
	})
	return w
}

// measureShout mentions the bot in quiet workspaces, alone and while another one sends a hundred times as much as each
// of them. Temporal's fairness is on.
func measureShout(b *bench) []row {
	const rate = 2.0          // with the loud one 4 a second, less than half of what two cores bear
	times := b.scaled(100, 3) // as all others together
	temporal := fairTemporal(b)
	defer temporal.Kill()
	w := install(b, "shout", b.scaled(100, 4), temporal.Address)
	defer w.close()
	w.pauseSchedules()
	loud, others := w.all[0], w.all[1:]
	w.ask(others, rate) // warm
	asked := len(others)
	var alone, beside, tails, tailsBeside []float64
	for range b.rounds {
		b.awaitCalm()
		quiet := w.ask(others, rate)
		ctx, stop := context.WithCancel(b.Context())
		shouted := make(chan int)
		go func() { shouted <- w.shout(ctx, loud, rate*float64(times)/float64(len(others))) }()
		noisy := w.ask(others, rate)
		stop()
		n := <-shouted
		asked += 2*len(others) + n
		at := func(took []time.Duration, q float64) float64 { return milliseconds(quantile(took, q)) }
		alone, beside = append(alone, at(quiet, 0.5)), append(beside, at(noisy, 0.5))
		tails, tailsBeside = append(tails, at(quiet, 0.95)), append(tailsBeside, at(noisy, 0.95))
		b.logf("shout: median %.1f ms, beside %d mentions in another workspace %.1f ms; p95 %.1f and %.1f ms",
			at(quiet, 0.5), n, at(noisy, 0.5), at(quiet, 0.95), at(noisy, 0.95))
	}
	posts := func() (n int) {
		for _, one := range w.all {
			n += len(one.Posts())
		}
		return n
	}
	b.await("all answers", 10*time.Minute, func() bool { return posts() >= asked })
	note := fmt.Sprintf("lost %d, doubled %d of %d", max(0, asked-posts()), max(0, posts()-asked), asked)
	if posts() != asked {
		b.Errorf("shout: %s", note)
	}
	return []row{
		newRatioRow(fmt.Sprintf("mention, while one of %d workspaces sends %d times as much", len(w.all), times), "ms",
			atMost(1.5, "×"), beside, alone).
			withNote("%s; p95 %s ms, alone %s ms", note, number(median(tailsBeside)), number(median(tails))),
	}
}

// fairTemporal starts a Temporal server with fairness on.
func fairTemporal(b *bench) *testserver.TemporalServer {
	b.Helper()
	if !b.full {
		return testserver.StartTemporal(b, filepath.Join(b.TempDir(), "temporal.db"), 0, "--dynamic-config-value",
			"matching.enableFairness=true")
	}
	db := testserver.StartPostgres(b, "shared_buffers=512MB", "max_wal_size=4GB")
	return testserver.StartTemporalOnPostgres(b, db, 512, map[string]any{"matching.enableFairness": true})
}

// ask mentions the bot once in each workspace and returns how long each answer took from the intended time.
func (w *many) ask(in []*workspace.Workspace, rate float64) (took []time.Duration) {
	w.b.Helper()
	before, intended, asked := make([]int, len(in)), make([]time.Time, len(in)), make([]string, len(in))
	for i, one := range in {
		before[i] = len(one.Posts())
	}
	openLoop(w.b.Context(), rate, len(in), func(i int, at time.Time) {
		intended[i] = at
		asked[i] = in[i].Say(w.channels[0], w.person, "<@"+in[i].Bot().UserID+"> what about it?")
	})
	w.b.await("the answers", 10*time.Minute, func() bool {
		for i, one := range in {
			if len(one.Posts()) == before[i] {
				return false
			}
		}
		return true
	})
	for i, one := range in {
		posts := one.Posts()[before[i]:]
		at := slices.IndexFunc(posts, func(p workspace.Post) bool { return p.ThreadTS == asked[i] })
		if at < 0 {
			w.b.Fatalf("%s is answered by %+v", one.Team(), posts)
		}
		took = append(took, posts[at].At.Sub(intended[i]))
	}
	return took
}

// shout mentions the bot in one workspace until the context ends, and returns how often.
func (w *many) shout(ctx context.Context, in *workspace.Workspace, rate float64) (n int) {
	var mu sync.Mutex
	openLoop(ctx, rate, 1_000_000, func(i int, _ time.Time) {
		in.Say(w.channels[i%len(w.channels)], w.person, fmt.Sprintf("<@%s> what about %d?", in.Bot().UserID, i))
		mu.Lock()
		defer mu.Unlock()
		n++
	})
	return n
}

// round goes through the workspaces as it is done once a day where nothing happens.
func (w *many) round() {
	w.b.Helper()
	for _, job := range []string{"CatchUp", "ChannelSync", "Memory"} {
		run, err := w.Client.ExecuteWorkflow(w.b.Context(), client.StartWorkflowOptions{TaskQueue: "myao"}, "EachWorkspace",
			map[string]string{"job": job})
		testserver.Must(w.b, err)
		testserver.Must(w.b, run.Get(w.b.Context(), nil))
	}
}

// measureWorkspaces counts what workspaces cost in which nothing happens: the round of the day, and what the programs
// do all along; and what programs ask of Slack that start beside others.
func measureWorkspaces(b *bench) []row {
	n := b.scaled(100, 5) // a thousand cost ten times as much, and a quarter of an hour to set up
	hour := func(n int) (statements float64, w *many) {
		w = install(b, "workspaces", n, b.servers.temporal.Address)
		w.pauseSchedules()
		w.round()
		quiet := b.scaledTime(40*time.Second, 5*time.Second)
		idle := w.statements(func() { time.Sleep(quiet) }) / quiet.Seconds()
		for _, yesterday := range []string{"UPDATE closed_gaps SET closed_us = 1", "UPDATE runs SET ran_us = 1"} {
			testserver.Must(b, testserver.ErrOf(w.db.ExecContext(b.Context(), yesterday)))
		}
		began := time.Now()
		round := w.statements(w.round) - idle*time.Since(began).Seconds()
		b.logf("%d workspaces: %.0f statements for the round of a day, %.1f a second else", n, round, idle)
		return round/24 + idle*time.Hour.Seconds(), w
	}
	one, w := hour(1)
	w.close()
	all, w := hour(n)
	defer w.close()
	asked := func() (calls int) {
		for _, one := range w.all {
			calls += len(one.Calls())
		}
		return calls
	}
	before := asked()
	for _, name := range []string{"worker", "starter"} {
		p := w.Program(name)
		p.Start()
		p.Ready()
		defer p.Kill()
	}
	time.Sleep(b.scaledTime(10*time.Second, time.Second))
	rows := []row{
		newRow(fmt.Sprintf("SQL statements an hour for %d idle workspaces", n), "statements",
			atMost(float64(n), "statements"), all-one).
			withNote("a 24th of the round of the day, and what the programs do without it; one workspace has %.0f", one),
		newRow("calls of Slack by programs that start beside others", "calls", exactly(0, "calls"), float64(asked()-before)),
	}
	rows[1].counted = true
	return rows
}
