package cli

import (
	"time"

	"myao/internal/operate/choice"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// promiseTimes is when a promise is due, how it repeats, and until when it is held up.
func promiseTimes(p store.Promise, zone *time.Location) string {
	text := choice.WaitsFor(nil, p, formatTime(p.Due(), zone))
	if p.Every != "" {
		text += ", every " + p.Every
	}
	if !p.Held().IsZero() {
		text += ", held until " + formatTime(p.Held(), zone)
	}
	return text
}

// promiseText is what was promised, on one line.
func promiseText(p store.Promise) string {
	if p.Unless == "" {
		return timeline.Plain(p.What)
	}
	return timeline.Plain(p.What + " (unless: " + p.Unless + ")")
}
