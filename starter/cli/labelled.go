package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation/label"
	"myao/internal/evaluate/evidence"
	"myao/internal/evaluate/tune"
	"myao/internal/operate/timeline"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// labelled is the decisions of a workspace that have a verdict of a model and a truth.
type labelled struct {
	config config.Config
	team   string
	// decisions are those in which speaking or silence was right, the newest first; tuned are the same for package
	// tune.
	decisions []store.Decision
	tuned     []tune.Decision
	// wait, either and unsaid count the others: those whose truth is no error, and those whose labels say nothing.
	wait, either, unsaid int
	precisions           evidence.Precisions
	known                map[string]store.Channel // by id
	settings             map[string]config.ChannelSettings
}

// readLabelled reads the decisions since a time. Evidence is weighed by all labels of the workspace.
func readLabelled(
	ctx context.Context, p *program, db *store.Store, team string, since time.Time,
) (l labelled, err error) {
	l.config, l.team = p.Config, team
	checked, err := db.CheckedLabels(ctx, team)
	if err != nil {
		return l, err
	}
	l.precisions = evidence.Measure(checked)
	all, err := db.LabelledDecisions(ctx, store.LabelFilter{Team: team, Since: since, Scored: true})
	if err != nil {
		return l, err
	}
	if l.known, err = channelsOf(ctx, db, team, all); err != nil {
		return l, err
	}
	for _, j := range all {
		found := l.precisions.Find(j.Evidence())
		switch found.Truth {
		case label.Wait:
			l.wait++
		case label.Either:
			l.either++
		case "":
			l.unsaid++
		default:
			verdict := j.Verdict()
			l.decisions = append(l.decisions, j.Decision)
			l.tuned = append(l.tuned, tune.Decision{
				Channel: channelOf(j.Decision), Cluster: j.WorkflowID + j.Decided().Format(" 2006-01-02"),
				// talk of one day resembles itself
				Wanted: verdict.Wanted, Confidence: verdict.Confidence, Speak: found.Truth == label.Speak,
				Weight: found.Weight,
			})
		}
	}
	directory := &channels.Directory{Store: db, Config: p.Config}
	l.settings, err = directory.StoredSettings(ctx, team, l.channelIDs()...)
	return l, err
}

// channelIDs is the channels of the decisions, by name.
func (l labelled) channelIDs() []string {
	return slices.SortedFunc(maps.Keys(l.by(func(i int) string { return l.tuned[i].Channel })), func(a, b string) int {
		return cmp.Or(strings.Compare(l.name(a), l.name(b)), strings.Compare(a, b))
	})
}

// name is the name of a channel for people.
func (l labelled) name(channel string) string {
	if name := l.known[channel].Name; name != "" {
		return "#" + name
	}
	return channel
}

// today is min_confidence by channel, and under "" that of all others.
func (l labelled) today() map[string]float64 {
	of := map[string]float64{"": l.config.Response.MinConfidence}
	for _, id := range l.channelIDs() {
		of[id] = l.settings[id].MinConfidence
	}
	return of
}

// otherPrompts warns of decisions by another prompt than today's; "" if there are none. prompt is the fingerprint of
// today's.
func (l labelled) otherPrompts(prompt string) string {
	var others []string
	n, same, since := 0, true, time.Time{}
	for _, d := range l.decisions {
		if same = same && d.Prompt == prompt; same {
			since = d.Decided()
		}
		if d.Prompt == prompt {
			continue
		}
		n++
		if name := timeline.Plain(d.Prompt); !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if n == 0 {
		return ""
	}
	slices.Sort(others)
	text := fmt.Sprintf("the prompt has changed: %d of %d decisions are not by today's, %s, but by %s; what fits one "+
		"prompt may not fit another", n, len(l.decisions), prompt, strings.Join(others, ", "))
	if !since.IsZero() {
		text += fmt.Sprintf("; --since %s leaves today's alone", since.In(l.config.Location()).Format(time.RFC3339))
	}
	return text
}

// by groups the decisions by a key of each, given by its index. It leaves out those with an empty key.
func (l labelled) by(key func(i int) string) map[string][]tune.Decision {
	of := map[string][]tune.Decision{}
	for i, d := range l.tuned {
		if k := key(i); k != "" {
			of[k] = append(of[k], d)
		}
	}
	return of
}

// week is the Monday of the week of a decision.
func (l labelled) week(i int) string {
	return monday(l.decisions[i].Decided().In(l.config.Location()))
}

// monday is the date of the Monday of the week of a time.
func monday(at time.Time) string {
	return at.AddDate(0, 0, -(int(at.Weekday())+6)%7).Format(time.DateOnly)
}

// channelOf is the id of the channel of a decision; "" if its conversation cannot be read.
func channelOf(d store.Decision) string {
	c, err := chat.ParseConversation(d.WorkflowID)
	if err != nil {
		return ""
	}
	return c.Channel
}

// channelsOf is the known channels of some decisions, by id.
func channelsOf(
	ctx context.Context, db *store.Store, team string, all []store.Judged,
) (map[string]store.Channel, error) {
	var ids []string
	for _, j := range all {
		if id := channelOf(j.Decision); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return db.Channels(ctx, team, ids)
}
