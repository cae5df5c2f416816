package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// TestBotsThatAnswerEachOtherStop has another bot that answers every message of ours at once,
// and a model that always wants to speak. Our bot answers three times without a person's
// message, then stays silent with a reason in the ledger. A person's message resets the count.
func TestBotsThatAnswerEachOtherStop(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), configured("channels:\n  plain: {bots: judge}\n  mentions: {bots: [A0OTHER]}\n  thread: {bots: judge}\n  all: {bots: judge, mode: all}\n  chatty: {bots: judge}\n  person-thread: {}\n"),
		modelAnswers(judgeAndAnswer("and what do you say?", llmtest.Yes("a question", 1, 0))))
	for _, test := range []struct {
		channel string
		// opening is how the other bot's answers begin; answers is how many it gives to each of ours.
		opening string
		answers int
		// thread: a person mentions our bot, which then answers in a thread.
		thread bool
		// person: the other bot is an app that writes in a person's name, which addresses ours.
		person bool
	}{
		{channel: "plain", answers: 1},
		{channel: "mentions", opening: s.mention(""), answers: 1},
		{channel: "thread", opening: s.mention(""), answers: 1, thread: true},
		{channel: "all", opening: s.mention(""), answers: 1, thread: true},
		{channel: "person-thread", opening: s.mention(""), answers: 1, thread: true, person: true},
		// So many that our own messages are no longer among the newest ones.
		{channel: "chatty", answers: 21},
	} {
		t.Run(test.channel, func(t *testing.T) {
			t.Parallel()
			s := s.forSubtest(t)
			channel := s.Workspace.AddChannel(workspace.Public, test.channel, s.Workspace.Bot().UserID, s.alice.ID)
			stop := s.otherBot(channel, test.person, func(p workspace.Post, say func(string, ...workspace.SayOption)) {
				for i := range test.answers {
					say(fmt.Sprint(test.opening, "I say so, ", i), workspace.InThread(p.ThreadTS))
				}
			})
			defer stop()
			text := "who is right?"
			if test.thread {
				text = s.mention(text)
			}
			ts, id := s.Workspace.Say(channel, s.alice.ID, text), "channel/T0E2E/"+channel
			if test.thread {
				id = "thread/T0E2E/" + channel + "/" + ts
			}
			for _, round := range []int{1, 2} {
				var rows []store.Decision
				s.await("silence by the rule bot_budget", func() bool {
					rows = s.decisions(id)
					return len(s.postsIn(channel)) >= 3*round && rows[len(rows)-1].Rule == "bot_budget"
				})
				if got := len(s.postsIn(channel)); got != 3*round {
					t.Fatalf("%d answers after a person has spoken %d times, want %d\n%s", got, round, 3*round, s.report())
				}
				if last := rows[len(rows)-1]; last.Rule != "bot_budget" || last.Outcome != "silent" || last.Reason == "" {
					t.Errorf("the ledger ends with %+v, want the budget as a reason for silence", last)
				}
				if round == 1 { // a person's message
					s.Workspace.Say(channel, s.alice.ID, "go on?", workspace.InThread(s.postsIn(channel)[0].ThreadTS))
				}
			}
		})
	}
}

// Somebody who writes through an app, as with a user token, is answered like anybody: Slack names the person and the
// app.
func TestPersonWhoWritesThroughAnApp(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t))
	voice := workspace.App{BotID: "B0VOICE", Name: "voice", UserID: s.alice.ID}
	said := map[string]string{} // by channel
	for _, place := range []string{s.room(), s.room(), s.room(), s.Workspace.AddChannel(workspace.DM, "", s.alice.ID)} {
		said[place] = ""
	}
	i := 0
	for place := range said {
		switch {
		case place[0] == 'D':
			said[place] = s.Workspace.SayAsApp(place, voice, "hello?")
			continue
		case i == 0:
			said[place] = s.Workspace.SayAsApp(place, voice, s.mention("hello?"))
		case i == 1:
			said[place] = s.Workspace.SayAsApp(place, voice, s.mention("hello?"), workspace.InThread(s.Workspace.Say(place, s.bob.ID, "a thread")))
		default:
			said[place] = s.Workspace.SayAsApp(place, voice, "hello")
			s.Workspace.Edit(place, said[place], s.mention("hello?"))
		}
		i++
	}
	for place := range said {
		s.await("the answer in "+place, func() bool { return len(s.postsIn(place)) == 1 })
	}
}

// forSubtest returns the same system for a subtest.
func (s *system) forSubtest(t *testing.T) *system {
	part := *s
	part.t = t
	return &part
}

// otherBot answers each of our posts in a channel until it is stopped, in its own name or through an app in a person's.
func (s *system) otherBot(channel string, person bool, answer func(p workspace.Post, say func(string, ...workspace.SayOption))) (stop func()) {
	s.t.Helper()
	other := workspace.App{BotID: "B0OTHER", Name: "other", UserID: s.alice.ID}
	if !person {
		other.UserID = s.Workspace.AddUser("other-" + channel).ID
	}
	stopped := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for seen := 0; ; {
			for _, p := range s.postsIn(channel)[seen:] {
				seen++
				answer(p, func(text string, options ...workspace.SayOption) {
					s.Workspace.SayAsApp(channel, other, text, options...)
				})
			}
			select {
			case <-tick.C:
			case <-stopped:
				return
			}
		}
	})
	return func() { close(stopped); group.Wait() }
}

// countRule counts the decisions made by a rule.
func countRule(rows []store.Decision, rule string) (n int) {
	for _, r := range rows {
		if r.Rule == rule {
			n++
		}
	}
	return n
}
