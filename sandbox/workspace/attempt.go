package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// try delivers an event once. It returns why Slack would retry, or "".
func (d *dispatcher) try(e Event, retry int, why string) (reason string) {
	entry := Delivery{Event: e, Retry: retry, Reason: why, At: time.Now()}
	if d.w.socket.used() {
		if err := d.w.socket.deliver(d.w.ctx, e, retry, why); err != nil {
			entry.Err, reason = err.Error(), "connection_failed"
		} else {
			entry.Status = http.StatusOK
		}
	} else {
		entry.Status, entry.Err, reason = d.post(e.Body, retry, why)
	}
	entry.Took = time.Since(entry.At)
	d.mu.Lock()
	d.log = append(d.log, entry)
	if most := d.w.cfg.LogLimit; len(d.log) > most {
		d.log = d.log[most/2:]
	}
	d.mu.Unlock()
	d.notify()
	return reason
}

// post makes one request. The reasons are Slack's (docs.slack.dev/apis/events-api, "Retries").
func (d *dispatcher) post(body []byte, retry int, why string) (status int, fault, reason string) {
	header := d.w.Sign(body, d.w.skewed(time.Now()))
	if retry > 0 {
		header.Set("X-Slack-Retry-Num", strconv.Itoa(retry))
		header.Set("X-Slack-Retry-Reason", why)
	}
	answer, err := d.send(d.w.ctx, body, header)
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirects):
		return 0, err.Error(), "too_many_redirects"
	case errors.As(err, &timeout) && timeout.Timeout():
		return 0, err.Error(), "http_timeout"
	case err != nil:
		return 0, err.Error(), "connection_failed"
	case answer.StatusCode/100 == 2:
		return answer.StatusCode, "", ""
	case answer.Header.Get("X-Slack-No-Retry") == "1":
		return answer.StatusCode, "", ""
	}
	return answer.StatusCode, "", "http_error"
}

// send posts to the events URL. The answer's Body is in memory.
func (d *dispatcher) send(ctx context.Context, body []byte, header http.Header) (*http.Response, error) {
	d.mu.Lock()
	url := d.url
	d.mu.Unlock()
	return d.request(ctx, url, body, header)
}

// sendTo posts to a sibling of the events URL: its last segment is replaced by path.
func (d *dispatcher) sendTo(
	ctx context.Context, path string, body []byte, header http.Header,
) (status int, answer []byte, err error) {
	d.mu.Lock()
	url := strings.TrimSuffix(d.url, "events") + path
	d.mu.Unlock()
	resp, err := d.request(ctx, url, body, header)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

func (d *dispatcher) request(ctx context.Context, url string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("deliver event: %w", err)
	}
	req.Header = header
	answer, err := d.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("deliver event: %w", err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read acknowledgement: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(content))
	return answer, nil
}
