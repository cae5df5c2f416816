package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"myao/internal/store"
)

func TestPersonCommands(t *testing.T) {
	t.Parallel()
	o := newLedgerBundle(t, "")
	m := o.message(0, "")
	m.Text = "secret"
	m.UserID = "U1ANN"
	o.record(m, "said")
	o.must(o.SaveUsers(t.Context(), "T1", store.User{ID: "U1ANN", Name: "Ann \x1b[2J"}))
	for _, id := range []string{"U2BOB", "U3BOB"} {
		o.must(o.SaveUsers(t.Context(), "T1", store.User{ID: id, Name: "Bob"}))
	}

	o.must(o.SaveUsers(t.Context(), "T1", store.User{ID: "U4BOT", Name: "robot", Bot: true}))
	o.fails(1, []string{"person", "forget", "U4BOT", "--yes"}, "U4BOT is an app")
	o.fails(1, []string{"person", "export", "nobody"}, `nobody is known as "nobody"`)
	o.fails(1, []string{"person", "export", "@Bob"}, "want one of the ids U2BOB, U3BOB")
	for _, who := range []string{"U1ANN", "Ann \x1b[2J"} {
		var x store.PersonExport
		o.must(json.Unmarshal([]byte(o.prints([]string{"person", "export", who}, []string{"secret"}, nil)), &x))
		if len(x.Messages) != 1 || x.User != "U1ANN" || x.Messages[0].Text != "secret" {
			t.Errorf("%s: %+v", who, x)
		}
	}
	file := filepath.Join(t.TempDir(), "ann.json")
	o.prints([]string{"person", "export", "U1ANN", "--out", file}, nil, []string{"secret"})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
	o.fails(1, []string{"person", "export", "U1ANN", "--out", file}, "exists")

	o.fails(1, []string{"person", "forget", "U1ANN"}, "nothing was done: want yes") // standard input is at its end
	o.prints([]string{"person", "export", "U1ANN"}, []string{"secret"}, nil)
	o.prints([]string{"person", "forget", "U1ANN", "--yes", "--by", "carol"}, []string{"U1ANN is forgotten: "}, nil)
	o.prints([]string{"person", "export", "U1ANN"}, []string{`"messages": []`, `"forgotten_at": "2`}, []string{"secret"})
	o.prints([]string{"person", "forget", "U1ANN", "--yes", "--json"}, []string{`"person": "U1ANN"`}, nil)
}
