package store

import (
	"slices"
	"testing"
	"time"
)

// One statement a page finds the workspaces that have something to do, and no other.
func TestWorkspacesDue(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		due := func(when string, r DueRequest, want ...string) {
			t.Helper()
			var got []string
			for r.Limit = 2; ; {
				page, err := db.WorkspacesDue(ctx, r)
				must(t, err)
				if got = append(got, page...); len(page) < r.Limit {
					break
				}
				r.After = page[len(page)-1]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: due are %v, want %v", when, got, want)
			}
		}
		// T1 has the token. An organisation's workspaces: T4 is granted, T5 no longer, and T6's organisation has left.
		db.install(t, "T2", "T3", "T7", "E1", "E2")
		must(t, errOf(db.GrantTeam(ctx, "E1", "T4", "", noon)))
		must(t, errOf(db.GrantTeam(ctx, "E1", "T5", "", noon)))
		must(t, errOf(db.WithdrawTeam(ctx, "E1", "T5", noon)))
		must(t, errOf(db.GrantTeam(ctx, "E2", "T6", "", noon)))
		must(t, errOf(db.EndInstallation(ctx, "T3", noon, InstallationUninstalled, "")))
		must(t, errOf(db.EndInstallation(ctx, "E2", noon, InstallationUninstalled, "")))
		for _, team := range []string{"T1", "T2", "T3", "T4", "T5", "T6", "T7"} {
			active := noon
			if team == "T7" {
				active = noon.Add(-time.Hour)
			}
			db.insert(t, &channelRow{TeamID: team, ChannelID: channel, Member: true, ActiveUS: micros(active)})
		}

		lately, job := noon.Add(-time.Minute), "channel-sync"
		due("where something was said", DueRequest{Token: "T1", Active: lately}, "T1", "T2", "T4")
		due("without a token", DueRequest{Active: lately}, "T2", "T4")
		due("nothing was said", DueRequest{Token: "T1", Active: noon.Add(time.Second)})
		sync := DueRequest{Token: "T1", Active: lately, Job: job, Last: noon.Add(-24 * time.Hour)}
		due("never gone through", sync, "T1", "T2", "T4", "T7")
		must(t, db.RecordRun(ctx, job, "T1", "T2", "T7"))
		due("gone through", sync, "T1", "T2", "T4")
		sync.Active = noon.Add(time.Second)
		due("quiet", sync, "T4")
		sync.Last = noon.Add(time.Second)
		due("a day later", sync, "T1", "T2", "T4", "T7")

		gaps := DueRequest{Token: "T1", Gaps: true, Last: noon.Add(-24 * time.Hour)}
		must(t, db.OpenGap(ctx))
		due("a gap", gaps, "T1", "T2", "T4", "T7")
		for _, team := range []string{"T1", "T2", "T7"} {
			must(t, db.MarkRead(ctx, team, channel, 1))
			must(t, db.CloseGap(ctx, team))
		}
		due("closed in some", gaps, "T4")
		db.insert(t, &channelRow{TeamID: "T2", ChannelID: "C2", Member: true})
		due("in a new channel", gaps, "T2", "T4")
		gaps.Last = noon.Add(time.Second)
		due("read a day ago", gaps, "T1", "T2", "T4", "T7")
	})
}
