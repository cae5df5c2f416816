package browser

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"myao/test/testserver"
)

// TestScreenshots takes the pictures in docs/images while a reply to a judged question is held back.
func TestScreenshots(t *testing.T) {
	if *flagScreenshots == "" {
		t.Skip("takes pictures: `make screenshots` does it")
	}
	t.Run("moving", takeMovingPicture)
	w := start(t)
	w.say(t, "general", "bob", "Morning! The release branch is cut, build 41 is on staging.", "")
	w.say(t, "general", "carol", "Nice. The *checkout* page feels faster already.", "")
	asked := w.say(t, "general", "alice", "@myao what do you make of build 41?", "")
	w.awaitAnswer(t, "general", asked)
	w.say(t, "general", "bob", "Thank you, that will do.", asked)
	w.say(t, "general", "carol", "How long does the nightly job take?", "")
	await(t, "an answer to it", func() bool { return len(w.answers(t, "general", "")) > 0 })
	w.say(t, "general", "carol", "OK, I am off to lunch.", "")

	looks := map[string]look{
		"light.png": {width: 1440, height: 900}, "dark.png": {width: 1440, height: 900, dark: true}, "phone.png": {width: 360, height: 740, phone: true},
	}
	tabs := map[string]*tab{}
	for name, l := range looks {
		l.hash = "#channel=general"
		tabs[name] = w.open(t, l)
		tabs[name].awaitPhase("idle")
	}
	w.say(t, "random", "bob", "@alice they are all gone soon", "")
	for n := range 5 {
		w.say(t, "general", "bob", slowQuestion(t, []string{
			"Does anybody know whether the migration is reversible", "Who has the runbook for tonight", "Where do we write down what went wrong",
			"Is there a dashboard for this", "Which of the alerts may be ignored",
		}[n]), "")
		pictures, held := map[string][]byte{}, true
		for _, tb := range tabs {
			tb.awaitPhase("delaying")
		}
		for name, tb := range tabs {
			pictures[name] = get(tb, "take a picture", chromedp.CaptureScreenshot())
			held = held && tb.is(phase+` === "delaying"`)
		}
		if !held { // the reply was posted before the last picture was taken
			tabs["light.png"].awaitPhase("idle")
			continue
		}
		for name, picture := range pictures {
			if err := os.WriteFile(filepath.Join(*flagScreenshots, name), picture, 0o644); err != nil {
				t.Error(err)
			}
		}
		return
	}
	t.Error("in five tries no reply was held back long enough for all pictures")
}

// takeMovingPicture films the first step of the tour, which starts itself: moving.gif, and
// moving.png for who wants nothing to move, with a reply that is held back.
func takeMovingPicture(t *testing.T) {
	tb := start(t).open(t, look{width: 960, height: 700, newcomer: true})
	tb.await("the tour to play", `document.body.matches(".touring")`)
	eval[bool](tb, `!!(document.body.style.caretColor = "transparent")`) // it would blink
	var f film
	held := 0 // the picture of a held reply
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for !tb.is(`document.getElementById("tour-panel").dataset.done`) {
		<-tick.C
		tb.shoot(&f)
		if held == 0 && tb.is(phase+` === "delaying" && parseFloat(document.getElementById("mind-count").innerText) < 4`) {
			tb.shoot(&f)
			held = len(f.pictures) - 1
		}
	}
	tb.await("animations to end", resting)
	tb.shoot(&f)
	moves, length, err := f.encode(3 * time.Second)
	testserver.Must(t, err)
	if len(moves) > 2<<20 || length < 10*time.Second || length > 22*time.Second || held == 0 {
		t.Fatalf("the moving picture has %d bytes and %d pictures and runs for %s; its still is picture %d", len(moves), len(f.pictures), length, held)
	}
	var still bytes.Buffer
	testserver.Must(t, png.Encode(&still, f.pictures[held]))
	for name, picture := range map[string][]byte{"moving.gif": moves, "moving.png": still.Bytes()} {
		if err := os.WriteFile(filepath.Join(*flagScreenshots, name), picture, 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d pictures, %s, %d bytes", len(f.pictures), length, len(moves))
}
