package setup

import (
	"context"
	"net/url"
	"slices"
	"time"

	"myao/internal/operate/doctor"
	"myao/internal/slack"
)

// client returns a client of Slack's Web API.
func (r *run) client() *slack.Client {
	return slack.New(slack.Config{Token: r.botToken, APIURL: r.slackAPI})
}

// routine are the checks that are worth a line only if they find something.
var routine = []string{"home tab", "slack clock", "slack status"}

// signingSecret is a check of nothing but a form, which is always the same.
const signingSecret = "signing secret"

// check runs the checks of starter doctor whose names begin with one of the prefixes, on the configuration
// as it will be written, and prints what they find. Where one fails it returns a refusal.
func (r *run) check(ctx context.Context, prefixes ...string) error {
	c, err := r.config()
	if err != nil {
		return err
	}
	d := doctor.Doctor{Config: c, Slack: r.client(), Ask: true, Clock: time.Now}
	findings := d.ExamineOnly(ctx, prefixes...)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	failed := false
	for _, f := range findings {
		failed = failed || f.Status == doctor.Fail || f.Status == doctor.Warn && f.Check == signingSecret
		if f.Status == doctor.Skip || f.Status == doctor.OK && slices.Contains(routine, f.Check) {
			continue
		}
		r.say("   %-4s  %s: %s", f.Status, f.Check, f.Message)
		if f.Fix != "" {
			r.say("         → %s", f.Fix)
		}
	}
	if failed {
		return refusal("")
	}
	return nil
}

// hasPassword reports whether an address has one.
func hasPassword(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.User != nil
}
