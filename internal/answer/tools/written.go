package tools

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/store"
)

// Writer is whose words an address is in.
type Writer int

// The writers. What the bot has said, noted, promised or handed to a tool, and what a model has summed up,
// has none of them.
const (
	Nobody Writer = iota
	Operator
	Person
	// App is an app of Slack, or a message that somebody forwarded or linked.
	App
	// Program is a tool of an MCP server.
	Program
	// Page is a page of the web, or a file.
	Page
)

// Written is the one rule on addresses: what open_link may fetch and what a link with a text may lead to was
// written by people, or by a source that does not repeat what a model or the bot has told it. An address that
// a model composes could carry what it has read to whoever owns the host.
type Written struct {
	store    WrittenStore
	team     string
	messages []chat.Message
	results  []returned
	operator []string
	decision string    // whose steps results knows
	earlier  []earlier // the oldest first; nil: not read yet
}

// WrittenStore reads what Written is made of.
type WrittenStore interface {
	Seen(ctx context.Context, team, here string, channels []string) (map[string]bool, error)
	// MessagesByTS includes deleted messages.
	MessagesByTS(ctx context.Context, team, channel string, ts []string) ([]store.StoredMessage, error)
	// Mentioning returns messages whose text has a word, whatever its case, the oldest first.
	Mentioning(ctx context.Context, team, word string, limit int) ([]chat.Message, error)
	// Told returns calls of other programs' tools in other decisions, without their results, the newest first.
	Told(ctx context.Context, team, decision string, limit int) ([]store.Step, error)
	Steps(ctx context.Context, decision string) ([]store.Step, error)
}

// returned is the result of one call, and what was told to other programs until then.
type returned struct {
	text string
	by   Writer
	told told
}

// maxTold is how many calls of other decisions are known, the newest, within maxToldBytes of inputs.
// maxMentioning is how many messages are looked through for who said an address first.
const maxTold, maxToldBytes, maxMentioning = 1000, 1 << 20, 1000

// ReadWritten makes the set of addresses for a reply: of the messages that its model is shown, and of what
// earlier steps have returned. Messages among the results are read anew, because a result does not tell who
// wrote it, and readers may see them no more.
func ReadWritten(
	ctx context.Context, s WrittenStore, p Place, shown []chat.Found, steps []store.Step,
) (*Written, error) {
	listed, err := listed(ctx, s, p.Conversation, steps)
	if err != nil {
		return nil, err
	}
	w := &Written{store: s, team: p.Conversation.Team}
	for _, f := range slices.Concat(shown, listed) {
		if !f.Own && !f.Deleted && (f.Channel == p.Conversation.Channel || !p.Outsiders) {
			w.messages = append(w.messages, f.Message)
		}
	}
	for _, st := range steps {
		w.decision = st.Decision
		by := writerOf(st.Tool)
		if by == Nobody || st.Failed || st.State != store.StepDone {
			continue
		}
		if by == Operator {
			w.Instruct(st.Output)
			continue
		}
		w.results = append(w.results, returned{st.Output, by, newTold(inputsUntil(steps, st.Round))})
	}
	return w, nil
}

// Act adds the result of a call that people approved, which other steps came before.
func (w *Written) Act(call store.Step, before []store.Step) {
	if writerOf(call.Tool) == Program && !call.Failed {
		w.results = append(w.results, returned{call.Output, Program,
			newTold(inputsUntil(append(slices.Clone(before), call), call.Round))})
	}
}

// Instruct adds texts of the operator.
func (w *Written) Instruct(texts ...string) { w.operator = append(w.operator, texts...) }

// inputsUntil are the inputs of calls of other programs in rounds up to one. All calls of a round are
// written before any of them is made.
func inputsUntil(steps []store.Step, round int) (inputs []string) {
	for _, st := range steps {
		if st.Round <= round && writerOf(st.Tool) == Program {
			inputs = append(inputs, st.Input)
		}
	}
	return inputs
}

// messageTools return messages.
var messageTools = []string{chat.ToolSearchMessages, chat.ToolReadThread, chat.ToolReadChannel}

// writerOf is whose words a tool returns; Nobody for one of messages, which are read anew, for one that says
// only what the model told it, and for one that does not exist.
func writerOf(tool string) Writer {
	switch {
	case ReadsForeign(tool):
		return Page
	case chat.OfServer(tool):
		return Program
	case tool == chat.ToolReadPlaybook:
		return Operator
	}
	return Nobody
}

// listed are the messages that steps have returned, as far as readers in a conversation may still see them.
func listed(
	ctx context.Context, s WrittenStore, c chat.Conversation, steps []store.Step,
) (found []chat.Found, err error) {
	byChannel := map[string][]string{}
	for _, st := range steps {
		if !slices.Contains(messageTools, st.Tool) {
			continue
		}
		for _, r := range References(st.Output) {
			byChannel[r.Channel] = append(byChannel[r.Channel], r.TS)
		}
	}
	if len(byChannel) == 0 {
		return nil, nil
	}
	seen, err := s.Seen(ctx, c.Team, c.Channel, slices.Collect(maps.Keys(byChannel)))
	if err != nil {
		return nil, err
	}
	for channel := range seen {
		read, err := s.MessagesByTS(ctx, c.Team, channel, byChannel[channel])
		if err != nil {
			return nil, err
		}
		for _, m := range read {
			found = append(found, chat.Found{Message: m.Message})
		}
	}
	return found, nil
}

// Find says who wrote an address, and returns it with its scheme, which people leave out.
func (w *Written) Find(ctx context.Context, given string) (address string, by Writer, err error) {
	for _, text := range w.operator {
		if stands(text, given) {
			return given, Operator, nil
		}
	}
	relayed := ""
	for _, m := range w.messages {
		said, passedOn := chat.SplitQuoted(m.Text)
		if m.BotID != "" || m.Through != "" {
			said, passedOn = "", m.Text
		}
		if address, found := inSlack(said, given); found {
			return address, Person, nil
		}
		if address, found := inSlack(passedOn, given); found {
			relayed = cmp.Or(relayed, address)
		}
	}
	if relayed != "" {
		composed, err := w.composed(ctx, relayed)
		if err != nil || !composed {
			return relayed, App, err
		}
	}
	by = Nobody
	for _, r := range w.results {
		if (by == Nobody || r.by < by) && stands(r.text, given) && !r.told.repeats(given) {
			by = r.by
		}
	}
	if by == Nobody {
		return "", Nobody, nil
	}
	if composed, err := w.toldBefore(ctx, given); err != nil || composed {
		return "", Nobody, err
	}
	return given, by, nil
}

// inSlack finds an address, a mail address or a telephone in a message.
func inSlack(message, given string) (address string, found bool) {
	if isContact.MatchString(given) {
		return given, inWords(slackEntities.Replace(message), given)
	}
	return inMessage(message, given)
}

// stands reports whether an address stands in a text that is not Slack's.
func stands(text, given string) bool {
	return isContact.MatchString(given) && inWords(text, given) || inText(text, given)
}

var isContact = regexp.MustCompile(`^(?:mailto|tel):`)

// composed reports whether the bot was the first to say an address in the workspace, or a model handed it to
// a program: an app, or somebody who forwards, then repeats it.
func (w *Written) composed(ctx context.Context, address string) (bool, error) {
	switch by, err := w.first(ctx, address); {
	case err != nil || by == Person:
		return false, err
	case by == bot:
		return true, nil
	}
	return w.toldBefore(ctx, address)
}

// bot is the Writer of the bot's own messages, which Find never returns.
const bot Writer = -1

// first is who said an address first in a message that is known; Nobody if none has it, or it was only
// forwarded.
func (w *Written) first(ctx context.Context, address string) (Writer, error) {
	_, bare, _ := strings.Cut(address, ":")
	host := strings.FieldsFunc(bare, func(r rune) bool { return strings.ContainsRune("/?#", r) })
	if len(host) == 0 {
		return Nobody, nil
	}
	said, err := w.store.Mentioning(ctx, w.team, host[0], maxMentioning)
	if err != nil {
		return Nobody, fmt.Errorf("read who said an address first: %w", err)
	}
	whole := plain(address)
	for _, m := range said {
		words, _ := chat.SplitQuoted(m.Text)
		switch {
		case !newTold([]string{slackEntities.Replace(words)}).holds(whole):
		case m.Own:
			return bot, nil
		case m.BotID != "" || m.Through != "":
			return App, nil
		default:
			return Person, nil
		}
	}
	return Nobody, nil
}

// earlier is a call in another decision, and what it told.
type earlier struct {
	store.Step
	told
}

// toldBefore reports whether a model handed an address to a program in another decision, where neither a
// person nor a source had it before. A program may keep it, and return it to anybody.
func (w *Written) toldBefore(ctx context.Context, address string) (bool, error) {
	if w.earlier == nil {
		calls, err := w.store.Told(ctx, w.team, w.decision, maxTold)
		if err != nil {
			return false, fmt.Errorf("read what programs were told: %w", err)
		}
		w.earlier = make([]earlier, 0, len(calls))
		size := 0
		for _, call := range calls {
			if size += len(call.Input); size > maxToldBytes {
				break
			}
			w.earlier = append(w.earlier, earlier{call, newTold([]string{call.Input})})
		}
		slices.Reverse(w.earlier)
	}
	whole := plain(address)
	i := slices.IndexFunc(w.earlier, func(e earlier) bool { return e.holds(whole) })
	if i < 0 {
		return false, nil
	}
	if by, err := w.first(ctx, address); err != nil || by == Person || by == bot {
		return by == bot, err
	}
	call := w.earlier[i] // the first that told it
	steps, err := w.store.Steps(ctx, call.Decision)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(steps, func(st store.Step) bool {
		return st.Round < call.Round && !st.Failed && st.State == store.StepDone && writerOf(st.Tool) != Nobody &&
			stands(st.Output, address) &&
			!newTold(inputsUntil(steps, st.Round)).repeats(address)
	}), nil
}
