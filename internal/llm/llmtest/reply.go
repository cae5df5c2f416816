package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Call is one request as the server received it.
type Call struct {
	// Provider is the protocol it came by: "gemini", "openai" or "anthropic".
	Provider string
	// N counts the calls of a server from 1, in order of arrival.
	N     int
	Model string
	// System is the system text; User is what the user turns say.
	System, User string
	// Schema is the JSON schema asked for, as it came; nil for free text.
	Schema json.RawMessage
	// Temperature and MaxTokens are nil where the request did not set them.
	Temperature *float64
	MaxTokens   *int
	// Path and Query are of the URL, as they came.
	Path, Query string
	Header      http.Header
	Body        json.RawMessage
	// At is when it arrived.
	At time.Time
}

// Judgment reports whether JSON was asked for, as only judgments do.
func (c Call) Judgment() bool { return c.Schema != nil }

// Reply is what the server does with a call. The zero value is an answer
// without text. Delay goes with everything; of the others the first that is set
// counts, in the order Drop, Status, Malformed, Raw, Blocked, and else the text.
type Reply struct {
	// Delay passes before anything else happens, unless the client goes away.
	Delay time.Duration
	// Drop closes the connection without an answer.
	Drop bool
	// Status other than 0 and 200 is an error of the provider's form.
	Status int
	// Message is the error's text; empty is the status in words.
	Message string
	// Code is the error's code or reason, such as "content_filter"; may be empty.
	Code string
	// RetryAfter is sent as the header of this name, as it is.
	RetryAfter string
	// RetryInfo is sent as Google's error detail.
	RetryInfo time.Duration
	// Malformed breaks the JSON of a success off in the middle.
	Malformed bool
	// Raw is sent as the body of a success, as it is.
	Raw string
	// Blocked is an answer stopped by safety rules.
	Blocked bool
	// Text is the answer.
	Text string
	// Cut marks the text as stopped at the token limit.
	Cut bool
	// Tokens; 0 is an estimate from the lengths, for thoughts it is none.
	InputTokens, OutputTokens, ThoughtTokens int
}

// Handler decides about each call. It is called concurrently.
type Handler func(Call) Reply

// Default says no to every judgment and "ok" to everything else.
func Default(c Call) Reply {
	if c.Judgment() {
		return No("llmtest: nothing scripted")
	}
	return Text("ok")
}

// Text is a plain answer.
func Text(s string) Reply { return Reply{Text: s} }

// Fail is an error with an HTTP status.
func Fail(status int) Reply { return Reply{Status: status} }

// Yes is a verdict to speak after delay seconds; a negative delay is null.
func Yes(reason string, confidence float64, delay int) Reply {
	return verdict(true, reason, confidence, delay)
}

// No is a verdict to stay silent.
func No(reason string) Reply { return verdict(false, reason, 0.9, -1) }

func verdict(respond bool, reason string, confidence float64, delay int) Reply {
	v := struct {
		ShouldRespond bool    `json:"should_respond"`
		Reason        string  `json:"reason"`
		Confidence    float64 `json:"confidence"`
		DelaySeconds  *int    `json:"delay_seconds"`
	}{respond, reason, confidence, nil}
	if delay >= 0 {
		v.DelaySeconds = &delay
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: a verdict that is not JSON: %v", err))
	}
	return Reply{Text: string(b)}
}

// Script replies in turn and then goes on with the last; without replies it is Default.
func Script(replies ...Reply) Handler {
	var mu sync.Mutex
	return func(c Call) Reply {
		mu.Lock()
		defer mu.Unlock()
		if len(replies) == 0 {
			return Default(c)
		}
		r := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return r
	}
}
