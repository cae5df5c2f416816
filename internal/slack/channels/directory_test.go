package channels

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/test/storetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeSlack fails, or knows every channel as general with the bot in it, except CELSEWHERE.
type fakeSlack struct {
	err   error
	asked int
	apps  map[string]string // by bot id
	// members, unless nil, answers for the members of a channel.
	members func(ctx context.Context, channel, cursor string) ([]string, string, error)
}

func (f *fakeSlack) Channel(_ context.Context, id string) (slack.Channel, error) {
	f.asked++
	if f.err != nil {
		return slack.Channel{}, f.err
	}
	return slack.Channel{ID: id, Name: "general", Member: id != "CELSEWHERE"}, nil
}

func (f *fakeSlack) User(_ context.Context, id string) (slack.User, error) {
	f.asked++
	return slack.User{ID: id, Name: "name of " + id, IsBot: id == "UAPP", App: f.apps[id]}, f.err
}

func (f *fakeSlack) Members(ctx context.Context, channel, cursor string) ([]string, string, error) {
	if f.members != nil {
		return f.members(ctx, channel, cursor)
	}
	return nil, "", f.err
}

// setup makes a directory at noon. Under the name general a channel's mode is off.
func setup(t *testing.T) (*Directory, *fakeSlack) {
	t.Helper()
	s := &fakeSlack{}
	return &Directory{
		Store: storetest.Open(t), Slack: s, Clock: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler),
		Config: config.Config{Channels: map[string]config.Channel{"general": {Mode: config.ModeOff}}},
	}, s
}

func (d *Directory) save(t *testing.T, c store.Channel) {
	t.Helper()
	c.Refreshed = noon
	if err := d.Store.SaveChannel(t.Context(), "T1", c); err != nil {
		t.Fatal(err)
	}
}

// unavailable is an error of Slack that passes.
var unavailable = &slack.Error{Code: "http_503", Kind: slack.Transient}

func TestSettings(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	d.save(t, store.Channel{ID: "C1", Name: "general"})
	for _, step := range []struct {
		what, channel string
		err           error
		want          config.Mode
		asks          int
	}{
		{"a name that the database knows", "C1", unavailable, config.ModeOff, 0},
		{"Slack does not answer", "C2", unavailable, config.ModeJudge, 1},
		{"Slack describes the channel", "C2", nil, config.ModeOff, 1},
		{"and is not asked again", "C2", nil, config.ModeOff, 0},
	} {
		s.err = step.err
		before := s.asked
		if got := d.Settings(t.Context(), "T1", step.channel).Mode; got != step.want || s.asked-before != step.asks {
			t.Errorf("%s: mode %s after %d calls, want %s after %d", step.what, got, s.asked-before, step.want, step.asks)
		}
	}

	d.Config = config.Config{Channels: map[string]config.Channel{"C0000001": {Mode: config.ModeOff}}}
	before := s.asked
	if got := d.Settings(t.Context(), "T1", "C0000001").Mode; got != config.ModeOff || s.asked > before {
		t.Errorf("no settings under names: mode %s after %d calls, want off after none", got, s.asked-before)
	}
}

func TestStoredSettings(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	d.save(t, store.Channel{ID: "C1", Name: "general"})
	ids, want := []string{"C1", "C2"}, map[string]config.Mode{"C1": config.ModeOff, "C2": config.ModeJudge}
	modes := func(settings map[string]config.ChannelSettings) map[string]config.Mode {
		all := map[string]config.Mode{}
		for id, s := range settings {
			all[id] = s.Mode
		}
		return all
	}
	if got, err := d.StoredSettings(t.Context(), "T1", ids...); err != nil || !maps.Equal(modes(got), want) {
		t.Errorf("modes %v, %v; want %v", modes(got), err, want)
	}
	if err := d.Store.(*store.Store).Close(); err != nil {
		t.Fatal(err)
	}
	want["C1"] = config.ModeJudge
	if got, err := d.StoredSettings(t.Context(), "T1", ids...); err == nil || !maps.Equal(modes(got), want) {
		t.Errorf("without a database: modes %v, %v; want %v and an error", modes(got), err, want)
	}
	if s.asked > 0 {
		t.Errorf("Slack was asked %d times", s.asked)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	for _, step := range []struct {
		what  string
		facts config.ChannelFacts
		err   error
		want  config.Mode // empty: Slack's error
		asks  int
	}{
		{"a name that is known", config.ChannelFacts{ID: "C1", Name: "general"}, unavailable, config.ModeOff, 0},
		{"a direct message", config.ChannelFacts{ID: "D1"}, unavailable, config.ModeJudge, 0},
		{"Slack tells the name", config.ChannelFacts{ID: "C1"}, nil, config.ModeOff, 1},
		{"Slack does not answer", config.ChannelFacts{ID: "C1"}, unavailable, "", 1},
		{"Slack refuses for good", config.ChannelFacts{ID: "C1"}, &slack.Error{Code: "missing_scope", Kind: slack.Final}, config.ModeJudge, 1},
	} {
		s.err = step.err
		before := s.asked
		got, err := d.Resolve(t.Context(), "T1", step.facts)
		if got.Mode != step.want || (err == nil) != (step.want != "") || err != nil && !errors.Is(err, step.err) || s.asked-before != step.asks {
			t.Errorf("%s: mode %q, %v after %d calls; want %q after %d", step.what, got.Mode, err, s.asked-before, step.want, step.asks)
		}
	}
}

// Where Slack does not say whether the bot is in a channel, its last answer counts.
func TestAbsent(t *testing.T) {
	t.Parallel()
	d, s := setup(t)
	for id, member := range map[string]bool{"CIN": true, "COUT": false} {
		d.save(t, store.Channel{ID: id, Member: member})
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
		{"CIN", unavailable, false},
		{"COUT", unavailable, true},
		{"CNEW", unavailable, false},
		{"COUT", context.DeadlineExceeded, true},
	} {
		s.err = test.err
		if got := d.Absent(t.Context(), "T1", test.channel); got != test.want {
			t.Errorf("%s, %v: absent %v, want %v", test.channel, test.err, got, test.want)
		}
	}
}
