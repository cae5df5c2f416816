package conversation

import "testing"

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
		{name: "waiting, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, hushed(0), "", "idle", ""),
		}},
		{name: "waiting, others left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, said(10), "", "waiting until 310"),
			at(20, hushed(10), "", "waiting until 310", "pending 0"),
		}},
		{name: "judging, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, hushed(0), "cancel; settle#1 dropped by slack:U1", "idle", ""),
			at(302, yes(1, noDelay), "", "idle"),
		}},
		{name: "judging, others left: judged again without it", steps: []step{
			at(0, together(said(0), said(10)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 10", "judging"),
			at(301, hushed(10), "cancel; settle#1 dropped by slack:U1", "waiting until 601", "pending 0"),
			at(601, Tick{}, "judge#2 0", "judging"),
		}},
		{name: "delaying, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, 120), "", "delaying until 422"),
			at(310, hushed(0), "settle#1 dropped by slack:U1", "idle", ""),
			at(422, Tick{}, "", "idle"),
		}},
		{name: "composing an ordered reply, others left", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(10, AnswerNow{By: "alice"}, "compose#1 1", "replying"),
			at(11, hushed(0), "cancel; settle#1 dropped by slack:U1; compose#2 1", "replying", "pending 1"),
		}},
		{name: "composing an answer, nothing left", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, hushed(0), "cancel; settle#1 dropped by slack:U1", "idle", ""),
		}},
		{name: "composing an answer to several: the others get it", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, hushed(1), "cancel; settle#1 dropped by slack:U1; compose#2 0!", "replying", "answering 0!"),
		}},
		{name: "kept for later", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying", "answering 0!, later 1"),
			at(2, hushed(1), "", "replying", "answering 0!"),
		}},
		{name: "posting: not withdrawn, and an edit does not make it pending again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, noDelay), "compose#1 0", "replying"),
			at(303, composed(1, Done), "post#1 0", "replying"),
			at(304, hushed(0), "", "replying", "pending 0"),
			at(305, edited(0, "305"), "", "replying", "pending 0"),
			at(306, posted(1, Done), "", "idle", ""),
		}},
		{name: "posting an answer to several: the post continues", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, composed(1, Done), "post#1 1!", "replying"),
			at(2, hushed(0), "", "replying", "answering 1!"),
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
		{name: "at the top level", in: topLevel, steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(10, hushed(1), "", "waiting until 300", "pending 0"),
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
		{name: "delayed in a thread", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, 120), "", "delaying until 422"),
			at(310, requested(0), "settle#1 withdrawn by 0; compose#2 0!", "replying", "answering 0!"),
		}},
		{name: "waiting at the top level: it is answered in a thread, the others wait", in: topLevel, steps: []step{
			at(0, together(said(0), said(1), said(2)), "", "waiting until 300"),
			at(10, requested(1), "", "waiting until 310", "pending 0 2"),
		}},
		{name: "delayed at the top level", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, 120), "", "delaying until 422"),
			at(310, requested(0), "settle#1 withdrawn by 0", "idle", ""),
			at(422, Tick{}, "", "idle"),
		}},
		{name: "judged long ago", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, no(1), "", "idle"),
			at(400, requested(0), "compose#2 0!", "replying", "answering 0!"),
		}},
		{name: "hushed before", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, hushed(0), "", "idle"),
			at(20, requested(0), "compose#1 0!", "replying", "answering 0!"),
		}},
	})
}
