package tap

import (
	"net/http"
	"strings"
	"time"
)

// Exchange is one request to the model, and its answer.
type Exchange struct {
	// Purpose is llm.PurposeJudgment for a request for JSON, llm.PurposeMemory for a prompt
	// with a memory's ending, else llm.PurposeResponse.
	Purpose string `json:"purpose"`
	// Model is the requested model.
	Model string `json:"model"`
	// At is when the request came.
	At time.Time `json:"at"`
	// System is the system prompt, and Prompt the user turn, with a line for each file instead of its
	// bytes.
	System string `json:"system"`
	Prompt string `json:"prompt"`
	// Tools are those that the model was offered, and LookedUp what it called before, with the
	// results; both as text. Of files it has a line as well.
	Tools    string `json:"tools,omitempty"`
	LookedUp string `json:"looked_up,omitempty"`
	// Answer is the model's text, even if it was cut at the token limit, and the tools that it calls.
	Answer string `json:"answer"`
	// Error is one line that says what went wrong; empty: nothing.
	Error string `json:"error"`
}

// minSecret is the length of the shortest key that is hidden. A shorter one is a placeholder
// for a server without keys, and may be a word of the answer.
const minSecret = 12

// secrets returns the keys of a request.
func secrets(r *http.Request) []string {
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	all := []string{bearer, r.URL.Query().Get("key")}
	for name, values := range r.Header {
		if strings.HasSuffix(name, "Api-Key") { // also X-Goog-Api-Key
			all = append(all, values...)
		}
	}
	return all
}

// redacted returns the exchange without the secrets, since servers often quote a key.
func (x Exchange) redacted(secrets []string) Exchange {
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, text := range []*string{&x.Model, &x.System, &x.Prompt, &x.Tools, &x.LookedUp, &x.Answer, &x.Error} {
			*text = strings.ReplaceAll(*text, secret, "[key]")
		}
	}
	return x
}
