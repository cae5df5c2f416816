package drill

import (
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"myao/internal/operate/doctor"
	"myao/sandbox/workspace"
	"myao/test/testserver"
	"myao/test/world"
)

// system is the running system of one drill, with a Prometheus that watches it.
type system struct {
	*world.World
	t    *testing.T
	disk string // where the database is, if that disk is small

	general, alice  string // ids of a channel and of somebody in it
	starter, worker *world.Program
	prometheus      string   // its host:port
	rules           []string // the alerts, in the order of the file
	asked           string   // the ts of the first question
}

// start starts everything and returns once nothing is wrong: neither by starter doctor nor by an alert.
func start(t *testing.T, temporal, database, config string) *system {
	t.Helper()
	w := &system{t: t, World: world.New(t, world.Settings{
		Name: "drill", Temporal: temporal, Database: database,
		Slack: workspace.Config{Team: "T0DRILL", RetryAfter: []time.Duration{0, time.Second, 5 * time.Second}, Deliverers: 8},
	})}
	w.starter, w.worker = w.Starters[0], w.Workers[0]
	w.alice = w.Workspace.AddUser("alice").ID
	w.general = w.Workspace.AddChannel(workspace.Public, "general", w.Workspace.Bot().UserID, w.alice)
	w.Configure("{retention: {messages_days: 400}, llm: {prices: {test: {input: 1, output: 1}}}, response: {min_wait_seconds: 1}}",
		"agents: {judgment: {model: test}, memory: {model: test}}", config)
	w.Start()
	w.worker.Ready()
	w.watch()
	w.await("the doctor to find nothing", func() bool { return w.problems() == nil })
	w.await("Prometheus to scrape", func() bool { return w.query(`count(myao_build_info)`) == "2" })
	w.await("the alerts to stop", func() bool { return len(w.firing()) == 0 })
	return w
}

// say has alice say something in general, and returns its ts.
func (w *system) say(text string) string { return w.Workspace.Say(w.general, w.alice, text) }

// ask has alice mention the bot in general.
func (w *system) ask() string { return w.say("<@" + w.Workspace.Bot().UserID + "> how are you?") }

// execute runs a statement on a connection of its own, to the drill's Postgres database.
func (w *system) execute(statement string) {
	w.t.Helper()
	db, err := sql.Open("pgx", w.Database)
	testserver.Must(w.t, err)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// problems returns what starter doctor finds wrong, as an operator reads it: what fails first, then the
// warnings, each in its order.
func (w *system) problems() (problems []doctor.Finding) {
	w.t.Helper()
	out, complaint, _ := w.Command("doctor", "--json")
	var findings []doctor.Finding
	if err := json.Unmarshal([]byte(out), &findings); err != nil {
		w.t.Fatalf("doctor: %v: %s%s", err, out, complaint)
	}
	for _, status := range []doctor.Status{doctor.Fail, doctor.Warn} {
		for _, f := range findings {
			if f.Status == status {
				problems = append(problems, f)
			}
		}
	}
	return problems
}

// health returns what starter health says of a program.
func (w *system) health(address string) string {
	out, complaint, _ := w.Command("health", "--url", "http://"+address+"/readyz")
	return out + complaint
}

func (w *system) await(what string, done func() bool) {
	w.t.Helper()
	world.Await(w.t, what, done)
}
