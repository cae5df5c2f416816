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

	"myao/internal/runtime/pause"
)

// ErrNotSlackURL means that a response_url does not belong to Slack.
var ErrNotSlackURL = errors.New("the response_url is not Slack's")

const (
	// respondTries is how often one answer is tried. Slack accepts five at one response_url.
	respondTries = 3
	// respondPause is the pause after the first try; it grows with each try.
	respondPause = 500 * time.Millisecond
)

// Responder answers requests at their response_url. Only Slack could have signed the request with that
// address. The address is checked all the same, so that no answer goes to another host.
type Responder struct {
	api  *url.URL
	http *http.Client
}

// NewResponder makes a responder for the Slack whose Web API is at apiURL; empty means Slack itself.
// client is as in Config.
func NewResponder(apiURL string, client *http.Client) (*Responder, error) {
	api, err := url.Parse(cmp.Or(apiURL, slackapi.APIURL))
	if err != nil {
		return nil, fmt.Errorf("read the address of Slack's API: %w", err)
	}
	return &Responder{api: api, http: newTransport(client).client}, nil
}

// Respond sends an answer that only the user of the request sees. Its errors do not contain
// the address, which is a secret.
func (r *Responder) Respond(ctx context.Context, address string, a Answer) error {
	to, err := url.Parse(address)
	if err != nil || !r.isSlacks(to) {
		return ErrNotSlackURL
	}
	for try := 1; ; try++ {
		again, err := r.send(ctx, address, Ephemeral(a))
		if err == nil {
			return nil
		}
		if !again || try == respondTries || !pause.For(ctx, time.Duration(try)*respondPause) {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// isSlacks reports whether an address is Slack's own: at the host of its API, or at the host hooks
// below it, as hooks.slack.com.
func (r *Responder) isSlacks(to *url.URL) bool {
	if to.User != nil || to.Opaque != "" || to.Scheme != r.api.Scheme {
		return false
	}
	return to.Host == r.api.Host || to.Scheme == "https" && to.Host == "hooks."+r.api.Host
}

// send makes one try. again reports whether another try may succeed.
func (r *Responder) send(ctx context.Context, address string, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, ErrNotSlackURL
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := r.http.Do(req)
	if err != nil {
		if withURL, ok := errors.AsType[*url.Error](err); ok { // it contains the address
			err = withURL.Err
		}
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests,
		fmt.Errorf("status %d", resp.StatusCode)
}
