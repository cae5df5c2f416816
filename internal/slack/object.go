package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"myao/internal/chat"
)

// object is a JSON object whose fields are decoded one at a time, so that a field that nobody reads can
// hold anything.
type object map[string]json.RawMessage

// parseObject reads one JSON object. For anything else, null included, it returns false.
func parseObject(raw []byte) (object, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, false
	}
	return o, true
}

// decode reads a field, and reports whether it is there and has the type of value. It returns no error,
// because Slack leaves most fields out, and an error costs an allocation.
func (o object) decode(key string, value any) bool {
	raw, there := o[key]
	return there && json.Unmarshal(raw, value) == nil
}

// text returns a string field without NUL, which Postgres cannot hold; "" if it is absent or no string.
func (o object) text(key string) string {
	var s string
	if !o.decode(key, &s) {
		return ""
	}
	return strings.ReplaceAll(s, "\x00", "")
}

func (o object) object(key string) (object, bool) { return parseObject(o[key]) }

func (o object) list(key string) []json.RawMessage {
	var l []json.RawMessage
	if !o.decode(key, &l) {
		return nil
	}
	return l
}

func (o object) flag(key string) bool {
	var b bool
	return o.decode(key, &b) && b
}

// count returns a field that counts something; false if it is absent or no count.
func (o object) count(key string) (n int, ok bool) {
	var c *int
	if !o.decode(key, &c) || c == nil || *c < 0 {
		return 0, false
	}
	return *c, true
}

// isExactly reports whether a field is there and has this boolean value.
func (o object) isExactly(key string, value bool) bool {
	var b *bool
	return o.decode(key, &b) && b != nil && *b == value
}

// unix returns a field of seconds since 1970, a number or a string, as UTC; else the zero time.
func (o object) unix(key string) time.Time {
	digits, _, _ := strings.Cut(strings.Trim(string(o[key]), `"`), ".")
	if s, err := strconv.ParseInt(digits, 10, 64); err == nil && s > 0 && s < 1e12 {
		return time.Unix(s, 0).UTC()
	}
	return time.Time{}
}

// An id may become a part of a workflow id, which uses "/" as its separator.
var idPattern = regexp.MustCompile(`^[!-.0-~]{1,64}$`)

func validID(s string) bool { return idPattern.MatchString(s) }

var errMalformed = errors.New("malformed")

// id returns a field with one of Slack's ids; "" if it is absent, null or "".
func (o object) id(key string) (string, error) { return o.identifier(key, validID) }

// ts returns a field with the ts of a message; "" if it is absent, null or "".
func (o object) ts(key string) (string, error) { return o.identifier(key, chat.ValidTS) }

func (o object) identifier(key string, valid func(string) bool) (string, error) {
	raw, ok := o[key]
	if !ok {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", errMalformed
	}
	if s != "" && !valid(s) {
		return "", errMalformed
	}
	return s, nil
}
