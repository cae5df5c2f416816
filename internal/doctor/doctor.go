// Package doctor looks at everything that the bot needs, a check for each thing, and says
// how it stands and how what is wrong is mended. It changes nothing anywhere, and tells no
// secret.
package doctor

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/temporal"
)

// Status is how something stands.
type Status string

// The statuses.
const (
	OK Status = "ok"
	// Warn: the bot works, but not as it should.
	Warn Status = "warn"
	// Fail: the bot does not work.
	Fail Status = "fail"
	// Skip: not looked at, since what it rests on is not there.
	Skip Status = "skip"
)

// Finding is what one check has found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Message is one line.
	Message string `json:"message"`
	// Fix is one line that says what to do; empty where nothing is to be done.
	Fix string `json:"mend,omitempty"`
}

// Schedule is one that the starter makes.
type Schedule struct {
	ID    string
	Every time.Duration
}

// Doctor is what is to be looked at. Config, Slack, Dial and Clock are required.
type Doctor struct {
	Config config.Config
	Slack  *slack.Client
	// Dial makes a client of Temporal, whose end is Examine's business; Address and
	// Namespace are what it goes by.
	Dial               func() (client.Client, error)
	Address, Namespace string
	Schedules          []Schedule
	// URL is the starter's address as Slack reaches it, without a slash at its end; empty:
	// that on this machine is tried.
	URL string
	// Ask has each model asked for a word.
	Ask   bool
	Clock func() time.Time
	// HTTP reaches the starter; http.DefaultTransport if nil.
	HTTP http.RoundTripper
}

const (
	// checkTimeout is how long a check may take, and askFor how long a model may.
	checkTimeout = 5 * time.Second
	modelTimeout = 30 * time.Second
)

// check is one row of what is looked at.
type check struct {
	name string
	// needs is the check above without whose success there is nothing to look at.
	needs   string
	timeout time.Duration
	run     func(context.Context) Finding
}

// examination is a Doctor at work, with what one check opens for those that need it.
type examination struct {
	Doctor
	own       slack.Identity
	grant     slack.TokenInfo
	reached   bool // something answers at the events address
	temporal  client.Client
	db        *store.Store
	freeSpace func(dir string) (left uint64, known bool)
}

// Examine makes all checks side by side and returns what they found, in an order that does
// not change from time to time.
func (d Doctor) Examine(ctx context.Context) []Finding {
	e := &examination{Doctor: d, freeSpace: freeSpace}
	defer e.close()
	return redact(runChecks(ctx, e.checks()), d.Config)
}

// checks are those that this configuration calls for.
func (e *examination) checks() []check {
	checks := []check{
		{name: "configuration", run: e.configuration},
		{name: "slack token", run: e.token},
		{name: "slack scopes", needs: "slack token", run: e.scopes},
		{name: "slack clock", needs: "slack token", run: e.clock},
		{name: "channels", needs: "slack token", run: e.channels},
	}
	if e.Config.Slack.SocketMode() {
		checks = append(checks, check{name: "socket mode", run: e.socket})
	} else {
		checks = append(checks,
			check{name: "signing secret", run: e.secret},
			check{name: "events address", run: e.events},
			check{name: "door", needs: "events address", run: e.door})
	}
	checks = append(checks,
		check{name: "temporal", run: e.server},
		check{name: "namespace", needs: "temporal", run: e.namespace},
		check{name: "search attributes", needs: "namespace", run: e.attributes},
		check{name: "workers", needs: "namespace", run: e.workers},
		check{name: "paused", needs: "namespace", run: e.paused},
		check{name: "schedules", needs: "namespace", run: e.schedules},
		check{name: "memory", needs: "schedules", run: e.lastRun(temporal.MemorySchedule)},
		check{name: "catch-up", needs: "schedules", run: e.lastRun(temporal.CatchUpSchedule)},
		check{name: "database", run: e.database},
		check{name: "database writes", needs: "database", run: e.writes})
	if _, ok := e.Config.Database.SQLitePath(); ok {
		checks = append(checks, check{name: "database file", needs: "database", run: e.file})
	}
	checks = append(checks,
		check{name: "migrations", needs: "database", run: e.migrations},
		check{name: "backlog", needs: "migrations", run: e.backlog},
		check{name: "channel ids", needs: "migrations", run: e.ids})
	checks = append(checks, e.models()...)
	checks = append(checks, check{name: "templates", run: e.templates})
	return append(checks, check{name: "encryption", run: e.encryption})
}

// runChecks runs checks side by side; one that needs another waits for it.
func runChecks(ctx context.Context, checks []check) []Finding {
	findings := make([]Finding, len(checks))
	done := map[string]chan struct{}{}
	at := map[string]int{}
	for i, c := range checks {
		done[c.name], at[c.name] = make(chan struct{}), i
	}
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			defer close(done[c.name])
			if c.needs != "" {
				<-done[c.needs]
				if on := findings[at[c.needs]].Status; on == Fail || on == Skip {
					findings[i] = Finding{Check: c.name, Status: Skip, Message: "not looked at: see " + c.needs}
					return
				}
			}
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.timeout, checkTimeout))
			defer cancel()
			findings[i] = c.run(ctx)
			findings[i].Check = c.name
		})
	}
	all.Wait()
	return findings
}

func (e *examination) close() {
	if e.temporal != nil {
		e.temporal.Close()
	}
	if e.db != nil {
		_ = e.db.Close() // it was only read
	}
}

// Count is how many of the findings are of a status.
func Count(findings []Finding, s Status) int {
	return len(findings) - len(slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Status == s }))
}
