package conversation

import "testing"

func run(t *testing.T, scripts []script) {
	t.Helper()
	t.Parallel()
	for _, sc := range scripts {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			play(t, sc)
		})
	}
}

func TestQuietTime(t *testing.T) {
	run(t, []script{
		{name: "a message waits, is judged, is answered", steps: []step{
			at(0, said(0), "", "waiting until 300", "pending 0"),
			at(299, Tick{}, "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, noDelay), "compose#1 0", "replying"),
			at(305, composed(1, Done), "post#1 0", "replying"),
			at(306, posted(1, Done), "", "idle", ""),
		}},
		{name: "a new message starts it again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(200, said(200), "", "waiting until 500", "pending 0 200"),
			at(300, Tick{}, "", "waiting until 500"),
			at(500, Tick{}, "judge#1 200", "judging"),
		}},
		{name: "a new message withdraws a judgment", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, said(301), "cancel; settle#1 withdrawn by 301", "waiting until 601", "pending 0 301"),
			at(302, yes(1, 0), "", "waiting until 601"),
			at(601, Tick{}, "judge#2 301", "judging"),
		}},
		{name: "a new message withdraws a delayed reply", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, 120), "", "delaying until 422"),
			at(400, said(400), "settle#1 withdrawn by 400", "waiting until 700", "pending 0 400"),
			at(422, Tick{}, "", "waiting until 700"),
		}},
		{name: "a new message withdraws a judged reply being composed", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(302, yes(1, 0), "compose#1 0", "replying"),
			at(304, said(304), "cancel; settle#1 withdrawn by 304", "waiting until 604", "pending 0 304"),
			at(305, composed(1, Done), "", "waiting until 604"),
		}},
		{name: "it follows the newest message, in whatever order they come", steps: []step{
			at(20, said(20), "", "waiting until 320"),
			at(21, together(said(5), said(10)), "", "waiting until 321", "pending 5 10 20"),
			at(321, Tick{}, "judge#1 20", "judging"),
		}},
		{name: "a follow-up has a shorter quiet time", steps: []step{
			at(0, follow(0), "", "waiting until 5"),
			at(5, Tick{}, "judge#1 0", "judging"),
		}},
		{name: "somebody else joins in after a follow-up", steps: []step{
			at(0, follow(0), "", "waiting until 5"),
			at(3, said(3), "", "waiting until 303"),
			at(4, edited(0, "a"), "", "waiting until 304", "pending 0ra 3"),
		}},
		{name: "an edited follow-up stays a follow-up", steps: []step{
			at(0, follow(0), "", "waiting until 5"),
			at(4, edited(0, "a"), "", "waiting until 9"),
		}},
		{name: "called by name", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, named(10), "", "waiting until 17"),
			at(12, edited(10, "a"), "", "waiting until 19"), // still a call
			at(19, Tick{}, "judge#1 10ra", "judging"),
		}},
		{name: "an edit that adds the name", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, Changes{{TS: ts(0), Kind: Edited, Revision: ts(10), Named: true}}, "", "waiting until 17"),
		}},
		{name: "somebody joins in after a call by name", steps: []step{
			at(0, named(0), "", "waiting until 7"),
			at(3, said(3), "", "waiting until 303"),
		}},
		{name: "a follow-up that comes together with an edit of an older message", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(100, together(follow(100), edited(0, "a")), "", "waiting until 105"),
			at(105, Tick{}, "judge#1 100", "judging"),
		}},
	})
}

func TestShortestQuietTime(t *testing.T) {
	t.Parallel()
	both := follow(0)
	both[0].Named = true
	for _, test := range []struct {
		changes                        Changes
		quiet, followUp, named, capped int
		want                           string
	}{
		{said(0), 300, 5, 7, 1800, "waiting until 300"},
		{follow(0), 300, 5, 7, 1800, "waiting until 5"},
		{named(0), 300, 5, 7, 1800, "waiting until 7"},
		{both, 300, 5, 7, 1800, "waiting until 5"},
		{both, 300, 7, 5, 1800, "waiting until 5"},
		{follow(0), 3, 5, 7, 1800, "waiting until 3"},
		{named(0), 3, 5, 7, 1800, "waiting until 3"},
		{named(0), 300, 5, 7, 6, "waiting until 6"},
		{named(0), 300, 5, 0, 1800, "waiting until 0"},
	} {
		s := New(inThread)
		s.Policy = Policy{MinWait: test.quiet, MaxWait: test.capped, FollowUpWait: test.followUp, NamedWait: test.named}
		s.Apply(test.changes, second(0))
		if got := s.phaseUntil(); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestMaxWait(t *testing.T) {
	busy := func(more ...step) []step { // somebody speaks every 290 seconds
		var steps []step
		for n := 0; n <= 1450; n += 290 {
			steps = append(steps, at(n, said(n), "", showUntil(n+300)))
		}
		return append(append(steps, at(1740, said(1740), "", "waiting until 1800")), more...)
	}
	all := "pending 0 290 580 870 1160 1450 1740"
	run(t, []script{
		{name: "a busy channel is judged, and that judgment is not withdrawn", steps: busy(
			at(1800, Tick{}, "judge#1 1740", "judging", all),
			at(1801, said(1801), "", "judging", all+", later 1801"),
			at(1802, yes(1, 300), "compose#1 1740", "replying", all+", later 1801"), // no delay any more
			at(1803, edited(1740, "a"), "", "replying", all+", later 1740ra 1801"),
			at(1804, composed(1, Done), "post#1 1740", "replying"),
			at(1805, said(1805), "", "replying"),
			at(1806, posted(1, Done), "", "waiting until 2106", "pending 1740ra 1801 1805"),
		)},
		{name: "after a no, the messages that came meanwhile wait", steps: busy(
			at(1800, Tick{}, "judge#1 1740", "judging"),
			at(1801, said(1801), "", "judging"),
			at(1802, no(1), "", "waiting until 2102", "pending 1801"),
		)},
		{name: "an addressed message withdraws even a capped judgment", steps: busy(
			at(1800, Tick{}, "judge#1 1740", "judging"),
			at(1801, said(1801), "", "judging"),
			at(1802, mention(1802), "cancel; settle#1 withdrawn by 1802; compose#2 1802!", "replying", "answering 1802!, served 0 290 580 870 1160 1450 1740 1801"),
		)},
		{name: "one of its messages is deleted: judged again at once, with those that came meanwhile", steps: busy(
			at(1800, Tick{}, "judge#1 1740", "judging"),
			at(1801, said(1801), "", "judging"),
			at(1802, deleted(0), "cancel; settle#1 withdrawn by 0", "waiting until 1800", "pending 290 580 870 1160 1450 1740 1801"),
			at(1802, Tick{}, "judge#2 1801", "judging"),
			at(1803, no(2), "", "idle", ""),
		)},
		{name: "a late tick is past it as well", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1800, Tick{}, "judge#1 0", "judging"),
			at(1801, said(1801), "", "judging", "pending 0, later 1801"),
		}},
		{name: "a judgment that ends past it is not delayed", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(1800, yes(1, 60), "compose#1 0", "replying"),
			// The judgment began before MaxWait and ended after it: the yes stands.
			at(1801, said(1801), "", "replying", "pending 0, later 1801"),
		}},
		{name: "it counts from a message that came during an answer", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying", "answering 0!, later 1"),
			at(1500, composed(1, Done), "post#1 0!", "replying"), // the model was away
			at(1650, posted(1, Done), "", "waiting until 1801", "pending 1"),
			at(1801, Tick{}, "judge#2 1", "judging"),
		}},
		{name: "an edit does not move its start", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying"),
			at(1500, edited(1, "a"), "", "replying", "answering 0!, later 1ra"),
			at(1600, composed(1, Done), "post#1 0!", "replying"),
			at(1650, posted(1, Done), "", "waiting until 1801", "pending 1ra"),
		}},
		{name: "a withdrawn reply does not start it again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 600), "", "delaying until 901"),
			at(900, said(900), "settle#1 withdrawn by 900", "waiting until 1200"),
			at(1190, said(1190), "", "waiting until 1490"),
			at(1480, said(1480), "", "waiting until 1780"),
			at(1770, said(1770), "", "waiting until 1800"),
		}},
		{name: "a verdict starts it again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, no(1), "", "idle", ""),
			at(1700, said(1700), "", "waiting until 2000"),
		}},
	})
}

func showUntil(n int) string {
	s := State{Phase: Waiting, DueAt: second(n)}
	return s.phaseUntil()
}

func TestVerdict(t *testing.T) {
	judging := func(more ...step) []step {
		return append([]step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
		}, more...)
	}
	run(t, []script{
		{name: "no", steps: judging(at(302, no(1), "", "idle", ""))},
		{name: "failed: silence", steps: judging(
			at(302, Judged{Epoch: 1, Failed: true}, "settle#1 failed", "idle", ""))},
		{name: "failed, whatever its verdict says", steps: judging(
			at(302, Judged{Epoch: 1, Verdict: yes(1, 0).Verdict, Failed: true}, "settle#1 failed", "idle", ""))},
		{name: "yes, null", steps: judging(at(302, yes(1, noDelay), "compose#1 0", "replying"))},
		{name: "yes, 0", steps: judging(at(302, yes(1, 0), "compose#1 0", "replying"))},
		{name: "yes, below 0", steps: judging(at(302, yes(1, -5), "compose#1 0", "replying"))},
		{name: "yes, 30", steps: judging(
			at(302, yes(1, 30), "", "delaying until 332"),
			at(331, Tick{}, "", "delaying until 332"),
			at(332, Tick{}, "compose#1 0", "replying"),
		)},
		{name: "yes, longer than allowed", steps: judging(at(302, yes(1, 9999), "", "delaying until 902"))},
		{name: "of an old epoch", steps: judging(
			at(301, said(301), "cancel; settle#1 withdrawn by 301", "waiting until 601"),
			at(601, Tick{}, "judge#2 301", "judging"),
			at(602, yes(1, 0), "", "judging"),
			at(603, no(2), "", "idle"),
		)},
		{name: "twice", steps: judging(
			at(302, yes(1, 30), "", "delaying until 332"),
			at(303, yes(1, 60), "", "delaying until 332"),
			at(332, Tick{}, "compose#1 0", "replying"),
			at(333, no(1), "", "replying"),
		)},
	})
}

func TestAddressed(t *testing.T) {
	run(t, []script{
		{name: "is answered at once", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying", "answering 0!"),
			at(2, composed(1, Done), "post#1 0!", "replying"),
			at(3, posted(1, Done), "", "idle", ""),
		}},
		{name: "withdraws a wait", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, mention(10), "compose#1 10!", "replying", "answering 10!, served 0"),
		}},
		{name: "withdraws a judgment", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, mention(301), "cancel; settle#1 withdrawn by 301; compose#2 301!", "replying", "answering 301!, served 0"),
			at(302, yes(1, 0), "", "replying"),
		}},
		{name: "withdraws a delayed reply", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 30), "", "delaying until 331"),
			at(310, mention(310), "settle#1 withdrawn by 310; compose#2 310!", "replying", "answering 310!, served 0"),
		}},
		{name: "withdraws a judged reply being composed", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0", "replying"),
			at(302, mention(302), "cancel; settle#1 withdrawn by 302; compose#2 302!", "replying", "answering 302!, served 0"),
			at(303, composed(1, Done), "", "replying"),
			at(304, composed(2, Done), "post#2 302!", "replying"),
		}},
		{name: "does not withdraw a post", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0", "replying"),
			at(302, composed(1, Done), "post#1 0", "replying"),
			at(303, mention(303), "", "replying", "pending 0, later 303!"),
			at(304, posted(1, Done), "compose#2 303!", "replying", "answering 303!"),
		}},
		{name: "deleted: messages before and after it wait again", steps: []step{
			at(0, together(said(0), mention(1), said(2)), "compose#1 1!", "replying", "answering 1!, served 0, later 2"),
			at(5, deleted(1), "cancel; settle#1 withdrawn by 1", "waiting until 305", "pending 0 2"),
		}},
		{name: "arrived late: later messages wait", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(20, said(20), "", "waiting until 320", "pending 0 20"),
			at(30, mention(10), "compose#1 10!", "replying", "answering 10!, served 0, later 20"),
		}},
		{name: "several together get one reply, to the newest", steps: []step{
			at(0, together(said(0), mention(1), mention(2), said(3)), "compose#1 2!", "replying", "answering 1! 2!, served 0, later 3"),
		}},
		{name: "others during an answer get one more reply for all", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying"),
			at(2, mention(2), "", "replying"),
			at(3, composed(1, Done), "post#1 0!", "replying"),
			at(4, mention(4), "", "replying"),
			at(5, said(5), "", "replying", "answering 0!, later 1 2! 4! 5"),
			at(6, posted(1, Done), "compose#2 4!", "replying", "answering 2! 4!, served 1, later 5"),
			at(7, composed(2, Done), "post#2 4!", "replying"),
			at(8, posted(2, Done), "", "waiting until 308", "pending 5"),
		}},
		{name: "only plain messages during an answer: the quiet time", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying"),
			at(3, composed(1, Done), "post#1 0!", "replying"),
			at(4, said(4), "", "replying"),
			at(6, posted(1, Done), "", "waiting until 306", "pending 1 4"),
		}},
	})
}

func TestAtTheTopLevel(t *testing.T) {
	run(t, []script{
		{name: "an addressed message is not answered here", in: topLevel, steps: []step{
			at(0, mention(0), "", "idle", ""),
		}},
		{name: "a question that waits goes on waiting", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, mention(10), "", "waiting until 310", "pending 0"),
		}},
		{name: "it withdraws a judgment", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, mention(301), "cancel; settle#1 withdrawn by 301", "waiting until 601", "pending 0"),
		}},
		{name: "it withdraws a delayed reply", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, mention(302), "settle#1 withdrawn by 302", "waiting until 602", "pending 0"),
		}},
		{name: "it withdraws a reply being composed", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0 since 0", "replying"),
			at(302, mention(302), "cancel; settle#1 withdrawn by 302", "waiting until 602", "pending 0"),
		}},
		{name: "it does not withdraw a post, nor what is kept for later", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0 since 0", "replying"),
			at(302, composed(1, Done), "post#1 0", "replying"),
			at(303, said(303), "", "replying", "pending 0, later 303"),
			at(304, mention(304), "", "replying", "pending 0, later 303"),
			at(305, said(305), "", "replying", "pending 0, later 303 305"),
			at(306, posted(1, Done), "", "waiting until 606", "pending 303 305"),
		}},
		{name: "messages that come with it wait, too", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, together(said(8), mention(9), said(10)), "", "waiting until 310", "pending 0 8 10"),
		}},
		{name: "arrived late: later messages that waited already get a new quiet time", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(20, said(20), "", "waiting until 320", "pending 0 20"),
			at(30, mention(10), "", "waiting until 330", "pending 0 20"),
		}},
		{name: "arrived late: a later message whose reply was delayed gets a new quiet time", in: topLevel, steps: []step{
			at(20, said(20), "", "waiting until 320"),
			at(320, Tick{}, "judge#1 20", "judging"),
			at(321, yes(1, 60), "", "delaying until 381"),
			at(330, mention(10), "settle#1 withdrawn by 10", "waiting until 630", "pending 20"),
		}},
		{name: "what the same person said before a mention is withdrawn", in: topLevel, steps: []step{
			at(0, by("U1", said(0)), "", "waiting until 300"),
			at(1, by("U2", said(1)), "", "waiting until 301"),
			at(10, by("U1", together(mention(10), said(11))), "", "waiting until 310", "pending 1 11"),
			at(12, by("U2", mention(12)), "", "waiting until 312", "pending 11"),
		}},
		{name: "the only question was by whoever mentions the bot", in: topLevel, steps: []step{
			at(0, by("U1", said(0)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, by("U1", mention(301)), "cancel; settle#1 withdrawn by 301", "idle", ""),
		}},
		{name: "an edit that adds a mention", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, mentioning(0, "a"), "", "idle", ""),
		}},
		{name: "an edit that adds a mention to one of two", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, said(1), "", "waiting until 301"),
			at(301, Tick{}, "judge#1 1", "judging"),
			at(302, mentioning(1, "a"), "cancel; settle#1 withdrawn by 1", "waiting until 602", "pending 0"),
		}},
		{name: "an edit that adds a mention to what is being posted", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0 since 0", "replying"),
			at(302, composed(1, Done), "post#1 0", "replying"),
			at(303, mentioning(0, "a"), "", "replying", "pending 0"),
			at(304, posted(1, Done), "", "idle", ""),
		}},
		{name: "an order goes on, and is composed anew", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, AnswerNow{By: "alice"}, "compose#1 0", "replying"),
			at(11, mention(11), "cancel; settle#1 withdrawn by 11; compose#2 0", "replying", "pending 0"),
		}},
		{name: "past MaxWait it is judged again at once", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1800, Tick{}, "judge#1 0", "judging"),
			at(1801, mention(1801), "cancel; settle#1 withdrawn by 1801", "waiting until 1800", "pending 0"),
			at(1801, Tick{}, "judge#2 0", "judging"),
			at(1802, said(1802), "", "judging", "pending 0, later 1802"),
		}},
		{name: "an addressed message does not wait here as well", in: topLevel, steps: []step{
			at(0, together(mentioning(0, "a"), said(0)), "", "idle", ""),
		}},
		{name: "a judged reply is posted there", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0 since 0", "replying"),
			at(302, composed(1, Done), "post#1 0", "replying"),
			at(303, posted(1, Done), "", "idle"),
		}},
		{name: "in a direct message it is answered here", in: direct, steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, mention(1), "", "replying"),
			at(2, composed(1, Done), "post#1 0!", "replying"),
			at(3, posted(1, Done), "compose#2 1!", "replying"),
		}},
	})
}

func TestEdited(t *testing.T) {
	run(t, []script{
		{name: "a pending message: the quiet time starts again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(100, edited(0, "a"), "", "waiting until 400", "pending 0ra"),
		}},
		{name: "being judged", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, edited(0, "a"), "cancel; settle#1 withdrawn by 0", "waiting until 601", "pending 0ra"),
		}},
		{name: "reply delayed", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, edited(0, "a"), "settle#1 withdrawn by 0", "waiting until 602", "pending 0ra"),
		}},
		{name: "reply being posted", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0", "replying"),
			at(302, composed(1, Done), "post#1 0", "replying"),
			at(303, edited(0, "a"), "", "replying", "pending 0, later 0ra"),
			at(304, posted(1, Done), "", "waiting until 604", "pending 0ra"),
		}},
		{name: "an edit adds a mention", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(100, mentioning(0, "a"), "compose#1 0ra!", "replying", "answering 0ra!"),
		}},
		{name: "an edit adds a mention to a message judged long ago", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, no(1), "", "idle"),
			at(900, mentioning(0, "a"), "compose#2 0ra!", "replying"),
		}},
		{name: "an unknown message", steps: []step{
			at(0, edited(0, "a"), "", "idle", ""),
			at(10, said(10), "", "waiting until 310"),
			at(100, edited(1, "a"), "", "waiting until 310", "pending 10"),
		}},
		{name: "judged already", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, no(1), "", "idle"),
			at(302, edited(0, "a"), "", "idle", ""),
		}},
		{name: "being answered: kept for later, as not addressed", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, edited(0, "a"), "", "replying", "answering 0!, later 0ra"),
			at(2, composed(1, Done), "post#1 0!", "replying"),
			at(3, posted(1, Done), "", "waiting until 303", "pending 0ra"),
		}},
		{name: "addressed and kept for later: stays addressed", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, mention(1), "", "replying"),
			at(2, edited(1, "a"), "", "replying", "answering 0!, later 1ra!"),
		}},
		{name: "sent and edited in one signal", steps: []step{
			at(0, together(said(0), edited(0, "a")), "", "waiting until 300", "pending 0ra"),
			at(1, together(mention(1), edited(1, "a")), "compose#1 1ra!", "replying"),
		}},
		{name: "sent and edited to a mention in one signal", steps: []step{
			at(0, together(said(0), mentioning(0, "a")), "compose#1 0ra!", "replying", "answering 0ra!"),
		}},
		{name: "a late older edit does not undo a newer one", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, edited(0, "b"), "", "waiting until 301", "pending 0rb"),
			at(2, edited(0, "a"), "", "waiting until 302", "pending 0rb"),
		}},
	})
}

func TestDeleted(t *testing.T) {
	run(t, []script{
		{name: "unknown", steps: []step{
			at(0, deleted(0), "", "idle", ""),
		}},
		{name: "waiting, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, deleted(0), "", "idle", ""),
		}},
		{name: "waiting, others left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, said(10), "", "waiting until 310"),
			at(20, deleted(10), "", "waiting until 310", "pending 0"),
		}},
		{name: "judging, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, deleted(0), "cancel; settle#1 withdrawn by 0", "idle", ""),
			at(302, yes(1, 0), "", "idle"),
		}},
		{name: "judging, others left: what was read is stale", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, deleted(1), "cancel; settle#1 withdrawn by 1", "waiting until 601", "pending 0"),
		}},
		{name: "delaying, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, deleted(0), "settle#1 withdrawn by 0", "idle", ""),
		}},
		{name: "delaying, others left", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, deleted(0), "settle#1 withdrawn by 0", "waiting until 602", "pending 1"),
		}},
		{name: "composing, nothing left", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0", "replying"),
			at(302, deleted(0), "cancel; settle#1 withdrawn by 0", "idle", ""),
		}},
		{name: "composing an answer, nothing left", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, deleted(0), "cancel; settle#1 withdrawn by 0", "idle", ""),
		}},
		{name: "composing an answer: the messages that it would have served wait again", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(10, mention(10), "compose#1 10!", "replying", "answering 10!, served 0 1"),
			at(11, deleted(1), "", "replying", "answering 10!, served 0"),
			at(12, deleted(10), "cancel; settle#1 withdrawn by 10", "waiting until 312", "pending 0"),
		}},
		{name: "composing a second answer: the messages that it would have served wait again", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, together(said(1), mention(2)), "", "replying"),
			at(3, composed(1, Done), "post#1 0!", "replying"),
			at(4, posted(1, Done), "compose#2 2!", "replying", "answering 2!, served 1"),
			at(5, deleted(2), "cancel; settle#2 withdrawn by 2", "waiting until 305", "pending 1"),
		}},
		{name: "composing an answer: the next one serves the same messages", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, mention(10), "compose#1 10!", "replying"),
			at(11, mention(11), "", "replying", "answering 10!, served 0, later 11!"),
			at(12, deleted(10), "cancel; settle#1 withdrawn by 10; compose#2 11!", "replying", "answering 11!, served 0"),
			at(13, composed(2, Done), "post#2 11!", "replying"),
			at(14, posted(2, Done), "", "idle", ""),
		}},
		{name: "composing an ordered reply, others left", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(10, AnswerNow{By: "alice"}, "compose#1 1", "replying"),
			at(11, deleted(0), "cancel; settle#1 withdrawn by 0; compose#2 1", "replying", "pending 1"),
			at(12, said(12), "", "replying", "pending 1, later 12"),
			at(13, composed(2, Done), "post#2 1", "replying"),
		}},
		{name: "composing an answer, others left", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(2, deleted(1), "cancel; settle#1 withdrawn by 1; compose#2 0!", "replying", "answering 0!"),
		}},
		{name: "composing an answer, others left, and a new message in the same signal", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(2, together(deleted(1), said(2)), "cancel; settle#1 withdrawn by 1; compose#2 0!", "replying", "answering 0!, later 2"),
		}},
		{name: "composing an answer, another kept for later", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, mention(1), "", "replying"),
			at(2, deleted(0), "cancel; settle#1 withdrawn by 0; compose#2 1!", "replying", "answering 1!"),
		}},
		{name: "kept for later", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, together(mention(1), said(2)), "", "replying"),
			at(3, together(deleted(1), deleted(2)), "", "replying", "answering 0!"),
		}},
		{name: "posting: not withdrawn", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, composed(1, Done), "post#1 0!", "replying"),
			at(2, deleted(0), "", "replying"),
			at(3, posted(1, Done), "", "idle", ""),
		}},
		{name: "posting: gone, and the other message deleted meanwhile", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, composed(1, Done), "post#1 1!", "replying"),
			at(2, deleted(0), "", "replying"),
			at(3, posted(1, Gone), "", "idle", ""),
		}},
		{name: "sent and deleted in one signal", steps: []step{
			at(0, together(said(0), deleted(0)), "", "idle", ""),
			at(1, together(mention(1), deleted(1)), "", "idle", ""),
		}},
		{name: "deleted, and a new message in the same signal", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(100, together(deleted(0), said(100)), "", "waiting until 400", "pending 100"),
			// MaxWait counts from the remaining message.
			at(200, said(200), "", "waiting until 500"),
		}},
		{name: "every message that is answered, in one signal", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(2, together(deleted(0), deleted(1)),
				"cancel; settle#1 withdrawn by 0; compose#2 1!; cancel; settle#2 withdrawn by 1", "idle", ""),
		}},
	})
}

func TestResultOfAReply(t *testing.T) {
	run(t, []script{
		{name: "an answer cannot be composed: one notice", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, composed(1, Failed), "compose notice#1 0!", "replying"),
			at(2, composed(1, Done), "post notice#1 0!", "replying"),
			at(3, posted(1, Done), "", "idle", ""),
		}},
		{name: "the notice cannot be composed either", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying"),
			at(2, composed(1, Failed), "compose notice#1 0!", "replying"),
			at(3, composed(1, Failed), "settle#1 failed", "waiting until 303", "pending 1"),
		}},
		{name: "a notice for several, one deleted: an answer to the others is tried", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, composed(1, Failed), "compose notice#1 1!", "replying"),
			at(2, deleted(1), "cancel; settle#1 withdrawn by 1; compose#2 0!", "replying"),
			at(3, composed(2, Failed), "compose notice#2 0!", "replying"),
		}},
		{name: "the failure settles its own decision, not the next", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, mention(1), "", "replying"),
			at(2, composed(1, Failed), "compose notice#1 0!", "replying"),
			at(3, composed(1, Failed), "settle#1 failed; compose#2 1!", "replying"),
			at(4, composed(2, Failed), "compose notice#2 1!", "replying"),
		}},
		{name: "a judged reply fails quietly", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 0), "compose#1 0", "replying"),
			at(302, composed(1, Failed), "settle#1 failed", "idle", ""),
		}},
		{name: "a rule silences it", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, composed(1, Silenced), "", "idle", ""),
		}},
		{name: "a rule silences it at the post", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying"),
			at(2, composed(1, Done), "post#1 0!", "replying"),
			at(3, posted(1, Silenced), "", "waiting until 303", "pending 1"),
		}},
		{name: "a post fails", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, composed(1, Done), "post#1 0!", "replying"),
			at(2, mention(2), "", "replying"),
			at(3, posted(1, Failed), "settle#1 failed; compose#2 2!", "replying", "answering 2!"),
		}},
		{name: "gone: the others are answered", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(2, composed(1, Gone), "settle#1 withdrawn by 1; compose#2 0!", "replying", "answering 0!"),
			at(3, deleted(1), "", "replying"),
			at(4, composed(2, Done), "post#2 0!", "replying"),
			at(5, posted(2, Gone), "", "idle", ""),
		}},
		{name: "gone before the judgment: the others are judged", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, Judged{Epoch: 1, Gone: true}, "", "waiting until 601", "pending 0"),
			at(302, deleted(1), "", "waiting until 601"),
			at(601, Tick{}, "judge#2 0", "judging"),
			at(602, Judged{Epoch: 2, Gone: true}, "", "idle", ""),
		}},
		{name: "gone before a judgment past MaxWait: the others are judged at once", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(290, said(290), "", "waiting until 590"),
			at(580, said(580), "", "waiting until 880"),
			at(870, said(870), "", "waiting until 1170"),
			at(1160, said(1160), "", "waiting until 1460"),
			at(1450, said(1450), "", "waiting until 1750"),
			at(1740, said(1740), "", "waiting until 1800"),
			at(1800, Tick{}, "judge#1 1740", "judging"),
			at(1801, Judged{Epoch: 1, Gone: true}, "", "waiting until 1800", "pending 0 290 580 870 1160 1450"),
			at(1801, Tick{}, "judge#2 1450", "judging"),
		}},
		{name: "gone: the others wait again", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, yes(1, 0), "compose#1 1", "replying"),
			at(302, composed(1, Done), "post#1 1", "replying"),
			at(303, said(303), "", "replying"),
			at(304, posted(1, Gone), "", "waiting until 604", "pending 0 303"),
		}},
		{name: "gone: an addressed message kept for later comes first", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, yes(1, 0), "compose#1 1", "replying"),
			at(302, composed(1, Done), "post#1 1", "replying"),
			at(303, mention(303), "", "replying"),
			at(304, posted(1, Gone), "compose#2 303!", "replying", "answering 303!"),
		}},
		{name: "gone: the messages that the answer would have served wait again", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(10, mention(10), "compose#1 10!", "replying"),
			at(12, composed(1, Gone), "settle#1 withdrawn by 10", "waiting until 312", "pending 0"),
		}},
		{name: "gone: an ordered reply to the others is composed", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(1, AnswerNow{By: "alice"}, "compose#1 1", "replying"),
			at(2, composed(1, Done), "post#1 1", "replying"),
			at(3, posted(1, Gone), "compose#2 0", "replying", "pending 0"),
		}},
		{name: "gone: so is its edit", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, edited(0, "a"), "", "replying"),
			at(2, composed(1, Gone), "settle#1 withdrawn by 0", "idle", ""),
		}},
		{name: "outdated: the remaining messages get a new answer", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, composed(1, Done), "post#1 1!", "replying"),
			at(2, deleted(0), "", "replying"),
			at(3, posted(1, Outdated), "compose#2 1!", "replying", "answering 1!"),
			at(4, composed(2, Done), "post#2 1!", "replying"),
			at(5, posted(2, Done), "", "idle", ""),
		}},
		{name: "outdated, and the deletion arrives later", steps: []step{
			at(0, together(mention(0), mention(1)), "compose#1 1!", "replying"),
			at(1, composed(1, Done), "post#1 1!", "replying"),
			at(2, posted(1, Outdated), "compose#2 1!", "replying", "answering 0! 1!"),
			at(3, deleted(0), "cancel; settle#2 withdrawn by 0; compose#3 1!", "replying", "answering 1!"),
		}},
		{name: "outdated, and its trigger is deleted or hushed meanwhile", steps: []step{
			at(0, together(mention(0), mention(1), mention(2)), "compose#1 2!", "replying"),
			at(1, composed(1, Done), "post#1 2!", "replying"),
			at(2, together(deleted(0), deleted(2)), "", "replying"),
			at(3, posted(1, Outdated), "compose#2 1!", "replying", "answering 1!"),
			at(4, composed(2, Done), "post#2 1!", "replying"),
			at(5, hushed(1), "", "replying"),
			at(6, posted(2, Outdated), "", "idle", ""),
		}},
		{name: "outdated: the judged messages wait again", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, yes(1, 0), "compose#1 1", "replying"),
			at(302, composed(1, Done), "post#1 1", "replying"),
			at(303, deleted(0), "", "replying"),
			at(304, posted(1, Outdated), "", "waiting until 604", "pending 1"),
		}},
		{name: "outdated: an ordered reply is composed again", steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(1, AnswerNow{By: "alice"}, "compose#1 1", "replying"),
			at(2, composed(1, Done), "post#1 1", "replying"),
			at(3, posted(1, Outdated), "compose#2 1", "replying", "pending 0 1"),
		}},
		{name: "outdated before it is composed: the judged messages wait again", in: topLevel, steps: []step{
			at(0, together(said(0), said(1)), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 1", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(361, Tick{}, "compose#1 1 since 0", "replying"),
			at(362, Composed{Epoch: 1, Result: Outdated, By: ts(310)}, "settle#1 withdrawn by 310", "waiting until 662", "pending 0 1"),
			at(662, Tick{}, "judge#2 1", "judging"),
			at(663, no(2), "", "idle", ""),
		}},
		{name: "outdated before it is composed, until MaxWait", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 600), "", "delaying until 901"),
			at(901, Tick{}, "compose#1 0 since 0", "replying"),
			at(902, Composed{Epoch: 1, Result: Outdated, By: ts(310)}, "settle#1 withdrawn by 310", "waiting until 1202", "pending 0"),
			at(1202, Tick{}, "judge#2 0", "judging"),
			at(1203, yes(2, 600), "", "delaying until 1803"),
			at(1803, Tick{}, "compose#2 0 since 0", "replying"),
			at(1804, Composed{Epoch: 2, Result: Outdated, By: ts(1210)}, "settle#2 withdrawn by 1210", "waiting until 1800", "pending 0"),
			at(1804, Tick{}, "judge#3 0", "judging"),
			at(1805, yes(3, 600), "compose#3 0", "replying"),
		}},
		{name: "an ordered reply is not outdated by messages in threads", in: topLevel, steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, AnswerNow{By: "alice"}, "compose#1 0", "replying"),
		}},
		{name: "late results are ignored", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, posted(1, Done), "", "replying"),
			at(2, composed(0, Done), "", "replying"),
			at(3, composed(1, Done), "post#1 0!", "replying"),
			at(4, composed(1, Failed), "", "replying"),
			at(5, posted(0, Done), "", "replying"),
			at(6, posted(1, Done), "", "idle"),
			at(7, posted(1, Done), "", "idle"),
			at(8, composed(1, Done), "", "idle"),
		}},
	})
}

func TestOperator(t *testing.T) {
	drop := Drop{By: "alice"}
	run(t, []script{
		{name: "nothing waits", steps: []step{
			at(0, AnswerNow{}, "", "idle"),
			at(0, drop, "", "idle"),
		}},
		{name: "waiting: answer now", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, AnswerNow{}, "compose#1 0", "replying", "pending 0"),
			at(2, said(2), "", "replying", "pending 0, later 2"), // an order is not withdrawn
			at(3, AnswerNow{}, "", "replying"),
			at(4, composed(1, Done), "post#1 0", "replying"),
			at(5, posted(1, Done), "", "waiting until 305", "pending 2"),
		}},
		{name: "waiting: drop", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, drop, "", "idle", ""),
			at(300, Tick{}, "", "idle"),
		}},
		{name: "judging: answer now", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, AnswerNow{By: "alice"}, "cancel; settle#1 overruled by alice; compose#2 0", "replying"),
			at(302, no(1), "", "replying"),
		}},
		{name: "judging: drop", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, drop, "cancel; settle#1 dropped by alice", "idle", ""),
		}},
		{name: "delaying: answer now executes the decision that was made", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, AnswerNow{}, "compose#1 0", "replying"),
			at(303, said(303), "", "replying", "pending 0, later 303"),
			at(304, composed(1, Done), "post#1 0", "replying"),
		}},
		{name: "delaying: drop", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, yes(1, 60), "", "delaying until 361"),
			at(302, drop, "settle#1 dropped by alice", "idle", ""),
		}},
		{name: "composing: drop, and the messages that came meanwhile wait", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, said(1), "", "replying"),
			at(2, drop, "cancel; settle#1 dropped by alice", "waiting until 302", "pending 1"),
		}},
		{name: "composing: dropping one answer does not drop the next", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, mention(1), "", "replying"),
			at(2, drop, "cancel; settle#1 dropped by alice; compose#2 1!", "replying", "answering 1!"),
		}},
		{name: "posting: too late", steps: []step{
			at(0, mention(0), "compose#1 0!", "replying"),
			at(1, composed(1, Done), "post#1 0!", "replying"),
			at(2, drop, "", "replying"),
			at(2, AnswerNow{}, "", "replying"),
		}},
		{name: "an addressed message overrides an order", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, AnswerNow{}, "compose#1 0", "replying"),
			at(2, mention(2), "cancel; settle#1 withdrawn by 2; compose#2 2!", "replying", "answering 2!, served 0"),
		}},
	})
}

func TestDuplicates(t *testing.T) {
	run(t, []script{
		{name: "of a message", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(100, said(0), "", "waiting until 300", "pending 0"),
			at(300, Tick{}, "judge#1 0", "judging"),
			at(301, said(0), "", "judging"),
			at(302, no(1), "", "idle"),
			at(303, together(said(0), said(0)), "", "idle", ""),
		}},
		{name: "of an addressed message", steps: []step{
			at(0, together(mention(0), mention(0)), "compose#1 0!", "replying"),
			at(1, mention(0), "", "replying", "answering 0!"),
			at(2, composed(1, Done), "post#1 0!", "replying"),
			at(3, posted(1, Done), "", "idle"),
			at(4, mention(0), "", "idle"),
		}},
		{name: "a new revision is not a duplicate", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, edited(0, "a"), "", "waiting until 301"),
			at(2, edited(0, "a"), "", "waiting until 301"),
			at(3, edited(0, "b"), "", "waiting until 303"),
		}},
		{name: "of a deletion", steps: []step{
			at(0, said(0), "", "waiting until 300"),
			at(1, together(deleted(0), said(1)), "", "waiting until 301"),
			at(2, deleted(0), "", "waiting until 301"),
		}},
		{name: "nothing at all", steps: []step{
			at(0, Changes{}, "", "idle"),
			at(0, Changes(nil), "", "idle"),
		}},
	})
}
