package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// The addressees of a verdict: whom the new messages are meant for.
const (
	AddresseeMe       = "me" // the bot
	AddresseeSomeone  = "someone"
	AddresseeEveryone = "everyone"
	AddresseeNobody   = "nobody"
)

// Verdict is a judgment: whether to speak, why, how sure, and how long to wait first.
type Verdict struct {
	ShouldRespond bool    `json:"should_respond"`
	Reason        string  `json:"reason"`
	Confidence    float64 `json:"confidence"` // 0 to 1
	// DelaySeconds is how long to wait; nil and 0 mean no wait.
	DelaySeconds *int `json:"delay_seconds"`
	// Addressee is one of the constants above, or empty where the model named none of them. It and Gist
	// are for the ledger alone: they stay out of JSON, because what a model would say must not enter histories.
	Addressee string `json:"-"`
	// Gist is what the bot would add, on one line; empty: nothing.
	Gist string `json:"-"`
	// React is the one of AnswerReactions that stands for the reply; empty: the reply is written.
	React string `json:"-"`
}

// Summary is a verdict on one line, such as "yes, 0.85, in 60s: nobody has answered".
func (v Verdict) Summary() string {
	answer := "no"
	if v.ShouldRespond {
		answer = "yes"
	}
	answer += fmt.Sprintf(", %.2f", v.Confidence)
	if v.DelaySeconds != nil {
		answer += fmt.Sprintf(", in %ds", *v.DelaySeconds)
	}
	return answer + ": " + cmp.Or(v.Reason, "no reason given")
}

// ParseVerdict reads a model's answer and checks its types and limits. A field that is missing or
// out of range, such as a delay above maxDelay seconds, is an error. The error names every fault in
// words that can be sent back to the model. Addressee, gist and react are never a fault: where one is
// missing or wrong, it is empty.
func ParseVerdict(answer string, maxDelay int) (Verdict, error) {
	var raw struct {
		ShouldRespond *bool    `json:"should_respond"`
		Reason        *string  `json:"reason"`
		Confidence    *float64 `json:"confidence"`
		DelaySeconds  *float64 `json:"delay_seconds"`
		// Raw, so that a wrong type is no error.
		Addressee json.RawMessage `json:"addressee"`
		Gist      json.RawMessage `json:"gist"`
		React     json.RawMessage `json:"react"`
	}
	if err := json.Unmarshal([]byte(unfence(answer)), &raw); err != nil {
		return Verdict{}, fmt.Errorf("the answer is not one JSON object: %w", err)
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if raw.ShouldRespond == nil {
		fault("should_respond is missing: true or false")
	}
	if raw.Reason == nil {
		fault("reason is missing: one line of text")
	}
	if raw.Confidence == nil {
		fault("confidence is missing: a number from 0 to 1")
	} else if *raw.Confidence < 0 || *raw.Confidence > 1 {
		fault("confidence is %v: a number from 0 to 1", *raw.Confidence)
	}
	if raw.ShouldRespond != nil && !*raw.ShouldRespond {
		raw.DelaySeconds = nil // silence has no delay
	}
	if d := raw.DelaySeconds; d != nil && (*d < 0 || *d > float64(maxDelay) || *d != math.Trunc(*d)) {
		fault("delay_seconds is %v: a whole number from 0 to %d, or null", *d, maxDelay)
	}
	if len(faults) > 0 {
		return Verdict{}, errors.Join(faults...)
	}
	v := Verdict{
		ShouldRespond: *raw.ShouldRespond, Reason: oneLine(*raw.Reason), Confidence: *raw.Confidence,
		Addressee: addressee(stringIn(raw.Addressee)), Gist: oneLine(stringIn(raw.Gist)),
	}
	if v.ShouldRespond {
		v.React = ParseReaction("react: " + stringIn(raw.React))
	}
	if raw.DelaySeconds != nil {
		d := int(*raw.DelaySeconds)
		v.DelaySeconds = &d
	}
	return v, nil
}

// stringIn returns the string that raw holds, or "" if it holds anything else.
func stringIn(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func addressee(s string) string {
	switch s {
	case AddresseeMe, AddresseeSomeone, AddresseeEveryone, AddresseeNobody:
		return s
	}
	return ""
}

// unfence removes the code fence that some models put around JSON.
func unfence(s string) string {
	s = strings.TrimSpace(s)
	if body, ok := strings.CutPrefix(s, "```"); ok {
		if len(body) >= 4 && strings.EqualFold(body[:4], "json") {
			body = body[4:]
		}
		s = strings.TrimSuffix(strings.TrimSpace(body), "```")
	}
	return s
}

// oneLine folds white space and control characters (Postgres accepts no NUL) and limits the length,
// because a reason is the only prose in a history and a gist is a line of the ledger.
func oneLine(s string) string {
	const most = 300
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	s = strings.Join(strings.FieldsFunc(s, blank), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
