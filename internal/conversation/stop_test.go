package conversation

import (
	"testing"
)

func TestStop(t *testing.T) {
	alice, bob := "U1", "U2"
	run(t, []script{
		{name: "while it composes", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(alice, stops(said(1))), "cancel; settle#1 dropped by slack:U1; compose stopped#2 1!", "replying", "answering 1!"),
			at(2, composed(2, Done), "post stopped#2 1!", "replying"),
			at(3, posted(2, Done), "", "idle", ""),
		}},
		{name: "while it looks something up", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, looking(1, 0, "a", "b"), "look#1 round 0 for 0!", "replying"),
			at(2, by(alice, stops(mention(2))), "cancel; settle#1 dropped by slack:U1; compose stopped#2 2!", "replying", "answering 2!"),
			at(3, Looked{1, "a"}, "", "replying"),
		}},
		{name: "while the post is under way", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, composed(1, Done), "post#1 0!", "replying"),
			at(2, by(alice, stops(said(2))), "", "replying", "answering 0!, later 2!"),
			at(3, posted(1, Done), "compose too_late#2 2!", "replying", "answering 2!"),
		}},
		{name: "while a post is under way that fails", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, composed(1, Done), "post#1 0!", "replying"),
			at(2, by(alice, stops(said(2))), "", "replying"),
			at(3, posted(1, Failed), "settle#1 failed; compose stopped#2 2!", "replying"),
		}},
		{name: "while a post is under way that turns out to be outdated: not begun again", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, composed(1, Done), "post#1 0!", "replying"),
			at(2, by(alice, stops(said(2))), "", "replying"),
			at(3, posted(1, Outdated), "compose stopped#2 2!", "replying", "answering 2!"),
		}},
		{name: "by somebody else: an ordinary message", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(bob, stops(said(1))), "", "replying", "answering 0!, later 1"),
		}},
		{name: "by somebody else, who mentions the bot: answered after the post", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(bob, stops(mention(1))), "", "replying", "answering 0!, later 1!"),
			at(2, composed(1, Done), "post#1 0!", "replying"),
			at(3, posted(1, Done), "compose stopped#2 1!", "replying"),
		}},
		{name: "by somebody whose own question waits", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(bob, mention(1)), "", "replying", "answering 0!, later 1!"),
			at(2, by(bob, stops(said(2))), "", "replying", "answering 0!, later 2!"),
		}},
		{name: "by an operator", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, operator(by(bob, stops(said(1)))), "cancel; settle#1 dropped by slack:U2; compose stopped#2 1!", "replying", "answering 1!"),
		}},
		{name: "by one of two who are answered together: the other gets an answer", steps: []step{
			at(0, together(by(alice, mention(0)), by(bob, mention(1))), "compose#1 1!", "replying"),
			at(2, by(bob, stops(said(2))), "cancel; settle#1 dropped by slack:U2; compose#2 0!", "replying", "answering 0!, later 2!"),
			at(3, composed(2, Done), "post#2 0!", "replying"),
			at(4, posted(2, Done), "compose stopped#3 2!", "replying"),
		}},
		{name: "in one signal with the question", steps: []step{
			at(0, by(alice, together(mention(0), stops(said(1)))), "compose stopped#1 1!", "replying", "answering 1!"),
		}},
		{name: "twice: one line", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(alice, stops(said(1))), "cancel; settle#1 dropped by slack:U1; compose stopped#2 1!", "replying"),
			at(2, by(alice, stops(said(2))), "", "replying", "answering 1!, served 2!"),
			at(3, composed(2, Done), "post stopped#2 1!", "replying"),
			at(4, posted(2, Done), "", "idle", ""),
		}},
		{name: "and then a mention: answered", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(alice, stops(said(1))), "cancel; settle#1 dropped by slack:U1; compose stopped#2 1!", "replying"),
			at(2, by(alice, mention(2)), "", "replying"),
			at(3, composed(2, Done), "post stopped#2 1!", "replying"),
			at(4, posted(2, Done), "compose#3 2!", "replying", "answering 2!"),
		}},
		{name: "with nothing under way: an ordinary message", steps: []step{
			at(0, by(alice, stops(said(0))), "", "waiting until 300", "pending 0"),
		}},
		{name: "with nothing under way, after a mention: one line, and nothing waits any more", steps: []step{
			at(0, by(alice, said(0)), "", "waiting until 300"),
			at(5, by(bob, said(5)), "", "waiting until 305"),
			at(6, by(alice, stops(mention(6))), "compose stopped#1 6!", "replying", "answering 6!, served 5"),
		}},
		{name: "a judged reply, by whom it is for", steps: []step{
			at(0, by(alice, said(0)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, noDelay), "compose#1 0", "replying"),
			at(302, by(alice, stops(said(302))), "cancel; settle#1 dropped by slack:U1; compose stopped#2 302!", "replying", "answering 302!"),
		}},
		{name: "a judged reply at the top level, of which nobody knows", in: topLevel, steps: []step{
			at(0, by(alice, said(0)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, noDelay), "compose#1 0 since 0", "replying"),
			at(302, by(alice, stops(said(302))), "cancel; settle#1 dropped by slack:U1", "idle", ""),
		}},
		{name: "the word is taken back", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(alice, stops(said(1))), "cancel; settle#1 dropped by slack:U1; compose stopped#2 1!", "replying"),
			at(2, deleted(1), "cancel; settle#2 withdrawn by 1", "idle", ""),
		}},
		{name: "the line cannot be written", steps: []step{
			at(0, by(alice, stops(mention(0))), "compose stopped#1 0!", "replying"),
			at(1, composed(1, Failed), "settle#1 failed", "idle", ""),
		}},
	})
}

func TestLook(t *testing.T) {
	alice, bob := "U1", "U2"
	run(t, []script{
		{name: "two rounds", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, looking(1, 0, "a", "b"), "look#1 round 0 for 0!", "replying"),
			at(2, Looked{1, "b"}, "", "replying"),
			at(3, Looked{1, "b"}, "", "replying"),
			at(4, Looked{1, "a"}, "compose#1 0! round 1", "replying"),
			at(5, Looked{1, "a"}, "", "replying"),
			at(6, composed(1, Done), "", "replying"), // of the round before
			at(7, looking(1, 1, "c"), "look#1 round 1 for 0!", "replying"),
			at(8, Looked{1, "c"}, "compose#1 0! round 2", "replying"),
			at(9, inRound(2, composed(1, Done)), "post#1 0!", "replying"),
			at(10, posted(1, Done), "", "idle", ""),
		}},
		{name: "nothing to look up in a round", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, looking(1, 0), "compose#1 0! round 1", "replying"),
		}},
		{name: "the asker's next words join the reply", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, by(alice, said(1)), "", "replying", "answering 0!, later 1"),
			at(2, looking(1, 0, "a"), "look#1 round 0 for 0!", "replying"),
			at(3, together(by(alice, mention(3)), by(bob, mention(4)), by(bob, said(5))), "", "replying", "answering 0!, later 1 3! 4! 5"),
			at(6, Looked{1, "a"}, "compose#1 0! round 1 until 3", "replying", "answering 0!, served 1 3!, later 4! 5"),
			at(7, by(alice, said(7)), "", "replying", "answering 0!, served 1 3!, later 4! 5 7"),
			at(8, inRound(1, composed(1, Done)), "post#1 0!", "replying"),
			at(9, posted(1, Done), "compose#2 4!", "replying", "answering 4!, later 5 7"),
		}},
		{name: "the asker's edit is read in the next round", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, looking(1, 0, "a"), "look#1 round 0 for 0!", "replying"),
			at(2, by(alice, edited(0, "r")), "", "replying", "answering 0!, later 0rr"),
			at(3, Looked{1, "a"}, "compose#1 0! round 1", "replying", "answering 0!, served 0rr"),
			at(4, inRound(1, composed(1, Done)), "post#1 0!", "replying"),
			at(5, posted(1, Done), "", "idle", ""),
		}},
		{name: "what joined is answered if the question is deleted", steps: []step{
			at(0, by(alice, mention(0)), "compose#1 0!", "replying"),
			at(1, looking(1, 0, "a"), "look#1 round 0 for 0!", "replying"),
			at(2, by(alice, mention(2)), "", "replying"),
			at(3, Looked{1, "a"}, "compose#1 0! round 1 until 2", "replying"),
			at(4, deleted(0), "cancel; settle#1 withdrawn by 0; compose#2 2!", "replying", "answering 2!"),
		}},
		{name: "a judged reply is withdrawn", steps: []step{
			at(0, by(alice, said(0)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, noDelay), "compose#1 0", "replying"),
			at(302, looking(1, 0, "a"), "look#1 round 0 for 0", "replying"),
			at(303, by(alice, said(303)), "cancel; settle#1 withdrawn by 303", "waiting until 603", "pending 0 303"),
			at(304, Looked{1, "a"}, "", "waiting until 603"),
		}},
		{name: "dropped", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, looking(1, 0, "a"), "look#1 round 0 for 0!", "replying"),
			at(2, Drop{By: "alice"}, "cancel; settle#1 dropped by alice", "idle"),
		}},
		{name: "a later round fails: the notice", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, looking(1, 0, "a"), "look#1 round 0 for 0!", "replying"),
			at(2, Looked{1, "a"}, "compose#1 0! round 1", "replying"),
			at(3, inRound(1, composed(1, Failed)), "compose notice#1 0!", "replying"),
			at(4, composed(1, Done), "post notice#1 0!", "replying"),
		}},
		{name: "the message was deleted in a later round", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, looking(1, 0, "a"), "look#1 round 0 for 1!", "replying"),
			at(2, Looked{1, "a"}, "compose#1 1! round 1", "replying"),
			at(3, inRound(1, composed(1, Gone)), "settle#1 withdrawn by 1; compose#2 0!", "replying"),
		}},
	})
}
