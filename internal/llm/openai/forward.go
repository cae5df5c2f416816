package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// Forward makes a request what it would have been, had this adapter been opened for the
// server that it is forwarded to, and returns the body to send: servers of OpenAI's protocol
// differ in where they look for the key, and in what they call the limit of tokens.
func Forward(r *http.Request, to *url.URL, body []byte) []byte {
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	r.Header.Del("Authorization")
	maps.Copy(r.Header, credentials(to, key))
	if knowsNewLimit(to) {
		return withNewLimit(body)
	}
	return body
}

// withNewLimit is a request with its limit of tokens under the newer name.
func withNewLimit(object []byte) []byte {
	const from, to = "max_tokens", "max_completion_tokens"
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil || fields[from] == nil {
		return object
	}
	fields[to] = fields[from]
	delete(fields, from)
	changed, err := json.Marshal(fields)
	if err != nil {
		return object
	}
	return changed
}
