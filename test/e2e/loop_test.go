package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"myao/internal/llm/llmtest"
	"myao/internal/sandbox"
	"myao/internal/store"
)

// TestBotsThatAnswerEachOtherStop has another bot that answers whatever ours says, at
// once, and a model that always wants to speak. Ours answers three times without a
// person's word, and says in the ledger why it is silent then; after a person's word
// it may go on.
func TestBotsThatAnswerEachOtherStop(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), channels("channels:\n  plain: {bots: judge}\n  mentions: {bots: judge}\n  thread: {bots: judge}\n  all: {bots: judge, mode: all}\n  chatty: {bots: judge}\n"),
		answers(speaking("and what do you say?", llmtest.Yes("a question", 1, 0))))
	for _, test := range []struct {
		channel string
		// with what the other bot opens its answers, and how many it gives to each of ours.
		opening string
		answers int
		// where a person speaks to ours, which then answers in a thread.
		thread bool
	}{
		{channel: "plain", answers: 1},
		{channel: "mentions", opening: s.mention(""), answers: 1},
		{channel: "thread", opening: s.mention(""), answers: 1, thread: true},
		{channel: "all", opening: s.mention(""), answers: 1, thread: true},
		// Ours is then not among the newest messages any more.
		{channel: "chatty", answers: 21},
	} {
		t.Run(test.channel, func(t *testing.T) {
			t.Parallel()
			s := s.under(t)
			channel := s.workspace.AddChannel(sandbox.Public, test.channel, s.workspace.Bot().UserID, s.alice.ID)
			stop := s.otherBot(channel, func(p sandbox.Post, say func(string, ...sandbox.SayOption)) {
				for i := range test.answers {
					say(fmt.Sprint(test.opening, "I say so, ", i), sandbox.InThread(p.ThreadTS))
				}
			})
			defer stop()
			text := "who is right?"
			if test.thread {
				text = s.mention(text)
			}
			ts, where := s.workspace.Say(channel, s.alice.ID, text), "channel/T0E2E/"+channel
			if test.thread {
				where = "thread/T0E2E/" + channel + "/" + ts
			}
			for _, round := range []int{1, 2} {
				var rows []store.Decision
				s.await("the ledger to say that it is enough", 60*time.Second, func() bool {
					rows = s.decisions(where)
					return count(rows, "bot_budget") >= round
				})
				if got := len(s.postsIn(channel)); got != 3*round {
					t.Fatalf("%d answers after a person has spoken %d times, want %d\n%s", got, round, 3*round, s.story())
				}
				if last := rows[len(rows)-1]; last.Rule != "bot_budget" || last.Outcome != "silent" || last.Reason == "" {
					t.Errorf("the ledger ends with %+v, want the budget as a reason for silence", last)
				}
				if round == 1 { // a person's word
					s.workspace.Say(channel, s.alice.ID, "go on?", sandbox.InThread(s.postsIn(channel)[0].ThreadTS))
				}
			}
		})
	}
}

// under is the same system for a part of the test.
func (s *system) under(t *testing.T) *system {
	part := *s
	part.t = t
	return &part
}

// otherBot answers each post of ours in a channel, until it is stopped.
func (s *system) otherBot(channel string, answer func(p sandbox.Post, say func(string, ...sandbox.SayOption))) (stop func()) {
	s.t.Helper()
	other := sandbox.App{BotID: "B0OTHER", Name: "other", UserID: s.workspace.AddUser("other-" + channel).ID}
	stopped := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for seen := 0; ; {
			for _, p := range s.postsIn(channel)[seen:] {
				seen++
				answer(p, func(text string, options ...sandbox.SayOption) {
					s.workspace.SayAsApp(channel, other, text, options...)
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

// postsIn is what our bot has posted in a channel.
func (s *system) postsIn(channel string) []sandbox.Post {
	return slices.DeleteFunc(s.posts(), func(p sandbox.Post) bool { return p.Channel != channel })
}

// count is how many decisions were made by a rule.
func count(rows []store.Decision, rule string) (n int) {
	for _, r := range rows {
		if r.Rule == rule {
			n++
		}
	}
	return n
}
