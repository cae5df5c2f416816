package conversation

import "testing"

// A hushed message is removed like a deleted one; the decision about it is dropped, not withdrawn.
func TestHushed(t *testing.T) {
	run(t, []script{
		{name: "unknown", steps: []step{
			at(0, hushed(0), "", "idle"),
		}},
		{name: "arrives before the message", steps: []step{
			at(0, hushed(0), "", "idle"),
			at(1, said(0), "", "idle", ""),
		}},
		{name: "sent and hushed in one signal", steps: []step{
			at(0, together(said(0), hushed(0), said(1)), "", "waiting until 300", "pending 1"),
		}},

		{name: "judging, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, hushed(0), "cancel; settle#1 dropped by slack:U1", "idle", ""),
			at(302, yes(1, noDelay), "", "idle"),
		}},

		{name: "composing an answer, nothing left", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, hushed(0), "cancel; settle#1 dropped by slack:U1", "idle", ""),
		}}, {name: "posting: not withdrawn, and an edit does not make it pending again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, noDelay), "compose#1 0", "replying"),
			at(303, composed(1, Done), "post#1 0", "replying"),
			at(304, hushed(0), "", "replying", "pending 0"),
			at(305, edited(0, "305"), "", "replying", "pending 0"),
			at(306, posted(1, Done), "", "idle", ""),
		}},

		{name: "edited later: it stays hushed", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(10, hushed(0), "", "waiting until 300", "pending 1"),
			at(20, edited(0, "20"), "", "waiting until 300", "pending 1"),
		}},
		{name: "hushed and edited in one signal: it stays hushed", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, together(hushed(0), edited(0, "10")), "", "idle", ""),
		}},
		{name: "edited to a mention: it is answered", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, hushed(0), "", "idle"),
			at(20, mentioning(0, "20"), "compose#1 0r20!", "replying"),
			at(21, edited(0, "21"), "", "replying", "answering 0r20!, later 0r21"),
		}},
		{name: "hushed and edited to a mention in one signal: it is answered", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, together(hushed(0), mentioning(0, "301")), "cancel; settle#1 dropped by slack:U1; compose#2 0r301!", "replying"),
		}},
		{name: "edited to a mention and hushed in one signal", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, together(mentioning(0, "10"), hushed(0)), "", "idle", ""),
		}},
		{name: "twice by the same reaction", steps: []step{
			at(0, hushed(0), "", "idle"),
			at(1, mention(0), "compose#1 0!", "replying"),
			at(2, hushed(0), "", "replying"), // the same change again
		}},
	})
}

// requested is a message that a person asked the bot to answer.
func requested(n int) Changes {
	return Changes{{TS: ts(n), Kind: Addressed, By: "slack:U1"}}
}

// A message that a person asks the bot to answer is handled like an edit that adds a mention.
func TestRequested(t *testing.T) {
	run(t, []script{
		{name: "waiting in a thread", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(10, requested(0), "compose#1 0!", "replying", "answering 0!, later 1"),
		}},

		{name: "hushed before", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, hushed(0), "", "idle"),
			at(20, requested(0), "compose#1 0!", "replying", "answering 0!"),
		}},
	})
}
