package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"myao/internal/slack"
	"myao/test/world"
)

// writer sends events to a starter as Slack does, many at once over open connections. Unlike
// package sandbox it has no queue and no log.
type writer struct {
	url    string
	client *http.Client
	user   string
	appID  string
	botID  string
	last   atomic.Int64 // the newest ts, microseconds
}

func (w *system) writer() *writer {
	bot := w.Workspace.Bot()
	return &writer{
		url: "http://" + w.starter.Address + "/slack/events", user: w.person, appID: bot.AppID, botID: bot.UserID,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}, Timeout: time.Minute},
	}
}

// ts returns a new ts.
func (w *writer) ts() string {
	for {
		last := w.last.Load()
		next := max(last+1, time.Now().UnixMicro())
		if w.last.CompareAndSwap(last, next) {
			return fmt.Sprintf("%d.%06d", next/1e6, next%1e6)
		}
	}
}

// say sends a person's message in the form of Slack's clients and returns once it is
// acknowledged. Like Slack it retries a refused event at once, once.
func (w *writer) say(ctx context.Context, channel, thread, ts, text string) error {
	event := map[string]any{
		"type": "message", "user": w.user, "text": text, "ts": ts, "event_ts": ts, "team": team, "channel": channel, "channel_type": "channel",
		"client_msg_id": "00000000-0000-4000-8000-" + ts[len(ts)-6:] + ts[4:10],
		"blocks": []any{map[string]any{"type": "rich_text", "block_id": "b1", "elements": []any{
			map[string]any{"type": "rich_text_section", "elements": []any{map[string]any{"type": "text", "text": text}}},
		}}},
	}
	if thread != "" {
		event["thread_ts"], event["parent_user_id"] = thread, w.user
	}
	body, err := json.Marshal(map[string]any{
		"token": "bench", "team_id": team, "context_team_id": team, "api_app_id": w.appID, "type": "event_callback",
		"event_id": "Ev" + ts, "event_time": time.Now().Unix(), "event_context": "4-Ev" + ts, "is_ext_shared_channel": false, "event": event,
		"authorizations": []any{map[string]any{"team_id": team, "user_id": w.botID, "is_bot": true}},
	})
	if err != nil {
		return err
	}
	if err = w.post(ctx, body); errors.Is(err, errRefused) {
		err = w.post(ctx, body)
	}
	return err
}

// errRefused is the door's answer when it cannot accept an event now.
var errRefused = errors.New("the door answers " + http.StatusText(http.StatusServiceUnavailable))

func (w *writer) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = slack.Sign(body, world.SigningSecret, time.Now())
	request.Header.Set("Content-Type", "application/json")
	answer, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable:
		return errRefused
	default:
		return fmt.Errorf("the door answers %s", answer.Status)
	}
}
