package anthropic

import (
	"regexp"

	"myao/internal/llm"
)

// Messages that say more than the status: 400 invalid_request_error has many causes, and 429
// may also be a monthly spend limit (platform.claude.com/docs/en/api/errors,
// platform.claude.com/docs/en/api/rate-limits).
var (
	// longPattern: "prompt is too long: 213003 tokens > 200000 maximum", "input length and
	// `max_tokens` exceed context limit: 199211 + 20000 > 200000".
	longPattern = regexp.MustCompile(`(?i)^prompt is too long|exceeds? (the )?context (limit|window)`)
	// moneyPattern: "Your credit balance is too low to access the Claude API", "You have
	// reached your specified workspace API usage limits", "You have reached your API usage
	// limits: your organization has crossed its monthly API usage threshold".
	moneyPattern = regexp.MustCompile(`(?i)credit balance is too low|^You have reached your .*API usage limits`)
	// filterPattern: "Output blocked by content filtering policy".
	filterPattern = regexp.MustCompile(`(?i)blocked by content filtering policy`)
	// closedPattern: "This organization has been disabled."
	closedPattern = regexp.MustCompile(`(?i)^This organization has been disabled`)
)

// classify corrects the kind of a refusal by the API's message.
func classify(e *llm.Error) *llm.Error {
	switch {
	case e.Status != 400 && e.Status != 429:
	case moneyPattern.MatchString(e.Message) && e.RetryAfter == 0: // with a wait it is a short limit
		e.Kind = llm.ErrQuota
	case e.Status == 429:
	case longPattern.MatchString(e.Message):
		e.TooLong = true
	case filterPattern.MatchString(e.Message):
		e.Kind = llm.ErrBlocked
	case closedPattern.MatchString(e.Message):
		e.Kind = llm.ErrAuth
	}
	return e
}
