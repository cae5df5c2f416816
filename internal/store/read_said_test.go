package store

import (
	"fmt"
	"testing"

	"myao/internal/chat"
)

// Who said an address first, and what programs were told, is found on each database alike.
func TestSaidAndTold(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		own, other := said(at(5), ""), said(at(3), "")
		own.Own, own.Text, other.Text = true, "see https://X.example/a_b", "see <https://x.example/axb>"
		none := said(at(4), "")
		none.Text = "100% of x-example"
		db.store(t, own)
		db.store(t, other)
		db.store(t, none)
		for word, want := range map[string]string{"x.EXAMPLE": at(3) + " " + at(5), "a_b": at(5), "%": at(4), `\`: ""} {
			found, err := db.Mentioning(t.Context(), team, word, 10)
			must(t, err)
			got := ""
			for i, m := range found {
				if i > 0 {
					got += " "
				}
				got += m.TS
			}
			if got != want {
				t.Errorf("%q: %q, want %q", word, got, want)
			}
		}
		c := chat.Conversation{Team: team, Channel: channel}
		for i, d := range []string{"a", "b", "c"} {
			db.clock.advance(1000)
			must(t, errOf(db.SaveTurn(t.Context(), c, at(1), Turn{Decision: d, Steps: []Step{
				{CallID: "1", Tool: "s__look", Input: fmt.Sprintf(`{"n":%d}`, i), State: StepWaiting}, {CallID: "2", Tool: "read_channel", Input: "{}", State: StepWaiting},
			}})))
		}
		told, err := db.Told(t.Context(), team, "b", 10)
		if err != nil || len(told) != 2 || told[0].Decision != "c" || told[0].Input != `{"n":2}` || told[1].Decision != "a" {
			t.Errorf("told %+v, %v", told, err)
		}
	})
}
