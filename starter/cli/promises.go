package cli

import (
	"errors"
	"fmt"
	"time"

	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// promiseTimes is when a promise is due, how it repeats, and until when it is held up.
func promiseTimes(p store.Promise, zone *time.Location) string {
	text := formatTime(p.Due(), zone)
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

// checkPromise is the error of an order about a promise, which was open if done is set.
func checkPromise(id string, found store.Promise, done bool, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no promise %s: `starter promises list --all` shows them", timeline.Plain(id))
	case err != nil:
		return err
	case !done:
		return fmt.Errorf("promise %s is %s already", found.ID, found.State)
	}
	return nil
}
