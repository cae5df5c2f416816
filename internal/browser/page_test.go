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
			{"only for one", testOnlyForOne},
			{"hidden", testHidden},
			{"focus", testFocus},
			{"drafts", testDrafts},
			{"markup", testMarkup},
			{"keyboard", testKeyboard},
			{"input method", testInputMethod},
			{"narrow", testNarrow},
			{"steady", testSteady},
			{"still", testStill},
		} {
			t.Run(p.name, func(t *testing.T) { p.test(t, w) })
		}
	})
	// Each of these is in a thread of its own.
	for _, p := range []part{
		{"mind", testMind},
		{"prompt", testPrompt},
		{"withdrawn", testWithdrawn},
		{"answer now", testAnswerNow},
		{"drop", testDrop},
		{"silence", testSilence},
		{"memories", testMemories},
		{"foreign", testForeign},
		{"narrow keyboard", testKeyboardNarrow},
		{"access", testAccess},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(t, w)
		})
	}
}
