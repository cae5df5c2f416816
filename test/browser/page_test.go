package browser

import "testing"

// part is a subtest of the page, for one visitor.
type part struct {
	name string
	test func(*testing.T, *world)
}

// TestPage tests everything that needs no fault. Its visitors share a sandbox.
func TestPage(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	w := start(t)
	// Tests in #general run one after the other, because others' messages move what a test points at.
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
	// Each of these has its own thread.
	inParallel(t, w, []part{
		{"mind", testMind},
		{"prompt", testPrompt},
		{"looking up", testLookingUp},
		{"notes", testNotes},
		{"promises", testPromises},
		{"buttons", testButtons},
		{"rating", testRating},
		{"withdrawn", testWithdrawn},
		{"silence", testSilence},
		{"foreign", testForeign},
		{"access", testAccess},
		{"home", testHome},
	})
}

// TestWaiting tests what the page shows, and which orders it gives, while a conversation waits. The
// quiet time is long, because a machine may stall for seconds and miss a short wait. A message in
// a channel restarts the quiet time, even after a drop. So only "steady" writes in #general,
// and only "memories" in #secret-plans.
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
