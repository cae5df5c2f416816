package tap

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Exchange is one question to the model, and what came of it.
type Exchange struct {
	// Purpose is llm.PurposeJudgment where JSON was asked for, as only judgments do;
	// llm.PurposeMemory where the prompt ends as those for memories do; else llm.PurposeResponse.
	Purpose string `json:"purpose"`
	// Model is the one that was asked for.
	Model string `json:"model"`
	// At is when the question came.
	At time.Time `json:"at"`
	// System is the system text, and Prompt the short instruction that goes with it.
	System string `json:"system"`
	Prompt string `json:"prompt"`
	// Answer is the model's text, also of an answer that broke off at the limit of tokens.
	Answer string `json:"answer"`
	// Error says in one line what went wrong; empty: nothing.
	Error string `json:"error"`
}

// minSecret is that of the shortest key that is looked for: what is shorter is a
// placeholder for a server that asks for none, and may be a word of the answer.
const minSecret = 12

// secrets are the keys that a request carries.
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

// redacted is the exchange without these secrets: servers like to quote a key back.
func (x Exchange) redacted(secrets []string) Exchange {
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, text := range []*string{&x.Model, &x.System, &x.Prompt, &x.Answer, &x.Error} {
			*text = strings.ReplaceAll(*text, secret, "[key]")
		}
	}
	return x
}

// What is kept is bounded by number, and by the bytes of all texts together, which are
// more than a question and an answer can have (requestLimit, llm.BodyLimit).
const (
	maxExchanges = 500
	maxBytes     = 32 << 20
)

// history is the newest exchanges.
type history struct {
	mu      sync.Mutex
	entries []entry // oldest first
	bytes   int
}

type entry struct {
	decision string
	Exchange
}

func (k entry) bytes() int {
	return len(k.decision) + len(k.Model) + len(k.System) + len(k.Prompt) + len(k.Answer) + len(k.Error)
}

// add adds an exchange, and drops the oldest that there is no room for any more.
func (r *history) add(matter string, x Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, entry{matter, x})
	r.bytes += r.entries[len(r.entries)-1].bytes()
	drop := 0
	for len(r.entries)-drop > maxExchanges || r.bytes > maxBytes {
		r.bytes -= r.entries[drop].bytes()
		drop++
	}
	r.entries = slices.Delete(r.entries, 0, drop)
}

// of is what is kept of a matter, oldest first.
func (r *history) of(matter string) []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := []Exchange{}
	for _, k := range r.entries {
		if k.decision == matter {
			found = append(found, k.Exchange)
		}
	}
	return found
}
