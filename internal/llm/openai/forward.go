package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// Forward adapts a request for the server that it is forwarded to, and returns the body to
// send. Servers of OpenAI's protocol differ in the header of the key and in the name of the
// limit of tokens.
func Forward(r *http.Request, to *url.URL, body []byte) []byte {
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	r.Header.Del("Authorization")
	maps.Copy(r.Header, credentials(to, key))
	if knowsNewLimit(to) {
		return withNewLimit(body)
	}
	return body
}

// withNewLimit renames the limit of tokens in a request.
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
