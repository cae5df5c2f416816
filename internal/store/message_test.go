package store

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
)

func TestRecordKeepsAllOfAMessage(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := chat.Message{
			Team: team, Channel: channel, TS: at(2), ThreadTS: at(1), UserID: "U1", BotID: "B1", Own: true, Name: "名前",
			Text: "a 'quoted' \"text\" with $1 ? and 🦊\nlines", Revision: at(3),
			Files: []chat.File{{ID: "F1", Name: "cat?.png", MIME: "image/png"}, {Name: "plain"}},
		}
		targets := db.record(t, m, keep(m, conversation.Said))
		if want := []Target{{Conversation: of(m)}}; !reflect.DeepEqual(targets, want) {
			t.Errorf("targets %v, want %v", targets, want)
		}
		got, err := db.Message(t.Context(), team, channel, m.TS)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, m)
		}
		for _, place := range [][3]string{{"T2", channel, m.TS}, {team, "C2", m.TS}, {team, channel, at(9)}} {
			if _, err := db.Message(t.Context(), place[0], place[1], place[2]); !errors.Is(err, ErrNotFound) {
				t.Errorf("message at %v: %v, want ErrNotFound", place, err)
			}
		}
	})
}

func TestRecordPassesWhatIsKnown(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		if k := db.known(t, m); k.Message != nil || k.Handled || k.Addressed || k.Before != nil {
			t.Errorf("of a new message is known %+v", k)
		}
		// Read from Slack's history: stored, not handled.
		db.record(t, m, func(Known) Entry { return Entry{Message: &m} })
		if k := db.known(t, m); k.Message == nil || k.Message.Text != m.Text || k.Handled || k.Addressed {
			t.Errorf("of a message from history is known %+v", k)
		}
		db.record(t, m, keep(m, conversation.Said))
		if k := db.known(t, m); !k.Handled || k.Addressed {
			t.Errorf("of a message heard is known %+v", k)
		}
		// That it addressed the bot at the top level is only known from its thread's change.
		thread := chat.Conversation{Team: team, Channel: channel, Thread: m.TS}
		db.record(t, m, func(Known) Entry {
			return Entry{Changes: []Change{{Conversation: thread, Change: conversation.Change{TS: m.TS, Kind: conversation.Addressed}}}}
		})
		if k := db.known(t, m); !k.Addressed || k.Message.Text != m.Text {
			t.Errorf("of an addressed message is known %+v", k)
		}
		reply := said(at(2), m.TS)
		db.record(t, reply, keep(reply, conversation.Addressed))
		if k := db.known(t, reply); !k.Addressed {
			t.Errorf("of an addressed reply is known %+v", k)
		}
		gone := chat.Message{Team: team, Channel: channel, TS: m.TS, Deleted: true}
		db.record(t, gone, keep(gone))
		if k := db.known(t, m); !k.Message.Deleted || k.Message.Text != "" || !k.Addressed {
			t.Errorf("of a deleted message is known %+v", k)
		}
	})
}

func TestRecordPassesEarlierMessages(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		parent := said(at(1), "")
		deleted := said(at(4), parent.TS)
		deleted.Deleted = true
		elsewhere := said(chat.TS(noon.Add(3500*time.Millisecond)), "")
		otherChannel := said(at(3), parent.TS)
		otherChannel.Channel = "C2"
		db.store(t, said(at(3), parent.TS), parent, said(at(2), parent.TS), deleted, elsewhere, otherChannel, said(at(9), parent.TS))
		m := said(at(5), parent.TS)
		if got, want := seconds(db.known(t, m).Before), "01 02 03 "; got != want {
			t.Errorf("before it stand %s, want %s", got, want)
		}
		if got := db.known(t, said(at(5), "")).Before; got != nil {
			t.Errorf("before a message at the top level stand %v", got)
		}
		for i := range 30 {
			db.store(t, said(at(100+i), parent.TS))
		}
		got := db.known(t, said(at(200), parent.TS)).Before
		if len(got) != maxBefore || got[0].TS != at(110) || got[maxBefore-1].TS != at(129) {
			t.Errorf("of a long thread: %s, want the newest %d in order of time", seconds(got), maxBefore)
		}
	})
}

// Whom the bot answered last follows from what it posted, not from who wrote before it.
func TestRecordPassesWhomTheBotAnswered(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		by := func(user string, m chat.Message) chat.Message { m.UserID, m.Own = user, user == "UBOT"; return m }
		app := said(at(8), at(1))
		app.UserID, app.BotID = "", "B2"
		answer := func(reply, trigger string, posted ...chat.Message) {
			t.Helper()
			p := parts(reply, make([]string, len(posted))...)
			for i := range p {
				p[i].Trigger = trigger
			}
			db.compose(t, p)
			for i, m := range posted {
				must(t, db.MarkPosted(t.Context(), p[i], by("UBOT", m)))
			}
		}
		db.store(t, by("U1", said(at(1), "")), by("U2", said(at(2), at(1))), by("U1", said(at(5), at(1))), app, by("UBOT", said(at(11), at(1))))
		answer("root", at(1), said(at(3), at(1)), said(at(4), at(1)))
		answer("reply", at(2), said(at(6), at(1)))
		answer("an app", at(8), said(at(9), at(1)))
		answer("top", at(1), said(at(20), ""))
		elsewhere := said(at(10), at(1))
		elsewhere.Channel = "C2"
		for _, test := range []struct {
			of   chat.Message
			want string
		}{
			{said(at(2), at(1)), ""}, // no message of the bot
			{said(at(5), at(1)), "U1"},
			{said(at(7), at(1)), "U2"},
			{said(at(10), at(1)), "B2"},
			{said(at(12), at(1)), ""}, // the outbox does not know the bot's last message
			{said(at(21), at(20)), "U1"},
			{said(at(21), ""), ""},
			{elsewhere, ""},
		} {
			if got := db.known(t, test.of).Answered; got != test.want {
				t.Errorf("%s in thread %q: the bot has answered %q, want %q", test.of.TS, test.of.ThreadTS, got, test.want)
			}
		}
	})
}

func TestRecordAddsAChangeOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		for i, want := range []int{1, 0, 0} {
			if targets := db.record(t, m, keep(m, conversation.Said)); len(targets) != want {
				t.Errorf("record %d: %d targets, want %d", i+1, len(targets), want)
			}
		}
		// A change relayed long ago still counts as recorded.
		w := db.pending(t, of(m))
		must(t, db.MarkRelayed(t.Context(), []int64{w[0].ID}))
		if targets := db.record(t, m, keep(m, conversation.Said)); len(targets) != 0 {
			t.Errorf("a change that was relayed is recorded again")
		}
		m.Revision = at(2)
		if targets := db.record(t, m, keep(m, conversation.Said, conversation.Edited)); len(targets) != 2 {
			t.Errorf("another revision: %d targets, want 2", len(targets))
		}
	})
}

func TestRecordOfNothingChangesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		if targets := db.record(t, m, func(Known) Entry { return Entry{} }); targets != nil {
			t.Errorf("targets %v", targets)
		}
		if _, err := db.Message(t.Context(), team, channel, m.TS); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	})
}

// Two events of one message are committed at once. Each is decided before anything is known, and
// again afterwards; the second one then knows what the first has written.
func TestRecordDecidesAgainAfterAConflict(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		for n := range 20 {
			m := said(at(n), "")
			var mu sync.Mutex
			var first, second int // how often each was decided without and with the other known
			errs := concurrently(2, func(int) error {
				_, err := db.Record(t.Context(), m, func(k Known) Entry {
					mu.Lock()
					defer mu.Unlock()
					if k.Message == nil {
						first++
						return keep(m, conversation.Said)(k)
					}
					second++
					if !k.Handled {
						t.Errorf("message %d is known, but not that its event was recorded", n)
					}
					return Entry{}
				})
				return err
			})
			noErrors(t, errs)
			if first != 3 || second != 1 {
				t.Errorf("message %d: decided %d times without and %d times with the other one known", n, first, second)
			}
		}
		db.wantRows(t, 20, "messages", "TRUE")
		if got := len(db.pending(t, chat.Conversation{Team: team, Channel: channel})); got != 20 {
			t.Errorf("%d changes, want 20", got)
		}
	})
}

func TestFailedRecordLeavesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		m := said(at(1), "")
		broken := keep(m, conversation.Said)(Known{})
		broken.Message.Text = "a"
		if db.sqlite == "" {
			broken.Changes[0].TS = "\x00" // Postgres refuses it after the message was written
		} else if err := db.db.Exec("DROP TABLE changes").Error; err != nil {
			t.Fatal(err)
		}
		if _, err := db.Record(t.Context(), m, func(Known) Entry { return broken }); err == nil {
			t.Fatal("no error")
		}
		if _, err := db.Message(t.Context(), team, channel, m.TS); !errors.Is(err, ErrNotFound) {
			t.Errorf("the message without its change is there: %v", err)
		}
	})
}

func TestTail(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		parent := said(at(10), "")
		deleted := said(at(14), parent.TS)
		deleted.Deleted = true
		db.store(t, said(at(12), parent.TS), parent, said(at(11), ""), said(at(13), parent.TS), deleted, said(at(15), ""))
		top, thread := of(parent), chat.Conversation{Team: team, Channel: channel, Thread: parent.TS}
		for _, test := range []struct {
			c     chat.Conversation
			limit int
			want  string
		}{
			{top, 10, "10 11 15 "},
			{top, 2, "11 15 "},
			{thread, 10, "10 12 13 "},
			{thread, 3, "10 12 13 "},
			{thread, 2, "12 13 "},
			{chat.Conversation{Team: team, Channel: "C9"}, 10, ""},
			{chat.Conversation{Team: team, Channel: channel, Thread: at(99)}, 10, ""},
		} {
			got, err := db.Tail(t.Context(), test.c, test.limit)
			if err != nil || seconds(got) != test.want {
				t.Errorf("tail of %s, limit %d: %s, %v; want %s", test.c.ID(), test.limit, seconds(got), err, test.want)
			}
		}
	})
}

// seconds names messages by their seconds after noon.
func seconds(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(time.Time{}.Add(m.Time().Sub(noon)).Format("05") + " ")
	}
	return b.String()
}
