package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"myao/internal/store"
)

const (
	// callsWindow is how old a call may be that says how a model does now.
	callsWindow = 15 * time.Minute
	// newestCalls is how many calls of a model are looked at.
	newestCalls = 10
	// slowCall is from when on a call keeps people waiting.
	slowCall = 30 * time.Second
)

// calls looks at how the newest calls of each model ended. It asks no model: the ledger knows.
func (e *examination) calls(ctx context.Context) Finding {
	if why := e.noTables(ctx); why != "" {
		return skip("%s", why)
	}
	const most = 500 // among which are some of each model
	newest, err := e.db.NewestCalls(ctx, e.Clock().Add(-callsWindow), most)
	if err != nil {
		return fail("check the database", "%v", err)
	}
	worst := ok("none fails or is slow, of %s", count(len(newest), "call"))
	for _, u := range uses(e.Config) {
		of := slices.DeleteFunc(slices.Clone(newest),
			func(c store.Call) bool { return c.Provider != string(u.Provider) || c.Model != u.Model })
		f := e.callsOf(u, of[:min(len(of), newestCalls)])
		if f.Status == Fail && worst.Status != Fail || f.Status == Warn && worst.Status == OK {
			worst = f
		}
	}
	return worst
}

// callsOf judges the newest calls of one model, the newest first.
func (e *examination) callsOf(u use, calls []store.Call) Finding {
	if len(calls) == 0 {
		return ok("")
	}
	name, last := string(u.Provider)+" "+u.Model+", for "+strings.Join(u.users, ", "), calls[0]
	apiKey, _ := u.AccessKeys(u.key)
	for kind, fix := range map[string]string{"auth": keyFix(apiKey), "quota": quotaFix, "invalid": e.invalidFix(u)} {
		if last.Error == kind {
			return fail(fix+"; then restart the workers", "%s: the newest call, %s ago, failed: %s", name,
				span(e.Clock().Sub(last.Ended)), kind)
		}
	}
	failed := map[string]int{}
	total, often := 0, ""
	var took []time.Duration
	for _, c := range calls {
		took = append(took, c.Latency)
		if c.Error == "" || c.Error == "canceled" {
			continue
		}
		total++
		if failed[c.Error]++; failed[c.Error] > failed[often] {
			often = c.Error
		}
	}
	slices.Sort(took)
	if 2*total > len(calls) {
		return warn("see the provider's status page, and Myao model fails in docs/alerts.md",
			"%s: %d of the newest %s failed, most often: %s", name, total, count(len(calls), "call"), often)
	}
	if median := took[len(took)/2]; median > slowCall {
		return warn("see the provider's status page, or take a faster model for "+u.key,
			"%s: half of the newest %s took more than %s", name, count(len(calls), "call"), median.Round(time.Second))
	}
	return ok("")
}
