package browser

import "testing"

// part is a part of what the page does, as one visitor sees it.
type part struct {
	name string
	test func(*testing.T, *world)
}

// TestPage is all that needs no fault. Its visitors share a sandbox.
func TestPage(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	w := start(t)
	// In #general one comes after the other: what others say moves what one points at.
	t.Run("chat", func(t *testing.T) {
		t.Parallel()
		for _, p := range []part{
			{"channels", testChannels},
			{"unread", testUnread},
			{"threads", testThreads},
			{"mentions", testMentions},
			{"changes", testChanges},
			{"files", testFiles},
			{"writers", testWriters},
			{"live", testLive},
			{"clicks", testClicks},
			{"loading", testLoading},
			{"not loaded", testNotLoaded},
			{"only for one", testOnlyForOne},
			{"hidden", testHidden},
			{"focus", testFocus},
			{"drafts", testDrafts},
			{"markup", testMarkup},
			{"input method", testInputMethod},
			{"narrow", testNarrow},
			{"still", testStill},
		} {
			t.Run(p.name, func(t *testing.T) { p.test(t, w) })
		}
	})
	// Each of these is in a thread of its own.
	inParallel(t, w, []part{
		{"mind", testMind},
		{"prompt", testPrompt},
		{"withdrawn", testWithdrawn},
		{"silence", testSilence},
		{"foreign", testForeign},
		{"access", testAccess},
	})
}

// TestWaiting is what can be seen, and ordered, while something waits. It waits for long: a
// machine may stand still for seconds, and what is judged meanwhile was not seen to wait.
// A word in a channel begins its quiet time anew, and gives what was dropped there a new
// wait: so only "steady" writes in #general, and only "memories" in #secret-plans.
func TestWaiting(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	inParallel(t, start(t, "--quiet", "20"), []part{
		{"answer now", testAnswerNow},
		{"drop", testDrop},
		{"memories", testMemories},
		{"steady", testSteady},
		{"keyboard", testKeyboard},
		{"narrow keyboard", testKeyboardNarrow},
	})
}

func inParallel(t *testing.T, w *world, parts []part) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(t, w)
		})
	}
}
