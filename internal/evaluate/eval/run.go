// Package eval measures how well a model judges. Labelled conversations are told to the code that judges in
// Slack, on a clock of their own; what it decides is counted, compared and reported.
package eval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"myao/internal/answer/agents"
	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/runtime/required"
	"myao/internal/store"
)

// Runner judges cases with one agent.
type Runner struct {
	// Config is the operator's. Settings of single channels, budgets and quiet hours do not apply.
	Config  config.Config
	Model   llm.Model `nil:"ok"` // of Config.Agents.Judgment; nil where the cache alone answers
	Prompts *prompt.Renderer
	Cases   []Case
	// Repeat is how often each case is judged, Parallel how many are judged at the same time; at least 1.
	Repeat, Parallel int
	Cache            *Cache `nil:"ok"` // nil keeps no answers
	Dir              string // of the run; empty keeps nothing
	Revision         string // of the program
	Clock            func() time.Time
	Logger           *slog.Logger
	// Progress is called after each answer, one at a time; it may be nil.
	Progress func(done, all int, r Row) `nil:"ok"`
}

// job is one case to be judged once.
type job struct {
	Case
	repeat int
}

// Run judges each case that the run in Dir has not judged yet, and returns all answers. When it is
// stopped, what was answered stays in Dir.
func (r Runner) Run(ctx context.Context) (Run, error) {
	required.Fields(&r)
	r.Config.Channels = nil
	r.Config.Response.QuietHours, r.Config.Response.DailyCalls, r.Config.Response.DailyTokens = "", 0, 0
	header, err := r.header()
	if err != nil {
		return Run{}, err
	}
	kept := &log{header: header}
	if r.Dir != "" {
		if kept, err = openLog(r.Dir, header); err != nil {
			return Run{}, err
		}
		defer func() { _ = kept.close() }()
	}
	rows, err := r.answer(ctx, kept, r.missing(kept.rows))
	if err != nil {
		return Run{}, err
	}
	return Run{kept.header, inOrder(rows)}, nil
}

// missing are the answers that a run lacks.
func (r Runner) missing(rows []Row) (jobs []job) {
	type key struct {
		id     string
		repeat int
	}
	known := map[key]bool{}
	for _, row := range rows {
		known[key{row.Case, row.Repeat}] = true
	}
	for repeat := range r.Repeat {
		for _, c := range r.Cases {
			if !known[key{c.ID, repeat}] {
				jobs = append(jobs, job{c, repeat})
			}
		}
	}
	return jobs
}

// answer judges what is missing in a database that lasts as long as the run.
func (r Runner) answer(ctx context.Context, kept *log, jobs []job) (rows []Row, err error) {
	rows = kept.rows
	if len(jobs) == 0 {
		return rows, nil
	}
	s, remove, err := openDatabase(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var one sync.Mutex // guards rows
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.Parallel)
	for _, j := range jobs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			row, err := r.one(ctx, s, j)
			if err != nil {
				return fmt.Errorf("case %s: %w", j.ID, err)
			}
			one.Lock()
			defer one.Unlock()
			if err := kept.append(row); err != nil {
				return err
			}
			rows = append(rows, row)
			if r.Progress != nil {
				r.Progress(len(rows), kept.header.Answers, row)
			}
			return nil
		})
	}
	return rows, group.Wait()
}

// one judges one case once.
func (r Runner) one(ctx context.Context, s *store.Store, j job) (Row, error) {
	row := Row{Case: j.ID, Repeat: j.repeat, Cluster: j.Cluster, Lang: j.Lang, Category: j.Category, Target: j.Target}
	agent := agents.Agent{Agent: r.Config.Agents.Judgment, Model: &asker{model: r.Model, cache: r.Cache,
		sender: r.sender(), repeat: j.repeat, clock: r.Clock, row: &row}}
	sc, err := r.newScene(ctx, j.Case, j.repeat, s, agent)
	if err != nil {
		return Row{}, err
	}
	if j.Play {
		err = sc.play(ctx, &row)
	} else {
		err = sc.judge(ctx, &row)
	}
	return row, err
}

// sender is whom requests go to.
func (r Runner) sender() string {
	a := r.Config.Agents.Judgment
	return string(a.Provider) + " " + r.Config.Access(a).BaseURL
}

func openDatabase(ctx context.Context) (s *store.Store, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "myao-eval-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	if s, err = store.Open(ctx, "sqlite:"+filepath.Join(dir, "cases.db")); err == nil {
		remove = func() error { return errors.Join(s.Close(), os.RemoveAll(dir)) }
		_, err = s.Migrate(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return s, remove, nil
}

func (r Runner) header() (Header, error) {
	cases, err := fingerprint(r.Cases)
	if err != nil {
		return Header{}, err
	}
	agent := r.Config.Agents.Judgment
	agent.APIKey = ""
	settings, err := fingerprint(struct {
		Agent    config.Agent
		Sender   string
		Persona  config.Persona
		Language chat.Language
		TimeZone string
		Response config.Response
		Hush     string
		React    bool
	}{agent, r.sender(), r.Config.Persona, r.Config.Language, r.Config.TimeZone, r.Config.Response,
		r.Config.Slack.HushReaction, r.Config.Slack.React})
	price := r.Config.LLM.Prices[agent.Model]
	return Header{
		V: 1, Cases: cases, Count: len(r.Cases), Repeat: r.Repeat, Answers: len(r.Cases) * r.Repeat,
		Provider: string(agent.Provider), Model: cmp.Or(agent.Model, string(agent.Provider)),
		Prompt: r.Prompts.JudgmentFingerprint(), Settings: settings,
		MinConfidence: r.Config.Response.MinConfidence, Revision: r.Revision, Began: r.Clock().UTC(),
		Input: price.Input, Output: price.Output, Cached: price.CachedInput,
	}, err
}

func fingerprint(v any) (string, error) {
	body, err := json.Marshal(v)
	sum := sha256.Sum256(body)
	return fmt.Sprintf("%x", sum[:8]), err
}
