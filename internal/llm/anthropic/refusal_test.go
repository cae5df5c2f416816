package anthropic

import (
	"errors"
	"testing"
	"time"

	"myao/internal/llm"
	"myao/test/llmtest"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		spent = "You have reached your API usage limits: your organization has crossed its monthly API usage threshold, set based on your organization's API tier. You will regain access on 2026-09-01 at 00:00 UTC."
		own   = "You have reached your specified workspace API usage limits. You will regain access on 2026-09-01 at 00:00 UTC."
	)
	for name, tt := range map[string]struct {
		reply   llmtest.Reply
		kind    error
		tooLong bool
		after   time.Duration
	}{
		"overloaded":                {llmtest.Reply{Status: 529, Message: "Overloaded"}, llm.ErrUnavailable, false, 0},
		"overloaded, with a wait":   {llmtest.Reply{Status: 529, RetryAfter: "7"}, llm.ErrUnavailable, false, 7 * time.Second},
		"the tier's money":          {llmtest.Reply{Status: 429, Message: spent}, llm.ErrQuota, false, 0},
		"one workspace's limit":     {llmtest.Reply{Status: 429, Message: own, RetryAfter: "60"}, llm.ErrRateLimited, false, time.Minute},
		"a limit of their own":      {llmtest.Reply{Status: 400, Message: own}, llm.ErrQuota, false, 0},
		"credit":                    {llmtest.Reply{Status: 400, Message: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}, llm.ErrQuota, false, 0},
		"billing":                   {llmtest.Fail(402), llm.ErrQuota, false, 0},
		"an organization that ends": {llmtest.Reply{Status: 400, Message: "This organization has been disabled."}, llm.ErrAuth, false, 0},
		"a long prompt":             {llmtest.Reply{Status: 400, Message: "prompt is too long: 213003 tokens > 200000 maximum"}, llm.ErrInvalid, true, 0},
		"a prompt and its limit":    {llmtest.Reply{Status: 400, Message: "input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length or `max_tokens` and try again"}, llm.ErrInvalid, true, 0},
		"many bytes":                {llmtest.Reply{Status: 413, Message: "Request exceeds the maximum size"}, llm.ErrInvalid, true, 0},
		"a filter":                  {llmtest.Reply{Status: 400, Message: "Output blocked by content filtering policy"}, llm.ErrBlocked, false, 0},
		"a field":                   {llmtest.Reply{Status: 400, Message: "temperature: Extra inputs are not permitted"}, llm.ErrInvalid, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := setup(t, func(llmtest.Call) llmtest.Reply { return tt.reply })
			_, err := m.Generate(t.Context(), request())
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Kind != tt.kind || e.TooLong != tt.tooLong || e.RetryAfter != tt.after || e.Status != tt.reply.Status || e.Code == "" {
				t.Errorf("got %v with code %q, too long %v, after %v", e, e.Code, e.TooLong, e.RetryAfter)
			}
			if n := len(s.Calls()); n != 1 {
				t.Errorf("got %d attempts, want 1", n)
			}
		})
	}
}
