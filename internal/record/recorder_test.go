package record

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/store/storetest"
)

// directory is a Slack that fails, or knows the bot as a member of all channels but CELSEWHERE.
type directory struct{ err error }

func (d *directory) Identity(context.Context) (slack.Identity, error) {
	return slack.Identity{TeamID: "T1", UserID: "UBOT"}, d.err
}

func (d *directory) Channel(_ context.Context, id string) (slack.Channel, error) {
	return slack.Channel{ID: id, Member: id != "CELSEWHERE"}, d.err
}

// Where Slack does not say whether the bot is in a channel, what it said last counts.
func TestAbsent(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	knows := &directory{}
	r := &Recorder{Store: storetest.Open(t), Directory: knows, Clock: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler)}
	for id, member := range map[string]bool{"CIN": true, "COUT": false} {
		if err := r.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: id, Member: member, Refreshed: noon}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		channel string
		err     error
		want    bool
	}{
		{"COUT", nil, false}, // it was invited meanwhile
		{"CELSEWHERE", nil, true},
		{"CIN", &slack.Error{Code: "channel_not_found", Kind: slack.Final}, true},
		{"COUT", &slack.Error{Code: "missing_scope", Kind: slack.Final}, false},
		{"CIN", &slack.Error{Code: "http_503", Kind: slack.Transient}, false},
		{"COUT", &slack.Error{Code: "http_503", Kind: slack.Transient}, true},
		{"CNEW", &slack.Error{Code: "http_503", Kind: slack.Transient}, false},
		{"COUT", context.DeadlineExceeded, true},
	} {
		knows.err = test.err
		if got := r.Absent(t.Context(), "T1", test.channel); got != test.want {
			t.Errorf("%s, %v: absent %v, want %v", test.channel, test.err, got, test.want)
		}
	}
}
