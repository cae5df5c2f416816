package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation/label"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// shownAround is how many messages are shown before a decision, and how many after it.
const shownAround = 12

// ask shows decisions and saves what a person says of them.
func (c *labelCommand) ask(ctx context.Context, p *program, db *store.Store, scope chat.Scope) error {
	since, err := cmp.Or(c.Since, "30d").time(time.Now(), p.Config.Location())
	if err != nil {
		return err
	}
	all, err := db.LabelledDecisions(ctx, store.LabelFilter{Team: scope.Team, Channel: scope.Channel, Since: since,
		Scored: true, Unlabelled: true})
	if err != nil {
		return err
	}
	known, err := channelsOf(ctx, db, scope.Team, all)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(j store.Judged) bool {
		hidden := !c.Private && !readByAll(known[channelOf(j.Decision)])
		return hidden || slices.ContainsFunc(j.Labels, func(l store.Label) bool { return l.Kind == label.Human })
	})
	verdicts := make([]label.Verdict, len(all))
	for i, j := range all {
		verdicts[i] = j.Verdict()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := asker{db: db, zone: p.Config.Location(), by: c.by(), lines: readLines(ctx, p.stdin), w: p.stdout}
	for _, i := range label.Spread(verdicts, c.Seed) {
		if a.shown == c.Ask {
			break
		}
		if err := a.about(ctx, all[i].Decision, known[channelOf(all[i].Decision)].Name, c.Ask); err != nil {
			return err
		}
		if a.ended {
			break
		}
	}
	if a.shown < c.Ask && !a.ended {
		if _, err := fmt.Fprintln(p.stdout, "there are no more such decisions"); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(p.stdout, "%d of %d labelled\n", a.saved, a.shown)
	return err
}

// readByAll reports whether everybody of the workspace may read a channel. The zero Channel is not known.
func readByAll(c store.Channel) bool {
	return c.ID != "" && !c.Private && !chat.Conversation{Channel: c.ID}.Direct()
}

// readLines reads lines in the background, since a read of a terminal does not heed a context. The channel is closed
// at the end of the input.
func readLines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// asker asks a person about decisions.
type asker struct {
	db    *store.Store
	zone  *time.Location
	by    string
	lines <-chan string
	w     io.Writer

	shown, saved int
	// ended is set when the person quits, and at the end of the input.
	ended bool
}

// answers are what a person may type.
var answers = map[string]label.Truth{"s": label.Speak, "n": label.Silent, "e": label.Either}

// about shows one decision, reads an answer and saves it. A decision whose messages are gone is passed over.
func (a *asker) about(ctx context.Context, d store.Decision, channel string, of int) error {
	messages, earlier, err := a.db.Around(ctx, d, shownAround)
	if err != nil || len(messages) == 0 {
		return err
	}
	where, err := chat.ParseConversation(d.WorkflowID)
	if err != nil {
		return err
	}
	names, err := namesIn(ctx, a.db, where.Team, messages)
	if err != nil {
		return err
	}
	a.shown++
	lines := []string{"", fmt.Sprintf("%d of %d: %s, %s", a.shown, of, timeline.Plain(conversationName(where, channel)),
		d.Decided().In(a.zone).Format("Mon 2006-01-02 15:04"))}
	for _, m := range messages {
		lines = append(lines, names.line(m, where, a.zone))
	}
	decided := "  ── here it decided ──"
	if earlier == len(messages) {
		decided = "  ── here it decided, and nothing has followed ──"
	}
	if _, err := fmt.Fprintln(a.w, strings.Join(slices.Insert(lines, 2+earlier, decided), "\n")); err != nil {
		return err
	}
	truth, err := a.answer(ctx)
	if err != nil || truth == "" {
		return err
	}
	if err := a.db.SaveLabel(ctx, store.Label{TeamID: where.Team, ChannelID: where.Channel, Decision: d.Key,
		Truth: truth, LabelledBy: a.by}); err != nil {
		return err
	}
	a.saved++
	return nil
}

// answer reads until it gets an answer; "" if there is none, because the person skips or ends.
func (a *asker) answer(ctx context.Context) (label.Truth, error) {
	for {
		if _, err := fmt.Fprint(a.w, "should the bot have spoken there? s: speak, n: silent, e: either, k: skip, q: "+
			"quit: "); err != nil {
			return "", err
		}
		var answer string
		var more bool
		select {
		case <-ctx.Done():
		case answer, more = <-a.lines:
		}
		switch answer = strings.ToLower(strings.TrimSpace(answer)); {
		case !more:
			a.ended = true
			_, err := fmt.Fprintln(a.w) // leave the line of the question
			return "", err
		case answer == "q":
			a.ended = true
			return "", nil
		case answer == "k":
			return "", nil
		case answers[answer] != "":
			return answers[answer], nil
		}
	}
}
