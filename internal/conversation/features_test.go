package conversation

import (
	"testing"
	"time"

	"myao/internal/chat"
)

func TestFeatures(t *testing.T) {
	t.Parallel()
	now := time.Unix(10_000, 0)
	at := func(ago int, user, text string) chat.Message {
		return chat.Message{TS: chat.TS(now.Add(-time.Duration(ago) * time.Second)), UserID: user, Name: map[string]string{"U1": "alice", "U2": "bob"}[user], Text: text}
	}
	own := func(ago int) chat.Message { m := at(ago, "UBOT", "said"); m.Own = true; return m }
	reacted := func(m chat.Message, name, user string) chat.Message {
		m.Reactions = append(m.Reactions, chat.Reaction{Name: name, UserID: user})
		return m
	}
	members := []string{"alice", "bob", "田中", "myao"}
	for _, test := range []struct {
		name    string
		target  []chat.Message
		pending int // how many of the newest
		threads map[string][]chat.Message
		want    Features
	}{
		{"nothing", nil, 0, nil, Features{SinceOwn: -1}},
		{"a question", []chat.Message{at(400, "U1", "does anybody know?")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 400, WaitingSeconds: 400, Speakers: 1, SinceOwn: -1, Question: true}},
		{"the oldest pending message waits longest", []chat.Message{at(400, "U1", "why?"), at(60, "U2", "no idea")}, 2, nil,
			Features{Pending: 2, QuietSeconds: 60, WaitingSeconds: 400, Speakers: 2, SinceOwn: -1, Question: true}},
		{"claimed", []chat.Message{reacted(at(10, "U1", "who can restart it?"), "eyes::skin-tone-2", "U2")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 10, WaitingSeconds: 10, Speakers: 1, SinceOwn: -1, Question: true, Claimed: true, ClaimedTS: chat.TS(now.Add(-10 * time.Second))}},
		{"one's own reaction claims nothing", []chat.Message{reacted(reacted(at(10, "U1", "hm"), "eyes", "U1"), "joy", "U2")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 10, WaitingSeconds: 10, Speakers: 1, SinceOwn: -1}},
		{"after the bot", []chat.Message{at(90, "U1", "a"), own(80), at(70, "U1", "Thanks!")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 70, WaitingSeconds: 70, Speakers: 2, OwnShare: 1.0 / 3, SinceOwn: 1, Acknowledgement: true}},
		{"two people talk", []chat.Message{at(9, "U1", "a"), at(8, "U2", "b"), at(7, "U1", "c"), at(6, "U2", "d")}, 2, nil,
			Features{Pending: 2, QuietSeconds: 6, WaitingSeconds: 7, Speakers: 2, SinceOwn: -1, Dialogue: true}},
		{"by name", []chat.Message{at(5, "U1", "Bob, can you look?")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 5, WaitingSeconds: 5, Speakers: 1, SinceOwn: -1, Question: true, NamesOther: true}},
		{"by name in Japanese", []chat.Message{at(5, "U1", "田中さん、お願いします")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 5, WaitingSeconds: 5, Speakers: 1, SinceOwn: -1, NamesOther: true}},
		{"about somebody", []chat.Message{at(5, "U1", "bob is ill")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 5, WaitingSeconds: 5, Speakers: 1, SinceOwn: -1}},
		{"one of two by name", []chat.Message{at(6, "U1", "why?"), at(5, "U1", "bob, lunch")}, 2, nil,
			Features{Pending: 2, QuietSeconds: 5, WaitingSeconds: 6, Speakers: 1, SinceOwn: -1, Question: true}},
		{"the bot by name", []chat.Message{at(5, "U1", "myao, what do you think")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 5, WaitingSeconds: 5, Speakers: 1, SinceOwn: -1, NamesBot: true}},
		{"a word that holds the bot's name", []chat.Message{at(5, "U1", "the myaoify script")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 5, WaitingSeconds: 5, Speakers: 1, SinceOwn: -1}},
		{"a mention of somebody", []chat.Message{at(5, "U1", "ask <@U2|bob>")}, 1, nil,
			Features{Pending: 1, QuietSeconds: 5, WaitingSeconds: 5, Speakers: 1, SinceOwn: -1, MentionsOthers: true}},
		{"answered in a thread", []chat.Message{at(50, "U1", "why?")}, 1, map[string][]chat.Message{chat.TS(now.Add(-50 * time.Second)): {at(40, "U2", "because")}},
			Features{Pending: 1, QuietSeconds: 50, WaitingSeconds: 50, Speakers: 1, SinceOwn: -1, Question: true, AnsweredInThread: true}},
		{"gone on in a thread alone", []chat.Message{at(50, "U1", "why?")}, 1, map[string][]chat.Message{chat.TS(now.Add(-50 * time.Second)): {at(40, "U1", "anybody")}},
			Features{Pending: 1, QuietSeconds: 50, WaitingSeconds: 50, Speakers: 1, SinceOwn: -1, Question: true}},
	} {
		s := Scene{Now: now, Target: test.target, Threads: test.threads, BotID: "UBOT", BotNames: []string{"myao"}, Members: members}
		for _, m := range test.target[len(test.target)-test.pending:] {
			s.Pending = append(s.Pending, m.TS)
		}
		if got := s.Features(); got != test.want {
			t.Errorf("%s:\n got %+v\nwant %+v", test.name, got, test.want)
		}
	}
}
