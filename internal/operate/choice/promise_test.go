package choice

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/language/words"
	"myao/internal/store"
)

// Every sentence about a promise is in the configured language, with the time of the promise's own zone.
func TestPromiseWords(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 11, 27, 0, 30, 0, 0, time.UTC)
	reminder := store.Promise{Choice: store.Choice{ID: "p", Asker: "U1"}, What: "会議", Zone: "Asia/Tokyo", DueUS: due.UnixMicro(), State: store.PromiseOpen}
	everywhere := func(w words.Words) (all []string) {
		for _, every := range []string{"", "day", "weekday", "week", "month"} {
			p := reminder
			p.Every = every
			shown := OfPromise(w, p)
			all = append(all, WhenDue(w, p), shown.Text, shown.Buttons[0].Label, shown.Undecidable)
			if ask, ok := AskWhetherWanted(w, p, 10); ok != (every != "") {
				t.Errorf("every %q: asks %v", every, ok)
			} else {
				all = append(all, ask.Text)
			}
		}
		last := reminder
		last.Every, last.Number = "weekday", lastTime
		look, nobodys := reminder, reminder
		look.Unless, nobodys.Asker = "終わった", ""
		waiting := look
		waiting.Until = "`github`"
		all = append(all, OfPromise(w, waiting).Text, PlainPromise(w, waiting, "会議"))
		all = append(all, OfPromise(w, look).Text, PlainPromise(w, look, look.What), PlainPromise(w, nobodys, "会議"), PromiseElsewhere(w, reminder, "会議"), KeptText(w, reminder, "会議です", due.Add(time.Hour)), KeptText(w, last, "会議です", due), PromiseElsewhere(w, last, "会議"))
		for state, by := range map[store.PromiseState]string{
			store.PromiseKept: "", store.PromiseReleased: "", store.PromiseWithdrawn: "", store.PromiseFailed: "", store.PromiseCancelled: "slack:U1",
		} {
			p := reminder
			p.State, p.EndedBy = state, by
			all = append(all, PromiseOutcome(w, p))
		}
		p := reminder
		p.State, p.EndedBy = store.PromiseCancelled, "silenced"
		return append(all, PromiseOutcome(w, p))
	}
	names := regexp.MustCompile("`[^`]*`|<[^>]*>|Asia/Tokyo|Slack|mute|snooze")
	for _, text := range everywhere(words.In(chat.Japanese)) {
		if left := names.ReplaceAllString(text, ""); regexp.MustCompile(`[A-Za-z]{2,}`).MatchString(left) {
			t.Errorf("in English: %q", text)
		}
	}
	for language, want := range map[chat.Language]string{
		chat.English: "Fri 27 Nov 2026, 09:30 (Asia/Tokyo)", chat.Japanese: "2026年11月27日(金) 09:30 (Asia/Tokyo)",
	} {
		if got := WhenDue(words.In(language), reminder); got != want {
			t.Errorf("%s: %s, want %s", language, got, want)
		}
	}
	english := strings.Join(everywhere(nil), "\n")
	for _, want := range []string{
		"I will tell you when it happens: waits for `github`, at the latest Fri 27 Nov 2026, 09:30 (Asia/Tokyo)\n• 会議\n• unless: 終わった",
		"every weekday, next Fri 27 Nov 2026, 09:30 (Asia/Tokyo)", "cancelled by <@U1>", "cancelled: the conversation is muted", "<@U1> 会議です\n\n_This was due on Fri 27 Nov 2026, 09:30 (Asia/Tokyo)._",
		"<@U1> 会議です\n\n_This was the last of 90 times.", "where you asked.\n\n_This was the last of 90 times.",
	} {
		if !strings.Contains(english, want) {
			t.Errorf("lacks %q:\n%s", want, english)
		}
	}
}

// What comes every day ends after ninety times, and does not ask then whether it is wanted.
func TestPromiseEndsWith(t *testing.T) {
	t.Parallel()
	for every, ends := range map[string]bool{"": false, "day": true, "weekday": true, "week": false, "month": false} {
		p := store.Promise{Every: every, Number: lastTime - 1}
		if PromiseEndsWith(p, lastTime-1) || PromiseEndsWith(p, lastTime) != ends || PromiseEndsWith(p, lastTime+1) != ends {
			t.Errorf("every %q: ends %v, want %v", every, PromiseEndsWith(p, lastTime), ends)
		}
		if _, asks := AskWhetherWanted(nil, p, lastTime); asks != (every != "" && !ends) {
			t.Errorf("every %q: asks %v", every, asks)
		}
		if strings.Contains(KeptText(nil, p, "x", p.Due()), "last") {
			t.Errorf("every %q: the time before says that it is the last", every)
		}
	}
}
