package config

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"myao/internal/chat"
)

// settable are the keys that people may set in Slack.
var settable = []string{"mode", "min_wait_seconds", "quiet_hours", "remember", "language", "tone"}

// Settable returns the keys that people may set in Slack, in the order in which they are shown.
func Settable() []string { return slices.Clone(settable) }

// Choices returns the values that a key of Settable may have; nil where they are no few words.
func Choices(key string) []string {
	for name, f := range fields(reflect.TypeFor[Channel]()) {
		if names, ok := ruleOf(reflect.TypeFor[Channel](), f).keywords["enum"].([]string); ok && name == key {
			return names
		}
	}
	return nil
}

// ErrLocked is returned where the file fixes the settings of a channel.
var ErrLocked = errors.New("the file fixes the settings of this channel (locked)")

// LockedIn reports whether nothing of a channel can be set in Slack. What was set before the lock does not count.
func (c Config) LockedIn(f ChannelFacts) bool {
	_, own := c.channel(f)
	return orInherited(own.over(c.channelDefaults).Locked, c.Locked)
}

// CheckSet returns what is wrong with what people want to set of a channel: ErrLocked, or an *Error with the faults
// that the file would have.
func (c Config) CheckSet(f ChannelFacts) error {
	if c.LockedIn(f) {
		return ErrLocked
	}
	_, own := c.channel(f)
	own, found := own.over(c.channelDefaults), newFaults()
	for key, in := range f.Set {
		if !slices.Contains(settable, key) {
			found.add(key, in.Value, "cannot be set in Slack; %s can", strings.Join(settable, ", "))
			continue
		}
		own.put(key, in.Value, found)
	}
	if len(found.list) == 0 {
		own.validate("", "channel", c.Response, found)
	}
	for i := range found.list {
		found.list[i].key = strings.TrimPrefix(found.list[i].key, ".")
	}
	return found.err()
}

// inForce returns the channel's own settings, over those of its workspace, and what of them was set in Slack.
func (c Config) inForce(f ChannelFacts) (own Channel, set chat.Set) {
	_, own = c.channel(f)
	own = own.over(c.channelDefaults)
	if len(f.Set) == 0 || orInherited(own.Locked, c.Locked) {
		return own, nil
	}
	set = chat.Set{}
	for key, in := range f.Set {
		if found := newFaults(); own.put(key, in.Value, found) {
			set[key] = in
		}
	}
	return own, set
}

// put sets a value by its key, and reports whether it has no faults.
func (ch *Channel) put(key, value string, found *faults) bool {
	section := reflect.TypeFor[Channel]()
	for name, field := range fields(section) {
		if name != key {
			continue
		}
		rule, v := ruleOf(section, field), reflect.New(field.Type).Elem()
		into := v
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(field.Type.Elem()))
			into = v.Elem()
		}
		n, err := strconv.Atoi(value)
		switch {
		case into.Kind() == reflect.String:
			into.SetString(value)
		case err == nil && n >= 0:
			into.SetInt(int64(n))
		default:
			found.add(key, value, "must be a whole number from %v to %v", rule.keywords["minimum"], rule.keywords["maximum"])
			return false
		}
		before := len(found.list)
		if rule.check(found, key, into); len(found.list) > before {
			return false
		}
		reflect.ValueOf(ch).Elem().FieldByIndex(field.Index).Set(v)
		return true
	}
	return false
}
