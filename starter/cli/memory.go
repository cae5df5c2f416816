package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"myao/internal/chat"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// memoryReport is one version of a memory.
type memoryReport struct {
	store.Memory
	ChannelName string `json:"channel_name,omitempty"`
	Current     bool   `json:"current"`
	// Withheld says why no prompt, or only some, show it; empty where nothing holds it back.
	Withheld string `json:"withheld,omitempty"`
}

// newMemoryReport reports a memory without its text.
func newMemoryReport(m store.Memory, current bool) memoryReport {
	m.Text = ""
	return memoryReport{Memory: m, Current: current}
}

// row returns the cells of a table that versionHeading names.
func (r memoryReport) row(zone *time.Location) []string {
	state := "old"
	switch {
	case !r.Forgotten.IsZero():
		state = "forgotten by " + timeline.Plain(r.ForgottenBy) + " at " + r.Forgotten.In(zone).Format(time.DateTime)
	case r.Current:
		state = "current"
	}
	made := "model " + r.Model
	if r.By != "" {
		made = r.By
	}
	return []string{
		strconv.Itoa(r.Version), r.Made.In(zone).Format(time.DateTime), strconv.Itoa(r.TokensOut),
		strconv.Itoa(len(r.Sources)), timeline.Plain(made), state,
	}
}

var versionHeading = []string{"VERSION", "MADE", "TOKENS", "SOURCES", "BY", "STATE"}

// termFlag names one of the two memories of a scope.
type termFlag struct {
	Term string `enum:"long,short," default:"" placeholder:"TERM" help:"long or short. Not needed for a thread, which has only a short one."`
}

func (t termFlag) check(thread string) error {
	switch {
	case t.Term == "" && thread == "":
		return errors.New("--term is missing: want long or short")
	case t.Term == string(chat.LongTerm) && thread != "":
		return errors.New("--term long: a thread has only a short-term memory")
	}
	return checkThread(thread)
}

func (t termFlag) term() chat.Term { return cmp.Or(chat.Term(t.Term), chat.ShortTerm) }

func noVersion(err error, scope chat.Scope, term chat.Term, version int) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("the %s-term memory of %s has no version %d: `starter memory history` lists them", term,
			scope, version)
	case errors.Is(err, store.ErrForgotten):
		return fmt.Errorf("version %d of the %s-term memory of %s was forgotten: its text is deleted", version, term,
			scope)
	}
	return err
}
