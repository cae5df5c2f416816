package config

import (
	"cmp"
	"fmt"
	"strconv"
)

// validate checks what the channel has of its own; what it inherits is told once, at its source.
func (ch Channel) validate(key string, inherited Response, f *faults) {
	if ch.Mode != "" {
		oneOf(f, key+".mode", ch.Mode, ModeJudge, ModeMention, ModeAll, ModeOff)
	}
	if ch.Bots != "" {
		oneOf(f, key+".bots", ch.Bots, BotsIgnore, BotsJudge)
	}
	if ch.Model != oneLine(ch.Model) {
		f.add(key+".model", f.show(ch.Model), "must be one line")
	}
	if ch.TimeZone != "" {
		timeZone(f, key+".time_zone", ch.TimeZone)
	}
	if ch.QuietHours != nil {
		quiet(f, key+".quiet_hours", *ch.QuietHours)
	}
	for _, own := range []struct {
		key      string
		value    *int
		min, max int
	}{
		{".min_wait_seconds", ch.MinWaitSeconds, 0, daySeconds},
		{".max_wait_seconds", ch.MaxWaitSeconds, 0, weekSeconds},
		{".max_delay_seconds", ch.MaxDelaySeconds, 0, daySeconds},
		{".follow_up_wait_seconds", ch.FollowUpWaitSeconds, 0, daySeconds},
		{".max_message_age_seconds", ch.MaxMessageAgeSeconds, 1, monthSeconds},
		{".daily_calls", ch.DailyCalls, 0, maxCalls},
		{".daily_tokens", ch.DailyTokens, 0, maxDailyTokens},
	} {
		if own.value != nil {
			between(f, key+own.key, *own.value, own.min, own.max)
		}
	}
	if ch.JitterRatio != nil {
		number(f, key+".jitter_ratio", *ch.JitterRatio, 0, 1)
	}
	minWait, maxWait := or(ch.MinWaitSeconds, inherited.MinWaitSeconds), or(ch.MaxWaitSeconds, inherited.MaxWaitSeconds)
	switch {
	case ch.MaxWaitSeconds != nil:
		atLeastMinWait(f, key+".max_wait_seconds", maxWait, minWait)
	case ch.MinWaitSeconds != nil && minWait > maxWait && maxWait >= 0:
		f.add(key+".min_wait_seconds", strconv.Itoa(minWait),
			"must be at most response.max_wait_seconds, %d, or the channel needs a max_wait_seconds of its own", maxWait)
	}
	if !ch.judges() {
		return // the age of what is answered here is no age of a judgment
	}
	jitter := or(ch.JitterRatio, inherited.JitterRatio)
	if ch.MaxMessageAgeSeconds != nil {
		aboveQuietTime(f, key+".max_message_age_seconds", *ch.MaxMessageAgeSeconds, minWait, maxWait, jitter)
		return
	}
	own, value := "", ""
	switch {
	case ch.MinWaitSeconds != nil:
		own, value = ".min_wait_seconds", strconv.Itoa(minWait)
	case ch.JitterRatio != nil:
		own, value = ".jitter_ratio", fmt.Sprint(jitter)
	case ch.MaxWaitSeconds != nil:
		own, value = ".max_wait_seconds", strconv.Itoa(maxWait)
	default:
		return
	}
	if longest, age := longestQuietTime(minWait, maxWait, jitter), inherited.MaxMessageAgeSeconds; age <= longest && age > 0 {
		f.add(key+own, value, "must leave the longest quiet time, now %d, below response.max_message_age_seconds, %d, or the channel needs a max_message_age_seconds of its own",
			longest, age)
	}
}

// judges reports whether anything that is said in the channel waits for a judgment.
func (ch Channel) judges() bool {
	mode := cmp.Or(ch.Mode, ModeJudge)
	return mode == ModeJudge || mode == ModeAll && ch.Bots == BotsJudge
}

func atLeastMinWait(f *faults, key string, maxWait, minWait int) {
	if maxWait < minWait && minWait <= daySeconds {
		f.add(key, strconv.Itoa(maxWait), "must be at least min_wait_seconds, which is %d", minWait)
	}
}

// aboveQuietTime refuses an age that messages reach while they wait for their judgment:
// the rule too_old would keep the bot silent then. Only a follow-up and a talk that never
// gets quiet would still be judged, and nobody means that.
func aboveQuietTime(f *faults, key string, age, minWait, maxWait int, jitter float64) {
	if longest := longestQuietTime(minWait, maxWait, jitter); age <= longest {
		f.add(key, strconv.Itoa(age), "must be more than the longest quiet time, which is %d by min_wait_seconds %d, jitter_ratio %v and max_wait_seconds %d",
			longest, minWait, jitter, maxWait)
	}
}

// longestQuietTime is in whole seconds; 0 where a value that makes it is refused by itself.
func longestQuietTime(minWait, maxWait int, jitter float64) int {
	if minWait < 0 || minWait > daySeconds || !(jitter >= 0 && jitter <= 1) {
		return 0
	}
	return min(int(float64(minWait)*(1+jitter)), maxWait)
}
