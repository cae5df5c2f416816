package door

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

// Metrics counts what Slack delivers, and what became of it.
type Metrics struct {
	events   *prometheus.CounterVec
	requests *prometheus.CounterVec
	orders   *prometheus.CounterVec
	votes    *prometheus.CounterVec
	noVotes  *prometheus.CounterVec
	hooks    *prometheus.CounterVec
}

// NewMetrics registers the door's metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_events_total", Help: "Events and requests of Slack by what became of them: posted, edited, " +
				"deleted, reacted, hushed, ordered, rated, moved, member, opened, uninstalled, access, ignored, foreign, " +
				"rate_limited, unusable, unreadable, failed.",
		}, []string{"result"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_requests_refused_total",
			Help: "Requests refused at the door, by path, HTTP status and reason: unsigned, repeated, stale, forged, " +
				"large, slow, crowded, unreadable, unknown. All hooks have one path.",
		}, []string{"path", "status", "reason"}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_slack_orders_total",
			Help: "What people asked of the bot in Slack (help, status, why, snooze, mute, unmute, forget, hush, " +
				"answer_now, approve, decline), by how it ended: done, refused, unknown, failed.",
		}, []string{"order", "result"}),
		votes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_feedback_total", Help: "Votes about replies by their value (up, down). A changed vote counts " +
				"again, a repeated delivery does not.",
		}, []string{"value"}),
		noVotes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_feedback_ignored_total",
			Help: "Votes, and reasons of votes, that were ignored: unknown (no reply of ours that can be rated), " +
				"elsewhere (another message), deleted (the reply is gone), value (neither up nor down).",
		}, []string{"reason"}),
	}
	m.hooks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "myao_hook_events_total",
		Help: "Signed events of hooks by the hook's name and what became of them: stored, awaited (stored, and a " +
			"promise waits for one), repeated, nowhere (none of its channels is known), failed.",
	}, []string{"hook", "result"})
	for _, value := range []string{slack.FeedbackUp, slack.FeedbackDown} {
		m.votes.WithLabelValues(value)
	}
	for _, reason := range []string{"unknown", "elsewhere", "deleted", "value"} {
		m.noVotes.WithLabelValues(reason)
	}
	for _, result := range []string{"posted", "edited", "deleted", "reacted", "hushed", "ordered", "rated", "moved",
		"member", "opened", "uninstalled", "access", "ignored", "foreign", "rate_limited",
		"unusable", "unreadable", "failed"} {
		m.events.WithLabelValues(result)
	}
	for _, path := range []string{manifest.EventsPath, manifest.InteractionsPath, manifest.CommandsPath} {
		for reason, status := range map[string]int{
			"unsigned": http.StatusUnauthorized, "repeated": http.StatusUnauthorized, "stale": http.StatusUnauthorized,
			"forged": http.StatusUnauthorized,
			"large":  http.StatusRequestEntityTooLarge, "slow": http.StatusRequestTimeout,
			"crowded": http.StatusServiceUnavailable, "unreadable": http.StatusBadRequest,
		} {
			m.requests.WithLabelValues(path, strconv.Itoa(status), reason)
		}
	}
	for reason, status := range map[string]int{"unknown": http.StatusNotFound, "unsigned": http.StatusUnauthorized,
		"forged": http.StatusUnauthorized, "stale": http.StatusUnauthorized,
		"large": http.StatusRequestEntityTooLarge} {
		m.requests.WithLabelValues(config.HooksPath, strconv.Itoa(status), reason)
	}
	for order, results := range map[string][]string{
		"help":   {"done", "unknown"},
		"status": {"done", "refused", "failed"}, "why": {"done", "refused", "failed"},
		"snooze": {"done", "refused", "failed"}, "mute": {"done", "refused", "failed"},
		"unmute":   {"done", "refused", "failed"},
		"promises": {"done", "refused", "failed"}, "notes": {"done", "refused", "failed"},
		"forget": {"done", "refused", "failed"}, "forget_me": {"done", "refused", "failed"},
		"stop": {"done", "refused", "failed"}, "go": {"done", "refused", "failed"},
		"answer_now": {"done", "refused", "failed"},
		"hush":       {"done", "refused"}, "approve": {"done", "refused", "failed"},
		"decline": {"done", "refused", "failed"}, "cancel": {"done", "refused", "failed"},
	} {
		for _, result := range results {
			m.orders.WithLabelValues(order, result)
		}
	}
	r.MustRegister(m.events, m.requests, m.orders, m.votes, m.noVotes, m.hooks)
	return m
}

func (m *Metrics) event(result string) { m.events.WithLabelValues(result).Inc() }

func (m *Metrics) order(order, result string) { m.orders.WithLabelValues(order, result).Inc() }

func (m *Metrics) vote(value string) { m.votes.WithLabelValues(value).Inc() }

func (m *Metrics) voteIgnored(reason string) { m.noVotes.WithLabelValues(reason).Inc() }

// ForHooks has the metric of hooks say that nothing has come yet.
func (m *Metrics) ForHooks(configured map[string]config.Hook) *Metrics {
	for name := range configured {
		for _, result := range []string{"stored", "awaited", "repeated", "nowhere", "failed"} {
			m.hooks.WithLabelValues(name, result)
		}
	}
	return m
}

func (m *Metrics) hook(name, result string) { m.hooks.WithLabelValues(name, result).Inc() }

func (m *Metrics) refused(path string, status int, why error) {
	if strings.HasPrefix(path, config.HooksPath) {
		path = config.HooksPath // anybody may ask for any name
	}
	m.requests.WithLabelValues(path, strconv.Itoa(status), reason(why)).Inc()
}

// reason names in one word why a request is refused. An unsigned request does not claim to come
// from Slack: starter doctor sends such requests, too.
func reason(why error) string {
	switch {
	case errors.Is(why, errUnknownHook):
		return "unknown"
	case errors.Is(why, slack.ErrUnsigned), errors.Is(why, errHookUnsigned):
		return "unsigned"
	case errors.Is(why, slack.ErrRepeated):
		return "repeated"
	case errors.Is(why, slack.ErrStale), errors.Is(why, errHookStale):
		return "stale"
	case errors.Is(why, slack.ErrForged), errors.Is(why, errHookForged), errors.Is(why, slack.ErrNoSecret):
		return "forged"
	case errors.Is(why, errTooLarge):
		return "large"
	case errors.Is(why, errSlow):
		return "slow"
	case errors.Is(why, errCrowded):
		return "crowded"
	}
	return "unreadable"
}
