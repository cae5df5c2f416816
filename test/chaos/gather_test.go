package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"myao/sandbox/workspace"
)

// gather makes the record of a run: messages from the people, acknowledgements and posts from
// Slack, decisions and outbox from the database.
func (w *system) gather(p *people) (record, error) {
	var r record
	for _, n := range p.order {
		r.said = append(r.said, *p.said[n])
	}
	setAcknowledged(r.said, w.Workspace.Deliveries())
	r.posts = w.posts()
	var err error
	if r.decisions, err = w.decisions(); err != nil {
		return record{}, err
	}
	r.outbox, err = w.outbox()
	return r, err
}

// setAcknowledged sets when the messages' events were first acknowledged.
func setAcknowledged(messages []said, deliveries []workspace.Delivery) {
	type id struct{ channel, ts string }
	at := map[id]*said{}
	for i := range messages {
		at[id{messages[i].channel, messages[i].ts}] = &messages[i]
	}
	first := func(t *time.Time, d workspace.Delivery) {
		if heard := d.At.Add(d.Took); t.IsZero() || heard.Before(*t) {
			*t = heard
		}
	}
	for _, d := range deliveries {
		m := at[id{d.Channel, d.TS}]
		switch {
		case m == nil || d.Status != 200:
		case isDeletion(d.Event):
			first(&m.deletionAcknowledged, d)
		case d.EventTS == d.TS:
			first(&m.acknowledged, d)
		case d.Mention && !m.edited.IsZero() && d.At.After(m.edited):
			first(&m.editAcknowledged, d)
		}
	}
}

// posts returns the bot's messages in Slack, with the time of the call that posted each.
func (w *system) posts() []post {
	type made struct {
		channel, ts string
	}
	at := map[made]time.Time{}
	for _, p := range w.Workspace.Posts() {
		at[made{p.Channel, p.TS}] = p.At
	}
	began := map[string][]time.Time{}
	for _, c := range w.Workspace.Calls("chat.postMessage") {
		if key := keyOf([]byte(c.Args.Get("metadata"))); key != "" {
			began[key] = append(began[key], c.At)
		}
	}
	var posts []post
	for _, channel := range w.channels {
		for _, m := range w.Workspace.Messages(channel) {
			if m.User != w.Workspace.Bot().UserID || m.Subtype != "" {
				continue
			}
			p := post{channel: channel, ts: m.TS, text: m.Text, at: at[made{channel, m.TS}]}
			if m.Reply() {
				p.thread = m.ThreadTS
			}
			if m.Metadata != nil {
				p.key, _ = m.Metadata.EventPayload["key"].(string)
			}
			for _, b := range began[p.key] {
				if !b.After(p.at) && b.After(p.began) {
					p.began = b
				}
			}
			posts = append(posts, p)
		}
	}
	slices.SortFunc(posts, func(a, b post) int { return a.at.Compare(b.at) })
	return posts
}

func keyOf(metadata []byte) string {
	var m struct {
		Payload struct {
			Key string `json:"key"`
		} `json:"event_payload"`
	}
	if json.Unmarshal(metadata, &m) != nil {
		return ""
	}
	return m.Payload.Key
}

func (w *system) decisions() ([]decision, error) {
	rows, err := w.db.QueryContext(w.t.Context(), `SELECT key, workflow_id, trigger_ts, source, rule, should_respond, outcome, outcome_by, decided_us
		FROM decisions ORDER BY decided_us, key`)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []decision
	for rows.Next() {
		var d decision
		var workflow string
		var us int64
		if err := rows.Scan(&d.key, &workflow, &d.trigger, &d.source, &d.rule, &d.yes, &d.outcome, &d.by, &us); err != nil {
			return nil, fmt.Errorf("read decisions: %w", err)
		}
		d.place, d.at = placeOf(workflow), time.UnixMicro(us)
		all = append(all, d)
	}
	return all, rows.Err()
}

func (w *system) outbox() ([]part, error) {
	rows, err := w.db.QueryContext(w.t.Context(), `SELECT key, reply, channel_id, thread_ts, state, sent_ts, text, decision, saw_us FROM outbox ORDER BY read_us, key`)
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []part
	for rows.Next() {
		var p part
		var us int64
		if err := rows.Scan(&p.key, &p.reply, &p.place.channel, &p.place.thread, &p.state, &p.sentTS, &p.text, &p.decision, &us); err != nil {
			return nil, fmt.Errorf("read outbox: %w", err)
		}
		p.saw = time.UnixMicro(us)
		all = append(all, p)
	}
	return all, rows.Err()
}
