// Package doctor checks everything that the bot needs. Each check reports a status, and how
// to fix what is wrong. The checks change nothing, and their findings hold no secret.
package doctor

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"myao/internal/config"
	"myao/internal/runtime/required"
	"myao/internal/runtime/temporal"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/store"
)

// Status is the result of a check.
type Status string

// The statuses.
const (
	OK Status = "ok"
	// Warn: the bot works, but not as it should.
	Warn Status = "warn"
	// Fail: the bot does not work.
	Fail Status = "fail"
	// Skip: not checked, because something that the check needs is missing.
	Skip Status = "skip"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Message is one line.
	Message string `json:"message"`
	// Fix is one line that says what to do; empty where there is nothing to do.
	Fix string `json:"fix,omitempty"`
}

// Schedule is a Temporal Schedule that the starter creates.
type Schedule struct {
	ID    string
	Every time.Duration
}

// Doctor holds what the checks need. Examine needs all of it, ExamineOnly what its checks look at.
type Doctor struct {
	Config config.Config
	Slack  *slack.Client
	// Dial makes a client of Temporal for Address and Namespace. Examine closes it.
	Dial               func() (client.Client, error)
	Address, Namespace string
	Schedules          []Schedule
	// URL is the address at which Slack reaches the starter, without a slash at its end.
	// Empty: the checks try the starter on this machine.
	URL string
	// Ask sends each model a short question.
	Ask   bool
	Clock func() time.Time
	// HTTP sends requests to the starter; nil is http.DefaultTransport.
	HTTP http.RoundTripper `nil:"ok"`
}

const (
	// checkTimeout bounds a check, and modelTimeout the check of a model.
	checkTimeout = 5 * time.Second
	modelTimeout = 30 * time.Second
	// scheduleTimeout bounds a check that describes schedules. That is a query of Temporal's own
	// workers: the server asks the one that has the schedule in its cache, and others only after 5 s
	// (StickyScheduleToStartTimeout).
	scheduleTimeout = 15 * time.Second
)

// check is one check.
type check struct {
	name string
	// needs names an earlier check. Where that fails or is skipped, this one is skipped.
	needs string
	// timeout bounds run; 0 is checkTimeout.
	timeout time.Duration
	run     func(context.Context) Finding
}

// examination is one run of a Doctor, with what earlier checks open for later ones.
type examination struct {
	Doctor
	own       slack.Identity
	tokenInfo slack.TokenInfo
	reached   bool // something answers at the events address
	temporal  client.Client
	// reportsProblems is set if the server says which workflows' tasks fail.
	reportsProblems bool
	db              *store.Store
	installations   []store.Installation
	freeSpace       func(dir string) (left uint64, known bool)
}

// Examine runs all checks concurrently. The order of the findings is always the same.
func (d Doctor) Examine(ctx context.Context) []Finding {
	required.Fields(&d)
	e := &examination{Doctor: d, freeSpace: freeSpace}
	defer e.close()
	return redact(runChecks(ctx, e.checks()), d.Config)
}

// ExamineOnly is Examine with only the checks whose names begin with one of the prefixes. A check that
// needs one that is left out is left out, too.
func (d Doctor) ExamineOnly(ctx context.Context, prefixes ...string) []Finding {
	e := &examination{Doctor: d, freeSpace: freeSpace}
	defer e.close()
	var only []check
	for _, c := range e.checks() {
		chosen := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(c.name, prefix) })
		needed := c.needs == "" || slices.ContainsFunc(only,
			func(earlier check) bool { return earlier.name == c.needs })
		if chosen && needed {
			only = append(only, c)
		}
	}
	return redact(runChecks(ctx, only), d.Config)
}

// checks returns the checks for this configuration.
func (e *examination) checks() []check {
	checks := []check{
		{name: "configuration", run: e.configuration},
		{name: "retention", run: e.retention},
		{name: "slack token", run: e.token},
		{name: "slack scopes", needs: "slack token", run: e.scopes},
		{name: "home tab", needs: "slack token", run: e.home},
		{name: "slack clock", needs: "slack token", run: e.clock},
		{name: "channels", needs: "slack token", run: e.channels},
	}
	if e.Config.Slack.Status {
		checks = append(checks, check{name: "slack status", needs: "slack token", run: e.threadStatus})
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
		check{name: "stuck", needs: "namespace", run: e.stuck},
		check{name: "paused", needs: "namespace", run: e.paused},
		check{name: "schedules", needs: "namespace", timeout: scheduleTimeout, run: e.schedules},
		check{name: "memory", needs: "schedules", timeout: scheduleTimeout, run: e.lastRun(temporal.MemorySchedule)},
		check{name: "catch-up", needs: "schedules", timeout: scheduleTimeout, run: e.lastRun(temporal.CatchUpSchedule)},
		check{name: "retention runs", needs: "schedules", timeout: scheduleTimeout,
			run: e.lastRun(temporal.RetentionSchedule)},
		check{name: "database", run: e.database},
		check{name: "database writes", needs: "database", run: e.writes})
	if _, ok := e.Config.Database.SQLitePath(); ok {
		checks = append(checks, check{name: "database file", needs: "database", run: e.file})
	}
	checks = append(checks,
		check{name: "migrations", needs: "database", run: e.migrations},
		check{name: "lost work", needs: "migrations", run: e.lost},
		check{name: "backlog", needs: "migrations", run: e.backlog},
		check{name: "search index", needs: "migrations", run: e.searchIndex},
		check{name: "busiest channel", needs: "migrations", run: e.busiest},
		check{name: "promises", needs: "migrations", run: e.promises},
		check{name: "budget", needs: "migrations", run: e.budget},
		check{name: "muted", needs: "migrations", run: e.muted},
		check{name: "channel ids", needs: "migrations", run: e.ids})
	checks = append(checks, e.ofInstallations()...)
	checks = append(checks, e.models()...)
	checks = append(checks, check{name: "model calls", needs: "migrations", run: e.calls})
	checks = append(checks, e.servers()...)
	checks = append(checks, e.hooks()...)
	checks = append(checks, check{name: "templates", run: e.templates}, check{name: "playbooks", run: e.playbooks})
	return append(checks, check{name: "encryption", run: e.encryption}, check{name: "unfinished", needs: "migrations",
		run: e.unfinished})
}

// runChecks runs checks concurrently. A check waits for the one that it needs.
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
					findings[i] = Finding{Check: c.name, Status: Skip, Message: "not checked: see " + c.needs}
					return
				}
			}
			ctx, cancel := timeout.After(ctx, cmp.Or(c.timeout, checkTimeout))
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
		_ = e.db.Close() // the checks only read
	}
}

// Count returns how many findings have the status.
func Count(findings []Finding, s Status) int {
	return len(findings) - len(slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Status == s }))
}
