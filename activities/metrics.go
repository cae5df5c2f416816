package activities

import (
	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/store"
)

// Metrics counts what activities bring about. A nil one counts nothing.
type Metrics struct {
	judgments *prometheus.CounterVec
	replies   *prometheus.CounterVec
	failures  *prometheus.CounterVec
	ambiguous *prometheus.CounterVec
	runs      prometheus.Counter
	scopes    *prometheus.CounterVec
	rows      *prometheus.CounterVec
}

// NewMetrics registers the activities' metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		judgments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_judgments_total", Help: "Judgments by verdict: yes, no, rule:NAME where no model was asked, failed where none could be had.",
		}, []string{"verdict"}),
		replies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_replies_posted_total", Help: "Replies posted, by cause: addressed, judged, operator, and notice for a note that there is no answer.",
		}, []string{"cause"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_post_failures_total", Help: "Attempts to post that failed, by reason: rate_limited, transient and ambiguous ones are made again, final ones are not.",
		}, []string{"reason"}),
		ambiguous: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_ambiguous_posts_total", Help: "Posts of unknown end that were looked for in Slack, by result: found, missing.",
		}, []string{"result"}),
		runs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "myao_memory_runs_total", Help: "Memory runs that have come so far as to know what is new.",
		}),
		scopes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_memory_scopes_total", Help: "Threads, channels and workspaces that were to be remembered, by result: changed, unchanged, failed.",
		}, []string{"result"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "myao_rows_pruned_total", Help: "Rows that were deleted since the configuration does not have them kept any longer, by table.",
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
		m.rows:   {"messages", "changes", "decisions", "outbox", "model_calls", "orders", "memories", "conversations"},
	} {
		for _, v := range values {
			vec.WithLabelValues(v) // what has yet to happen for the first time is zero, and not unknown
		}
		r.MustRegister(vec)
	}
	r.MustRegister(m.runs)
	return m
}

// verdictOf is the verdict of a rule, by which no model was asked.
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

func (m *Metrics) unjudged() {
	if m != nil {
		m.judgments.WithLabelValues("failed").Inc()
	}
}

// posted counts a reply by the decision that it carries out.
func (m *Metrics) posted(d store.Decision) {
	if m == nil {
		return
	}
	cause := d.Source
	switch {
	case d.Reason == noticeReason:
		cause = "notice"
	case d.Source == "judgment":
		cause = "judged"
	}
	m.replies.WithLabelValues(cause).Inc()
}

func (m *Metrics) unsent(reason string) {
	if m != nil {
		m.failures.WithLabelValues(reason).Inc()
	}
}

func (m *Metrics) lookedFor(found bool) {
	if m == nil {
		return
	}
	result := "missing"
	if found {
		result = "found"
	}
	m.ambiguous.WithLabelValues(result).Inc()
}

func (m *Metrics) memoryRun() {
	if m != nil {
		m.runs.Inc()
	}
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
