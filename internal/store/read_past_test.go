package store

import (
	"reflect"
	"testing"
	"time"

	"myao/internal/chat"
)

// Past tells a conversation as it was, without what must not be told any more.
func TestPast(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		ctx := t.Context()
		by := func(n int, thread, user string) chat.Message {
			m := said(at(n), thread)
			m.UserID, m.Text = user, "text of "+user
			return m
		}
		var all []chat.Message
		for n := range 20 { // 1 to 9 are in the thread under 0
			m := by(n, "", "U1")
			if n > 0 && n < 10 {
				m.ThreadTS = at(0)
			}
			all = append(all, m)
		}
		all = append(all, by(20, at(10), "U2"), by(21, at(11), "U2"), by(22, "", "U0CANARY1"), by(23, "", "U2"))
		all[23].Text = "see <@U0CANARY1>"
		must(t, db.SaveHistory(ctx, all))
		for n, r := range []Reaction{ // the third is taken back before the decision, the second after it
			{TS: at(12), Name: "eyes"}, {TS: at(12), Name: "tada"}, {TS: at(13), Name: "eyes"}, {TS: at(13), Name: "tada"}, {TS: at(17), User: "U0CANARY1", Name: "eyes"},
		} {
			r.Team, r.Channel, r.At = team, channel, noon.Add(time.Hour)
			if r.User == "" {
				r.User = "U1"
			}
			must(t, db.PutReaction(ctx, r))
			if n == 1 || n == 2 {
				r.Removed, r.At = true, noon.Add(time.Duration(7-2*n)*time.Hour/2)
				must(t, db.PutReaction(ctx, r))
			}
		}
		later := Reaction{Team: team, Channel: channel, TS: at(12), User: "U1", Name: "heart", At: noon.Add(3 * time.Hour)}
		must(t, db.PutReaction(ctx, later))
		decided := noon.Add(2 * time.Hour)

		ofPast := func(c chat.Conversation, limit int) (ts []string, reactions []string) {
			t.Helper()
			p, err := db.Past(ctx, c, decided, limit)
			must(t, err)
			for _, m := range p.Messages {
				ts = append(ts, m.TS)
			}
			for _, r := range p.Reactions {
				reactions = append(reactions, r.TS+r.Name+r.User)
			}
			return ts, reactions
		}
		expect := func(what string, c chat.Conversation, limit int, wantReactions []string, want ...int) {
			t.Helper()
			ts, reactions := ofPast(c, limit)
			var wantTS []string
			for _, n := range want {
				wantTS = append(wantTS, at(n))
			}
			if !reflect.DeepEqual(ts, wantTS) || !reflect.DeepEqual(reactions, wantReactions) {
				t.Errorf("%s: %v %v, want %v %v", what, ts, reactions, wantTS, wantReactions)
			}
		}
		top, thread := chat.Conversation{Team: team, Channel: channel}, chat.Conversation{Team: team, Channel: channel, Thread: at(0)}
		expect("the top level, with parents", top, 4, nil, 10, 11, 18, 19, 20, 21, 22, 23)
		expect("a thread", thread, 3, nil, 0, 7, 8, 9, 11, 21, 22, 23)
		expect("before the newest", top, 30, []string{at(12) + "eyesU1", at(12) + "tadaU1", at(13) + "tadaU1", at(17) + "eyesU0CANARY1"},
			0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)

		// Somebody begins to be forgotten; the rest is not done yet.
		must(t, markErased(db.db, erasedRow{TeamID: team, Person: PersonKey(chat.Person{Team: team, User: "U0CANARY1"}), UntilUS: micros(noon.Add(time.Hour))}))
		gone := by(19, "", "U1")
		gone.Deleted, gone.Text = true, ""
		_, err := db.Record(ctx, gone, func(Known) Entry { return Entry{Message: &gone, Handled: true} })
		must(t, err)
		db.clock.advance(time.Hour)
		_, err = db.Forget(ctx, chat.Scope(thread), operator, "o1")
		must(t, err)
		_, err = db.ForgetMessages(ctx, team, channel, []string{at(18)}, operator, "o2")
		must(t, err)
		expect("without what is gone", top, 4, nil, 10, 11, 16, 17, 20, 21, 23)
		expect("a forgotten thread", thread, 3, nil, 11, 21, 23)
		p, err := db.Past(ctx, top, decided, 1)
		must(t, err)
		if text := p.Messages[len(p.Messages)-1].Text; text != "see @"+nobody {
			t.Errorf("a forgotten person is mentioned: %s", text)
		}
		decided = chat.Time(at(11))
		expect("until a time", top, 2, nil, 10, 11)
	})
}
