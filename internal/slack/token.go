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
	if _, err := c.api.AuthTestContext(ctx); err != nil {
		return TokenInfo{}, c.fail(method, err)
	}
	return readTokenInfo(*header), nil
}

func readTokenInfo(h http.Header) TokenInfo {
	var g TokenInfo
	for _, list := range h.Values(scopesHeader) {
		for scope := range strings.SplitSeq(list, ",") {
			if scope = strings.TrimSpace(scope); scope != "" {
				g.Scopes = append(g.Scopes, scope)
			}
		}
	}
	slices.Sort(g.Scopes)
	g.Scopes = slices.Compact(g.Scopes)
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		g.Date = date.UTC()
	}
	return g
}
