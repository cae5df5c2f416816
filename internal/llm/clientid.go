package llm

import (
	"context"
	"crypto/rand"
	"strings"
)

// ClientRequestIDHeader carries a caller's own id of a request. OpenAI writes it down, so that
// its support can find the request, and refuses one that is not ASCII or longer than
// clientRequestIDLimit (developers.openai.com/api/reference/overview).
const ClientRequestIDHeader = "X-Client-Request-Id"

const clientRequestIDLimit = 512

type clientRequestIDKey struct{}

// NewClientRequestID is an id for one request of a matter: OpenAI wants each request to have
// one of its own.
func NewClientRequestID(matter string) string { return matter + "#" + rand.Text()[:8] }

// DecisionOf is the matter of an id that NewClientRequestID has made.
func DecisionOf(id string) string {
	matter, _, _ := strings.Cut(id, "#")
	return matter
}

// Context is ctx for the calls that a Transport makes for the request: they carry its
// ClientRequestID, unless that is one that a provider would refuse.
func (r Request) Context(ctx context.Context) context.Context {
	id := r.ClientRequestID
	if id == "" || len(id) > clientRequestIDLimit || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ctx
	}
	return context.WithValue(ctx, clientRequestIDKey{}, id)
}
