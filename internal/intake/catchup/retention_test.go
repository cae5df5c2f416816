package catchup

import (
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/inprocess"
)

// relay marks all pending changes as relayed.
func (b *bundle) relay() {
	b.Helper()
	backlog, err := b.Store.Backlog(b.Context(), 1000)
	if err != nil {
		b.Fatal(err)
	}
	for _, left := range backlog {
		waiting, err := b.Store.PendingChanges(b.Context(), left.WorkflowID, 1000)
		if err != nil {
			b.Fatal(err)
		}
		for _, w := range waiting {
			if err := b.Store.MarkRelayed(b.Context(), []int64{w.ID}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Catch-up reads history again whose messages were answered and pruned. With the shortest retention that
// the configuration allows, none of them is recorded again; with less, they would be.
func TestPrunedMessagesAreNotRecordedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		kept  int // days
		taken string
	}{
		"as the configuration allows": {kept: 32},
		"with less":                   {kept: 20, taken: "@root, @reply, young enough"},
	} {
		t.Run(name, func(t *testing.T) {
			inprocess.EachDatabase(t, func(t *testing.T, url string) {
				b := prepare(t, options{url: url, response: config.Response{MaxMessageAgeSeconds: 31 * 24 * 3600}})
				b.ThreadWindow = 31 * days
				b.Time.Set(noon.AddDate(0, 0, -100))
				b.sync()
				b.catchUp()
				old := b.say(90*days, b.Mention("long ago"))
				root := b.say(30*days, b.Mention("root"))
				revived := b.say(80*days, "revived")
				for _, ts := range []string{
					old, b.say(89*days, b.Mention("in it"), workspace.InThread(old)), root, b.say(29*days, b.Mention("reply"), workspace.InThread(root)),
					b.say(25*days, "young enough"), revived, b.say(79*days, "was quiet", workspace.InThread(revived)),
				} {
					b.hear(b.standing(ts))
				}
				b.relay()
				b.Time.Set(noon)
				h := store.Cutoffs{Ledger: noon.Add(-time.Duration(tc.kept) * days), Messages: noon.Add(-time.Duration(tc.kept) * days)}
				prune := func() {
					t.Helper()
					if err := b.Store.Prune(t.Context(), h, func(string, int) error { return nil }); err != nil {
						t.Fatal(err)
					}
				}
				prune()
				if _, err := b.Store.Message(t.Context(), "T1", b.General, old); err == nil {
					t.Error("nothing was pruned")
				}
				b.catchUp() // from its mark, a hundred days ago
				b.wantTaken(tc.taken)
				if tc.taken != "" {
					return
				}
				b.wantChanges()
				// What it has read again goes again; and once the mark has moved it is not read.
				prune()
				b.hear(b.standing(b.say(0, "again", workspace.InThread(revived))))
				b.relay()
				if got := b.catchUp(); got.Taken != 0 {
					t.Errorf("%+v", got)
				}
				b.wantTaken("")
				b.wantChanges()
			})
		})
	}
}
