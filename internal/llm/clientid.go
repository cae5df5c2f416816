package llm

import (
	"context"
	"crypto/rand"
	"strings"
)

// ClientRequestIDHeader carries a caller's own id of a request. OpenAI logs it, so that its
// support can find the request, and refuses one that is not ASCII or is longer than
// clientRequestIDLimit (developers.openai.com/api/reference/overview).
const ClientRequestIDHeader = "X-Client-Request-Id"

const clientRequestIDLimit = 512

type clientRequestIDKey struct{}

// NewClientRequestID returns an id for one request about a decision. OpenAI wants a new id
// for each request.
func NewClientRequestID(decision string) string { return decision + "#" + rand.Text()[:8] }

// DecisionOf returns the decision in an id of NewClientRequestID.
func DecisionOf(id string) string {
	decision, _, _ := strings.Cut(id, "#")
	return decision
}

// Context returns ctx for a client library's call of the request. A Transport then sends the
// ClientRequestID, unless a provider would refuse it.
func (r Request) Context(ctx context.Context) context.Context {
	id := r.ClientRequestID
	if id == "" || len(id) > clientRequestIDLimit ||
		strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ctx
	}
	return context.WithValue(ctx, clientRequestIDKey{}, id)
}
