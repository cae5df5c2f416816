package slack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	slackapi "github.com/slack-go/slack"

	"myao/internal/pause"
)

// ErrNotSlackURL means that an answer was to go to an address that is not Slack's.
var ErrNotSlackURL = errors.New("the response_url is not Slack's")

const (
	// respondTries is how often one answer is tried: Slack takes five from one address.
	respondTries = 3
	// respondPause passes between two tries.
	respondPause = 500 * time.Millisecond
)

// Responder answers requests at the address that came with them. What somebody without the
// signing secret could not have sent is checked all the same: it answers to Slack alone.
type Responder struct {
	api  *url.URL
	http *http.Client
}

// NewResponder makes a responder for the Slack whose Web API is at apiURL; empty is Slack
// itself. The client is as in Config.
func NewResponder(apiURL string, client *http.Client) (*Responder, error) {
	api, err := url.Parse(cmp.Or(apiURL, slackapi.APIURL))
	if err != nil {
		return nil, fmt.Errorf("read the address of Slack's API: %w", err)
	}
	return &Responder{api: api, http: newTransport(client).client}, nil
}

// Respond sends an answer that only who asked sees, in mrkdwn. Its errors do not hold the
// address, which is a secret.
func (r *Responder) Respond(ctx context.Context, address, text string) error {
	to, err := url.Parse(address)
	if err != nil || !r.isSlacks(to) {
		return ErrNotSlackURL
	}
	for try := 1; ; try++ {
		again, err := r.send(ctx, address, Ephemeral(text))
		if err == nil {
			return nil
		}
		if !again || try == respondTries || !pause.For(ctx, time.Duration(try)*respondPause) {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// isSlacks reports whether an address is Slack's own: where its API is, or of the host named
// hooks there, as hooks.slack.com.
func (r *Responder) isSlacks(to *url.URL) bool {
	if to.User != nil || to.Opaque != "" || to.Scheme != r.api.Scheme {
		return false
	}
	return to.Host == r.api.Host || to.Scheme == "https" && to.Host == "hooks."+r.api.Host
}

// send is one try; again: another one may do better.
func (r *Responder) send(ctx context.Context, address string, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, ErrNotSlackURL
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := r.http.Do(req)
	if err != nil {
		if told, ok := errors.AsType[*url.Error](err); ok { // it names the address
			err = told.Err
		}
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, fmt.Errorf("status %d", resp.StatusCode)
}
