package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"myao/internal/chat"
	"myao/internal/llm"
)

// Call is one request as the server received it.
type Call struct {
	// Provider is its protocol: "gemini", "openai" or "anthropic".
	Provider string
	// N counts the calls of a server from 1, in order of arrival.
	N     int
	Model string
	// System is the system prompt; User is the text of the user turns.
	System, User string
	// Files are those that go with User; those of results are in Turns.
	Files []llm.File
	// Schema is the requested JSON schema, unchanged; nil for free text.
	Schema json.RawMessage
	// Tools are the declared tools. Turns are the earlier answers that called tools, with their
	// results; of OpenAI's and Gemini's they lack Opaque.
	Tools []llm.Tool
	Turns []llm.Turn
	// Temperature and MaxTokens are nil where the request did not set them.
	Temperature *float64
	MaxTokens   *int
	// Path and Query are those of the URL, unchanged.
	Path, Query string
	Header      http.Header
	Body        json.RawMessage
	// At is when it arrived.
	At time.Time
}

// Judgment reports whether the call asks for JSON, as only judgments do.
func (c Call) Judgment() bool { return c.Schema != nil }

// Reply is how the server answers a call. The zero value is an answer without
// text. Delay combines with every other field. Of the others the first that is set
// counts: Drop, Status, Malformed, Raw, Blocked, else Text and Calls.
type Reply struct {
	// Delay passes before anything else happens, unless the client goes away.
	Delay time.Duration
	// Drop closes the connection without an answer.
	Drop bool
	// Status other than 0 and 200 is an error in the provider's form.
	Status int
	// Message is the error's text; empty is the text of the status.
	Message string
	// Code is the error's code or reason, such as "content_filter"; it may be empty.
	Code string
	// RetryAfter is the header Retry-After, unchanged.
	RetryAfter string
	// RetryInfo is Google's error detail of this name.
	RetryInfo time.Duration
	// Malformed is a success with incomplete JSON.
	Malformed bool
	// Raw is the body of a success, unchanged.
	Raw string
	// Blocked is an answer stopped by safety rules.
	Blocked bool
	// Text is the answer.
	Text string
	// Calls are the tools that the model calls, beside Text. An empty ID is chosen by the server.
	Calls []llm.Call
	// Cut marks the answer as cut at the token limit.
	Cut bool
	// Token counts; 0 is an estimate from the lengths, except for thoughts.
	InputTokens, OutputTokens, ThoughtTokens int
}

// Handler returns the reply to a call. It is called concurrently.
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

// Verdict is a verdict with all six fields, and with a reaction if there is one.
func Verdict(v chat.Verdict) Reply {
	return encoded(struct {
		Addressee string `json:"addressee"`
		Gist      string `json:"gist"`
		chat.Verdict
		React string `json:"react,omitempty"`
	}{v.Addressee, v.Gist, v, v.React})
}

func verdict(respond bool, reason string, confidence float64, delay int) Reply {
	v := chat.Verdict{ShouldRespond: respond, Reason: reason, Confidence: confidence}
	if delay >= 0 {
		v.DelaySeconds = &delay
	}
	return encoded(v)
}

func encoded(verdict any) Reply {
	b, err := json.Marshal(verdict)
	if err != nil {
		panic(fmt.Sprintf("llmtest: a verdict that is not JSON: %v", err))
	}
	return Reply{Text: string(b)}
}

// Script gives the replies in turn, then repeats the last; without replies it is Default.
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
