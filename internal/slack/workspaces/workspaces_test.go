package workspaces

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/storetest"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// The database is asked about a team that it does not know, once in a while, however many events come from there. It
// does not matter how many such teams there are.
func TestUnknownTeams(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now()
	one := workspace.New(workspace.Config{Team: "T9", BotToken: "xoxb-9"})
	t.Cleanup(one.Close)
	api := httptest.NewServer(one.Handler())
	t.Cleanup(api.Close)
	var c config.Config
	c.Slack.ClientID, c.Slack.APIURL = "1.2", api.URL+"/api/"
	c.Encryption = config.Encryption{ActiveKey: "one", Keys: map[string]config.Secret{
		"one": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}}
	w, err := New(c, func() time.Time { return now }, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	testserver.Must(t, err)
	db := storetest.Open(t)
	w.Use(db)
	known := func(when string, want bool) {
		t.Helper()
		if _, err := w.Of(ctx, "T9"); (err == nil) != want || err != nil && !errors.Is(err, slack.ErrForeign) {
			t.Errorf("%s: %v", when, err)
		}
	}
	known("not installed", false)
	token, err := w.codec.Seal([]byte("xoxb-9"), SealedName("T9"))
	testserver.Must(t, err)
	testserver.Must(t, testserver.ErrOf(db.SaveInstallation(ctx, store.Installation{ID: "T9", BotUserID: one.Bot().UserID,
		Tokens: store.Tokens{Token: token}})))
	known("at once", false)
	now = now.Add(unknownFor)
	known("later", true)
	for i := range maxUnknown + 1 {
		_, _ = w.Of(ctx, fmt.Sprint("TX", i))
	}
	if n := len(w.asked); n > maxUnknown {
		t.Errorf("%d are remembered", n)
	}
}
