package conversation

import "testing"

// longRunning is a conversation whose ring of change ids is full. No benchmark repeats one
// of those ids.
func longRunning(b *testing.B) *State {
	b.Helper()
	s := New(inThread)
	s.Policy = steady
	for i := range seenLimit {
		s.markSeen(said(-1 - i)[0].ID())
	}
	return s
}

// benchMessages returns more messages than the ring holds, an hour apart.
func benchMessages() []Changes {
	messages := make([]Changes, 2*seenLimit)
	for i := range messages {
		messages[i] = said(3600 * i)
	}
	return messages
}

// BenchmarkMessage handles a message after a long pause: judged, not answered.
func BenchmarkMessage(b *testing.B) {
	messages, s := benchMessages(), longRunning(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := i % len(messages)
		at := second(3600 * n)
		s.Apply(messages[n], at)
		s.Apply(Tick{}, s.NextTick())
		s.Apply(no(s.Epoch), at)
		if s.Phase != Idle {
			b.Fatalf("phase is %s", s.phaseUntil())
		}
	}
}

// BenchmarkBurst handles 200 changes in one signal: most are new messages, some are edits
// and deletions.
func BenchmarkBurst(b *testing.B) {
	var burst Changes
	for i := range 160 {
		burst = append(burst, said(i)...)
		switch i % 8 {
		case 3:
			burst = append(burst, edited(i-1, "a")...)
		case 7:
			burst = append(burst, deleted(i-2)...)
		}
	}
	if len(burst) != 200 {
		b.Fatalf("%d changes", len(burst))
	}
	full := longRunning(b)
	now := second(200)
	b.ReportAllocs()
	for b.Loop() {
		s := *full
		s.Seen = append(make([]string, 0, cap(full.Seen)), full.Seen...)
		s.Apply(burst, now)
		if len(s.Pending) != 140 {
			b.Fatalf("%d messages are pending", len(s.Pending))
		}
	}
}

// BenchmarkLife handles a question, its judgment, a delay and the reply, until the
// conversation is idle again.
func BenchmarkLife(b *testing.B) {
	messages, s := benchMessages(), longRunning(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := i % len(messages)
		at := second(3600 * n)
		s.Apply(messages[n], at)
		s.Apply(Tick{}, s.NextTick())
		s.Apply(yes(s.Epoch, 60), at)
		s.Apply(Tick{}, s.NextTick())
		s.Apply(composed(s.Epoch, Done), at)
		s.Apply(posted(s.Epoch, Done), at)
		if s.Phase != Idle || s.Verdict == nil {
			b.Fatalf("phase is %s", s.phaseUntil())
		}
	}
}
