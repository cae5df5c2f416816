package activities

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Metrics counts the results of activities. A nil Metrics counts nothing.
type Metrics struct {
	judgments *prometheus.CounterVec
	replies   *prometheus.CounterVec
	answers   prometheus.Histogram
	failures  *prometheus.CounterVec
	ambiguous *prometheus.CounterVec
	scopes    *prometheus.CounterVec
	rows      *prometheus.CounterVec
}

// NewMetrics registers the activities' metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		judgments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_judgments_total", Help: "Judgments by verdict: yes, no, rule:NAME if a rule made it, failed. " +
				"A yes that a second look took back also counts as rule:second_look.",
		}, []string{"verdict"}),
		replies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_replies_posted_total",
			Help: "Replies posted, by cause: addressed, judged, operator, and notice for a note that the bot cannot " +
				"answer.",
		}, []string{"cause"}),
		answers: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "myao_answer_duration_seconds",
			Help:    "Time from when somebody addressed the bot, as Slack dates it, to the last part of the answer.",
			Buckets: []float64{1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900, 3600},
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_post_failures_total",
			Help: "Failed attempts to post, by reason: rate_limited, transient and ambiguous ones are retried, final " +
				"ones are not.",
		}, []string{"reason"}),
		ambiguous: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_ambiguous_posts_total",
			Help: "Posts of unknown outcome that were looked up in Slack, by result: found, missing.",
		}, []string{"result"}),
		scopes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_memory_scopes_total",
			Help: "Attempts to remember a thread, channel or workspace, by result: changed, unchanged, failed.",
		}, []string{"result"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_rows_pruned_total", Help: "Rows deleted by retention, by table.",
		}, []string{"table"}),
	}
	verdicts := []string{"yes", "no", "failed"}
	for _, rule := range conversation.Rules() {
		verdicts = append(verdicts, verdictOf(rule))
	}
	for vec, values := range map[*prometheus.CounterVec][]string{
		m.judgments: verdicts, m.replies: {"addressed", "judged", "operator", "notice"},
		m.failures: {"rate_limited", "transient", "ambiguous", "final"}, m.ambiguous: {"found", "missing"},
		m.scopes: {"changed", "unchanged", "failed"},
		m.rows: {
			"messages", "changes", "decisions", "steps", "turns", "proposals", "feedback", "labels", "opinions",
			"promises", "outbox", "model_calls", "orders", "snapshots", "reactions", "memories", "conversations",
		},
	} {
		for _, v := range values {
			vec.WithLabelValues(v) // 0 until it happens, not absent
		}
		r.MustRegister(vec)
	}
	r.MustRegister(m.answers)
	return m
}

// verdictOf is the label of a rule's verdict.
func verdictOf(rule conversation.Rule) string { return "rule:" + string(rule) }

func (m *Metrics) judged(v chat.Verdict, rule conversation.Rule) {
	switch {
	case m == nil:
	case rule != conversation.NoRule:
		m.judgments.WithLabelValues(verdictOf(rule)).Inc()
	case v.ShouldRespond:
		m.judgments.WithLabelValues("yes").Inc()
	default:
		m.judgments.WithLabelValues("no").Inc()
	}
}

// tookBack counts a yes that a second look took back.
func (m *Metrics) tookBack() { m.judged(chat.Verdict{}, conversation.RuleSecondLook) }

func (m *Metrics) judgmentFailed() {
	if m != nil {
		m.judgments.WithLabelValues("failed").Inc()
	}
}

// posted counts a posted reply by its decision. at is when its last part was posted.
func (m *Metrics) posted(d store.Decision, at time.Time) {
	if m == nil {
		return
	}
	if d.Source == "addressed" && d.Reason != occasionReason {
		m.answers.Observe(at.Sub(chat.Time(cmp.Or(d.Revision, d.TriggerTS))).Seconds())
	}
	cause := d.Source
	switch {
	case d.Reason == noticeReason, d.Reason == stopReason:
		cause = "notice"
	case d.Source == "judgment":
		cause = "judged"
	}
	m.replies.WithLabelValues(cause).Inc()
}

func (m *Metrics) postFailed(reason string) {
	if m != nil {
		m.failures.WithLabelValues(reason).Inc()
	}
}

func (m *Metrics) ambiguousPost(found bool) {
	if m == nil {
		return
	}
	result := "missing"
	if found {
		result = "found"
	}
	m.ambiguous.WithLabelValues(result).Inc()
}

func (m *Metrics) remembered(changed bool, err error) {
	if m == nil {
		return
	}
	result := "unchanged"
	switch {
	case err != nil:
		result = "failed"
	case changed:
		result = "changed"
	}
	m.scopes.WithLabelValues(result).Inc()
}

func (m *Metrics) pruned(table string, rows int) {
	if m != nil {
		m.rows.WithLabelValues(table).Add(float64(rows))
	}
}
