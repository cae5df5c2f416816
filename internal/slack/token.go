package slack

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// TokenInfo is what Slack says about a token in the header of each answer.
type TokenInfo struct {
	// Scopes are what the token may do, sorted; nil if Slack does not say.
	Scopes []string
	// Date is the time of the answer by Slack's clock, to the second; zero if Slack does not say.
	Date time.Time
}

// scopesHeader names the scopes of the token that a call was made with
// (docs.slack.dev/authentication/installing-with-oauth). Every answer has it.
const scopesHeader = "X-OAuth-Scopes"

// TokenInfo asks Slack for the token's scopes and for the time.
func (c *Client) TokenInfo(ctx context.Context) (TokenInfo, error) {
	const method = "auth.test"
	ctx, header := withHeader(ctx)
	if _, err := c.api().AuthTestContext(ctx); err != nil {
		return TokenInfo{}, c.fail(method, err)
	}
	return readTokenInfo(*header), nil
}

// Test asks Slack whether it takes the token.
func (c *Client) Test(ctx context.Context) error {
	_, err := c.TokenInfo(ctx)
	return err
}

// Lacks reports whether the token has no such scope, by the newest answer that named its scopes. It
// makes no call: before the first answer, and if Slack does not say, it is false.
func (c *Client) Lacks(scope string) bool {
	granted := c.scopes.Load()
	return granted != nil && !slices.Contains(*granted, scope)
}

// Has reports whether the token has a scope, by the newest answer that named its scopes. It makes no
// call: before the first answer, and if Slack does not say, it is false.
func (c *Client) Has(scope string) bool {
	granted := c.scopes.Load()
	return granted != nil && slices.Contains(*granted, scope)
}

// scopesIn returns the scopes that the header of an answer names, sorted; nil if it names none.
func scopesIn(h http.Header) (scopes []string) {
	for _, list := range h.Values(scopesHeader) {
		for scope := range strings.SplitSeq(list, ",") {
			if scope = strings.TrimSpace(scope); scope != "" {
				scopes = append(scopes, scope)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

func readTokenInfo(h http.Header) TokenInfo {
	g := TokenInfo{Scopes: scopesIn(h)}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		g.Date = date.UTC()
	}
	return g
}
