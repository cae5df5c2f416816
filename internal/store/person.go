package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

const (
	// readTogether is how long after a message a judgment of its conversation is taken to be about
	// it, and a judged reply to answer it: a trigger is only the newest of the messages that are
	// judged together.
	readTogether = time.Hour
	// maxHeld is the age up to which something may still be done about a message. Conversations are
	// told that such messages are gone, as if the person had deleted them in Slack.
	maxHeld = 24 * time.Hour
	// noMessage is the ts of no message. Marked as forgotten, it excludes nothing from memories, but
	// a run that began before begins again (ErrOverruled).
	noMessage = "0"
)

// ForgetPerson takes a person out of the database: the texts of all messages of theirs; whatever was
// remembered or looked up in their channels since they first wrote there, and in the workspace from that; the
// replies to them and those that name them; what the ledger says of them; what they asked for; reactions, and the id
// wherever it stands. What others asked for and decided stays. The display name goes from what models wrote. The rows of messages stay
// without text and author, as those of deleted messages, so that Slack's history brings nothing
// back. What the person writes later is stored as ever.
//
// It works in small transactions and tells step after each; a zero step is not allowed. It may be
// killed at any time, and ends the same when it is repeated. Its order is recorded at the end, without
// the id. by is who ordered it; a repeated id records nothing more.
func (s *Store) ForgetPerson(ctx context.Context, p chat.Person, by, id string, step SweepStep) error {
	e := eraser{sweeper: sweeper{s, ctx, step}, Person: p, by: by}
	if by == e.orderedBy() {
		e.by = orderedByNobody
	}
	for _, do := range []func() error{e.begin, e.snapshots, e.promises, e.channels, e.decisions, e.opinions, e.outbox, e.steps, e.proposals, e.changes, e.orders, e.memories, e.notes, e.feedback, func() error { return e.end(id) }} {
		if err := do(); err != nil {
			return fmt.Errorf("forget a person: %w", err)
		}
	}
	return nil
}

// eraser is one run of ForgetPerson.
type eraser struct {
	sweeper
	chat.Person
	name string // display name, or empty
	by   string
	// until is when the run began: what came later stays.
	until int64
}

// orderedBy is the person as orders name them.
func (e *eraser) orderedBy() string { return orderedByUser(e.User) }

func orderedByUser(user string) string { return "slack:" + user }

// begin marks the person, so that Slack's history brings nothing back from here on.
func (e *eraser) begin() error {
	var rows []userRow
	if err := e.db.WithContext(e.ctx).Where("team_id = ? AND user_id = ?", e.Team, e.User).Find(&rows).Error; err != nil {
		return err
	}
	e.name, e.until = first(rows).Name, e.nowMicros()
	return markErased(e.db.WithContext(e.ctx), erasedRow{TeamID: e.Team, Person: PersonKey(e.Person), UntilUS: e.until})
}

// names reports whether a text names the person, by id or display name.
func (e *eraser) names(text string) bool { return e.anonymous(text) != text }

// anonymous is a text without the person's id and display name. It is for what models wrote: in
// what people wrote, a name may be any word.
func (e *eraser) anonymous(text string) string {
	text = withoutUser(text, e.User)
	if len([]rune(e.name)) > 1 {
		text = replaceWord(text, e.name, nobody)
	}
	return text
}

func (e *eraser) channels() error {
	wrote, err := wroteSince(e.db.WithContext(e.ctx), e.Person)
	if err != nil {
		return err
	}
	stored, err := e.channelsIn("messages", e.Team)
	if err != nil {
		return err
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(stored, maps.Keys(wrote))))) {
		if err := e.channel(chat.Conversation{Team: e.Team, Channel: id}, wrote[id]); err != nil {
			return err
		}
	}
	reacted, err := e.channelsIn("reactions", e.Team)
	if err != nil {
		return err
	}
	for _, id := range reacted {
		if err := e.reactions(id); err != nil {
			return err
		}
	}
	return nil
}

// channel erases a person from a channel's messages and memories. since is when they wrote the first message that was
// deleted for its age; zero if none was. The id goes last: until then another run finds what is left to do by it.
func (e *eraser) channel(c chat.Conversation, since time.Time) error {
	within := where("team_id = ? AND channel_id = ?", c.Team, c.Channel)
	within.sql, within.args = within.sql+" AND sent_us <= ?", append(within.args, e.until)
	match := where("user_id = ? OR "+e.contains("text")+" OR own AND text <> '' AND ? <> '' AND "+e.contains("text"), e.User, e.User, e.name, e.name)
	if c.Direct() {
		var theirs int64
		if err := within.apply(e.db.WithContext(e.ctx).Table("messages")).Where("user_id = ?", e.User).Count(&theirs).Error; err != nil {
			return err
		}
		if theirs > 0 { // all of it is between the bot and them
			match = where("text <> '' OR user_id = ?", e.User)
		}
	}
	if err := sweep[messageRow, string](e.sweeper, "messages", within, "ts", match, func(tx *gorm.DB, rows []messageRow) (int, error) {
		var theirs, gone []messageRow
		for _, r := range rows {
			switch {
			case r.UserID == e.User:
				theirs, gone = append(theirs, r), append(gone, r)
			case c.Direct() || r.Own && e.names(r.Text):
				gone = append(gone, r)
			case !r.Own:
				r.Text = withoutUser(r.Text, e.User)
				if err := ofMessage(tx, r).Update("text", r.Text).Error; err != nil {
					return 0, err
				}
				if err := e.reindex(tx, r); err != nil {
					return 0, err
				}
			}
		}
		if len(theirs) > 0 && (since.IsZero() || instant(theirs[0].SentUS).Before(since)) {
			since = instant(theirs[0].SentUS)
		}
		if err := e.blank(tx, c, timestamps(gone)); err != nil {
			return 0, err
		}
		return len(rows), e.withdraw(tx, c, theirs)
	}); err != nil || since.IsZero() {
		return err
	}
	if err := e.transaction(e.ctx, func(tx *gorm.DB) error {
		return e.forgetIn(tx, forgetting{
			scope: chat.Scope{Team: c.Team, Channel: c.Channel}, ts: []string{noMessage}, from: since, by: e.by,
		}, &ForgetResult{})
	}); err != nil {
		return err
	}
	if err := e.lookups(c, since); err != nil {
		return err
	}
	if err := e.db.WithContext(e.ctx).Delete(&writerRow{TeamID: c.Team, UserID: e.User, ChannelID: c.Channel}).Error; err != nil {
		return err
	}
	return sweep[messageRow, string](e.sweeper, "messages", within, "ts", where("user_id = ?", e.User), func(tx *gorm.DB, rows []messageRow) (int, error) {
		return len(rows), e.blank(tx, c, timestamps(rows), "user_id")
	})
}

func timestamps(rows []messageRow) []string {
	return mapRows(rows, func(r messageRow) string { return r.TS })
}

func ofMessage(tx *gorm.DB, r messageRow) *gorm.DB {
	return tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts = ?", r.TeamID, r.ChannelID, r.TS)
}

// blank takes away what messages said, as if they had been deleted, and empties the columns also.
// The rows stay, so that nothing brings the texts back.
func (s *Store) blank(tx *gorm.DB, c chat.Conversation, ts []string, also ...string) error {
	if len(ts) == 0 {
		return nil
	}
	update := map[string]any{"text": "", "files": "", "name": "", "revision": "", "deleted": true, "handled": true}
	for _, column := range also {
		update[column] = ""
	}
	if err := tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts IN ?", c.Team, c.Channel, ts).Updates(update).Error; err != nil {
		return err
	}
	return errors.Join(unindex(tx, c.Team, c.Channel, ts...), s.dropWith(tx, c.Team, c.Channel, ts...))
}

// isForgotten is the condition that a message was a forgotten person's.
const isForgotten = "deleted AND user_id = '' AND bot_id = '' AND NOT own"

// withdraw takes back what was judged together with some of their messages, and tells the
// conversations that recent ones are gone.
func (e *eraser) withdraw(tx *gorm.DB, c chat.Conversation, theirs []messageRow) error {
	spans := map[string][][2]int64{} // from and to, by workflow id
	for _, r := range theirs {       // in order of time
		id := chat.Conversation{Team: c.Team, Channel: c.Channel, Thread: r.ThreadTS}.ID()
		span := [2]int64{r.SentUS, r.SentUS + readTogether.Microseconds()}
		if of := spans[id]; len(of) > 0 && of[len(of)-1][1] >= span[0] {
			of[len(of)-1][1] = span[1]
		} else {
			spans[id] = append(of, span)
		}
		if r.SentUS < e.nowMicros()-maxHeld.Microseconds() {
			continue
		}
		told := []string{id, chat.Conversation{Team: c.Team, Channel: c.Channel, Thread: r.TS}.ID()}
		if err := tx.Exec(`
			INSERT INTO changes (workflow_id, ts, sent_us, kind, stored_us) SELECT DISTINCT workflow_id, ts, sent_us, 'deleted', CAST(? AS BIGINT)
			FROM changes WHERE workflow_id IN ? AND ts = ? AND kind <> 'deleted' ON CONFLICT DO NOTHING`, e.nowMicros(), told, r.TS).Error; err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(spans)) {
		for _, span := range spans[id] {
			var judged []Decision
			if err := tx.Where("workflow_id = ? AND decided_us >= ? AND decided_us <= ? AND source = 'judgment' AND reason <> ?",
				id, span[0], span[1], aboutForgotten).Find(&judged).Error; err != nil {
				return err
			}
			for _, d := range judged {
				var replies []outboxRow
				if err := tx.Where("team_id = ? AND channel_id = ? AND trigger_ts = ? AND decision = ?", c.Team, c.Channel, d.TriggerTS, d.Key).Find(&replies).Error; err != nil {
					return err
				}
				if err := e.blankReplies(tx, replies); err != nil {
					return err
				}
				if err := blankDecisions(tx, d.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// blankDecisions takes away what models have said of decisions.
func blankDecisions(tx *gorm.DB, keys ...string) error {
	if err := tx.Model(&Opinion{}).Where("decision IN ?", keys).Update("reason", aboutForgotten).Error; err != nil {
		return err
	}
	return tx.Model(&Decision{}).Where("key IN ?", keys).Updates(map[string]any{"reason": aboutForgotten, "gist": ""}).Error
}

// snapshots deletes all of them: any may hold something of the person. They come first, since an opinion is
// only saved with its snapshot.
func (e *eraser) snapshots() error {
	return remove[string](e.sweeper, "snapshots", condition{}, "decision", where("team_id = ?", e.Team))
}

// opinions takes away the reasons that name the person.
func (e *eraser) opinions() error {
	match := where("team_id = ? AND ("+e.contains("reason")+" OR ? <> '' AND "+e.contains("reason")+")", e.Team, e.User, e.name, e.name)
	return sweep[Opinion, int64](e.sweeper, "opinions", condition{}, "id", match, func(tx *gorm.DB, rows []Opinion) (changed int, err error) {
		for _, o := range rows {
			if !e.names(o.Reason) {
				continue
			}
			changed++
			if err := tx.Model(&Opinion{}).Where("id = ?", o.ID).Update("reason", aboutForgotten).Error; err != nil {
				return 0, err
			}
		}
		return changed, nil
	})
}

// blankReplies empties replies in the outbox, and the bot's own messages that they became.
func (s *Store) blankReplies(tx *gorm.DB, rows []outboxRow) error {
	for _, r := range rows {
		if err := tx.Model(&outboxRow{}).Where("key = ?", r.Key).Update("text", "").Error; err != nil {
			return err
		}
		if r.SentTS == "" {
			continue
		}
		if err := s.blank(tx, chat.Conversation{Team: r.TeamID, Channel: r.ChannelID}, []string{r.SentTS}); err != nil {
			return err
		}
	}
	return nil
}

// aboutForgottenMessages is which of some triggers, as channel and ts, were messages of a forgotten
// person.
func (e *eraser) aboutForgottenMessages(tx *gorm.DB, triggers map[string][]string) (map[[2]string]bool, error) {
	found := map[[2]string]bool{}
	for _, channel := range slices.Sorted(maps.Keys(triggers)) {
		var ts []string
		if err := tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts IN ? AND "+isForgotten, e.Team, channel, triggers[channel]).
			Pluck("ts", &ts).Error; err != nil {
			return nil, err
		}
		for _, one := range ts {
			found[[2]string{channel, one}] = true
		}
	}
	return found, nil
}

func (e *eraser) decisions() error {
	match := where("reason <> ? AND reason <> '' OR gist <> '' OR outcome_by = ?", aboutForgotten, e.orderedBy())
	return sweep[Decision, string](e.sweeper, "decisions", condition{}, "key", match, func(tx *gorm.DB, rows []Decision) (changed int, err error) {
		triggers := map[string][]string{}
		channel := func(d Decision) string {
			c, err := chat.ParseConversation(d.WorkflowID)
			if err != nil || c.Team != e.Team {
				return ""
			}
			return c.Channel
		}
		for _, d := range rows {
			triggers[channel(d)] = append(triggers[channel(d)], d.TriggerTS)
		}
		forgotten, err := e.aboutForgottenMessages(tx, triggers)
		if err != nil {
			return 0, err
		}
		for _, d := range rows {
			if d.OutcomeBy == e.orderedBy() {
				changed++
				if err := tx.Model(&Decision{}).Where("key = ?", d.Key).Update("outcome_by", orderedByNobody).Error; err != nil {
					return 0, err
				}
			}
			if forgotten[[2]string{channel(d), d.TriggerTS}] || e.names(d.Reason+"\n"+d.Gist) {
				changed++
				if err := blankDecisions(tx, d.Key); err != nil {
					return 0, err
				}
			}
		}
		return changed, nil
	})
}

func (e *eraser) outbox() error {
	return sweep[outboxRow, string](e.sweeper, "outbox", condition{}, "key", where("team_id = ? AND text <> ''", e.Team), func(tx *gorm.DB, rows []outboxRow) (changed int, err error) {
		triggers := map[string][]string{}
		for _, r := range rows {
			triggers[r.asked()[0]] = append(triggers[r.asked()[0]], r.TriggerTS)
		}
		forgotten, err := e.aboutForgottenMessages(tx, triggers)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			answers, names := forgotten[r.asked()], e.names(r.Text)
			switch {
			case answers || names && r.State != Composed && r.State != Sending:
				err = e.blankReplies(tx, []outboxRow{r})
			case names: // somebody else waits for it
				err = tx.Model(&outboxRow{}).Where("key = ?", r.Key).Update("text", e.anonymous(r.Text)).Error
			default:
				continue
			}
			if err != nil {
				return 0, err
			}
			changed++
		}
		return changed, nil
	})
}

// lookups empties what was looked up for replies in a channel since the person wrote there: any of it may quote them.
func (e *eraser) lookups(c chat.Conversation, since time.Time) error {
	within := where("team_id = ? AND channel_id = ?", c.Team, c.Channel)
	match := where("stored_us >= ? AND stored_us <= ? AND (input <> ? OR output <> '')", micros(since), e.until, noInput)
	return sweep[Step, string](e.sweeper, "steps", within, "id", match, func(tx *gorm.DB, rows []Step) (int, error) {
		return len(rows), e.blankSteps(tx, rows)
	})
}

// steps empties what was looked up for other replies, where it names the person.
func (e *eraser) steps() error {
	if err := eraseIn(e, "steps", "id", e.mentioned("input", "output"), func(tx *gorm.DB, rows []Step) (int, error) {
		named := slices.DeleteFunc(rows, func(st Step) bool { return !e.names(st.Input + "\n" + st.Output) })
		return len(named), e.blankSteps(tx, named)
	}); err != nil {
		return err
	}
	return eraseIn(e, "turns", "decision", e.mentioned("text", "opaque"), func(tx *gorm.DB, rows []Turn) (int, error) {
		var named []Step
		for _, t := range rows {
			if e.names(t.Text + "\n" + t.Opaque) {
				named = append(named, Step{Decision: t.Decision, StoredUS: t.MadeUS})
			}
		}
		return len(named), e.blankSteps(tx, named)
	})
}

// proposals empties those that the person asked for, and withdraws them if they wait for a decision or their call. So it
// is with those of others that wait and name the person: a call is not changed that people have read. From all others
// only the name goes. What others decided stays.
func (e *eraser) proposals() error {
	match := e.mentioned("input", "output")
	match = where("asker = ? OR decided_by = ? OR "+match.sql, append([]any{e.User, e.orderedBy()}, match.args...)...)
	return eraseIn(e, "proposals", "id", match, func(tx *gorm.DB, rows []Proposal) (changed int, err error) {
		for _, p := range rows {
			theirs, waits := p.Asker == e.User, p.State == ProposalOpen || p.State == ProposalApproved
			update := map[string]any{"input": e.anonymous(p.Input), "output": e.anonymous(p.Output)}
			if theirs {
				update["asker"] = ""
			}
			if p.DecidedBy == e.orderedBy() {
				update["decided_by"] = orderedByNobody
			}
			if theirs || waits && e.names(p.Input) {
				update["input"], update["output"] = noInput, ""
				if waits {
					update["state"], update["ended_us"] = ProposalWithdrawn, e.nowMicros()
					e.metrics.end(ProposalWithdrawn, 1)
				}
			}
			if p.State == ProposalBegun && update["input"] != p.Input { // it is not repeated otherwise than people have read it
				update["idempotent"] = false
			}
			if err := tx.Model(&Proposal{}).Where("id = ?", p.ID).Updates(update).Error; err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

// mentioned is the condition that one of some columns may name the person.
func (e *eraser) mentioned(columns ...string) condition {
	var parts []string
	var args []any
	for _, c := range columns {
		parts, args = append(parts, e.contains(c), "? <> '' AND "+e.contains(c)), append(args, e.User, e.name, e.name)
	}
	return where(strings.Join(parts, " OR "), args...)
}

// eraseIn is sweep for the part of a table that each channel has.
func eraseIn[R any](e *eraser, table, column string, match condition, do func(tx *gorm.DB, rows []R) (changed int, err error)) error {
	ids, err := e.channelsIn(table, e.Team)
	for _, id := range ids {
		if err == nil {
			err = sweep[R, string](e.sweeper, table, where("team_id = ? AND channel_id = ?", e.Team, id), column, match, do)
		}
	}
	return err
}

func (e *eraser) changes() error {
	return sweep[changeRow, int64](e.sweeper, "changes", condition{}, "id", where("stored_us <= ? AND (author = ? OR ordered_by = ?)", e.until, e.User, e.orderedBy()), func(tx *gorm.DB, rows []changeRow) (int, error) {
		for _, r := range rows {
			update := map[string]any{}
			if r.Author == e.User {
				update["author"] = ""
			}
			if r.OrderedBy == e.orderedBy() {
				update["ordered_by"] = orderedByNobody
			}
			if err := tx.Model(&changeRow{}).Where("id = ?", r.ID).Updates(update).Error; err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

func (e *eraser) orders() error {
	return sweep[orderRow, string](e.sweeper, "orders", condition{}, "id", where("ordered_by = ? AND ordered_us <= ?", e.orderedBy(), e.until), func(tx *gorm.DB, rows []orderRow) (int, error) {
		ids := mapRows(rows, func(r orderRow) string { return r.ID })
		return len(rows), tx.Model(&orderRow{}).Where("id IN ?", ids).Update("ordered_by", orderedByNobody).Error
	})
}

func (e *eraser) reactions(channel string) error {
	return sweep[reactionRow, string](e.sweeper, "reactions", where("team_id = ? AND channel_id = ?", e.Team, channel), "ts", where("user_id = ? AND added_us <= ? AND removed_us <= ?", e.User, e.until, e.until), func(tx *gorm.DB, rows []reactionRow) (int, error) {
		return len(rows), tx.Delete(&rows).Error
	})
}

// memories takes names out of the memories that are left: what they were made from may be gone.
func (e *eraser) memories() error {
	match := where("team_id = ? AND (ordered_by = ? OR forgotten_by = ? OR "+e.contains("text")+" OR ? <> '' AND "+e.contains("text")+")",
		e.Team, e.orderedBy(), e.orderedBy(), e.User, e.name, e.name)
	return sweep[memoryRow, int64](e.sweeper, "memories", condition{}, "id", match, func(tx *gorm.DB, rows []memoryRow) (int, error) {
		for _, r := range rows {
			update := map[string]any{"text": e.anonymous(r.Text)}
			if r.OrderedBy == e.orderedBy() {
				update["ordered_by"] = orderedByNobody
			}
			if r.ForgottenBy == e.orderedBy() {
				update["forgotten_by"] = orderedByNobody
			}
			if err := tx.Model(&memoryRow{}).Where("id = ?", r.ID).Updates(update).Error; err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

// notes deletes the notes that the person asked for, and takes the person out of the others.
func (e *eraser) notes() error {
	match := where("team_id = ? AND (author = ? OR "+e.contains("text")+" OR ? <> '' AND "+e.contains("text")+")", e.Team, e.User, e.User, e.name, e.name)
	return sweep[noteRow, int64](e.sweeper, "notes", condition{}, "id", match, func(tx *gorm.DB, rows []noteRow) (int, error) {
		for _, r := range rows {
			change := tx.Model(&noteRow{}).Where("id = ?", r.ID)
			if r.Author == e.User {
				change = change.Delete(&noteRow{})
			} else {
				change = change.Update("text", e.anonymous(r.Text))
			}
			if change.Error != nil {
				return 0, change.Error
			}
		}
		return len(rows), nil
	})
}

// promises deletes the promises that the person asked for, and takes the person out of the others. A
// conversation finds one gone when it is due. They come before changes, since one that is late makes a
// change that names whoever asked.
func (e *eraser) promises() error {
	names := "(" + e.contains("what") + " OR " + e.contains("unless") + ")"
	match := where("team_id = ? AND (asker = ? OR ended_by = ? OR "+names+" OR ? <> '' AND "+names+")", e.Team, e.User, e.orderedBy(), e.User, e.User, e.name, e.name, e.name)
	return sweep[Promise, string](e.sweeper, "promises", condition{}, "id", match, func(tx *gorm.DB, rows []Promise) (int, error) {
		for _, r := range rows {
			change := tx.Model(&Promise{}).Where("id = ?", r.ID)
			if r.Asker == e.User {
				change = change.Delete(&Promise{})
			} else {
				update := map[string]any{"what": e.anonymous(r.What), "unless": e.anonymous(r.Unless)}
				if r.EndedBy == e.orderedBy() {
					update["ended_by"] = orderedByNobody
				}
				change = change.Updates(update)
			}
			if change.Error != nil {
				return 0, change.Error
			}
		}
		return len(rows), nil
	})
}

// feedback deletes the person's votes, and takes their name out of what others gave as reasons.
func (e *eraser) feedback() error {
	match := where("team_id = ? AND voted_us <= ? AND (user_id = ? OR "+e.contains("reason")+" OR ? <> '' AND "+e.contains("reason")+")", e.Team, e.until, e.User, e.User, e.name, e.name)
	return sweep[Vote, int64](e.sweeper, "feedback", condition{}, "id", match, func(tx *gorm.DB, rows []Vote) (int, error) {
		for _, r := range rows {
			change := tx.Model(&Vote{}).Where("id = ?", r.ID)
			if r.UserID == e.User {
				change = change.Delete(&Vote{})
			} else {
				change = change.Update("reason", e.anonymous(r.Reason))
			}
			if change.Error != nil {
				return 0, change.Error
			}
		}
		return len(rows), nil
	})
}

// end removes the name, which the steps before needed, and records the order.
func (e *eraser) end(id string) error {
	removed := 0
	if err := e.transaction(e.ctx, func(tx *gorm.DB) error {
		if err := e.unnameOutsider(tx); err != nil {
			return err
		}
		gone := tx.Where("team_id = ? AND user_id = ?", e.Team, e.User).Delete(&userRow{})
		if gone.Error != nil {
			return gone.Error
		}
		removed = int(gone.RowsAffected)
		_, err := e.insertOrder(tx, Order{ID: id, Scope: chat.Scope{Team: e.Team}, Kind: "forget-person", By: e.by})
		return err
	}); err != nil {
		return err
	}
	return e.step("users", removed, removed)
}

// unnameOutsider takes the person's id out of the channels in which they count as an outsider. They may
// still read those, so somebody stays there until Slack next lists the members. Users are listed before
// that, to learn again that the person is a guest. In a direct message the next message tells.
func (e *eraser) unnameOutsider(tx *gorm.DB) error {
	of := func() *gorm.DB { return tx.Where("team_id = ? AND user_id = ?", e.Team, e.User) }
	if err := of().Where("channel_id LIKE 'D%'").Delete(&outsiderRow{}).Error; err != nil {
		return err
	}
	key := PersonKey(e.Person)
	// One may be left from when the person was forgotten before.
	if err := tx.Exec(`DELETE FROM outsiders WHERE team_id = ? AND user_id = ? AND channel_id IN (
		SELECT o.channel_id FROM outsiders o WHERE o.team_id = ? AND o.user_id = ?)`, e.Team, key, e.Team, e.User).Error; err != nil {
		return err
	}
	unnamed := of().Model(&outsiderRow{}).Update("user_id", key)
	if unnamed.Error != nil || unnamed.RowsAffected == 0 {
		return unnamed.Error
	}
	return tx.Model(&userRow{}).Where("team_id = ? AND is_bot", e.Team).Update("refreshed_us", 0).Error
}

// Forgotten is when a person was last forgotten; zero for never.
func (s *Store) Forgotten(ctx context.Context, p chat.Person) (time.Time, error) {
	var marks []erasedRow
	if err := s.db.WithContext(ctx).Where("team_id = ? AND channel_id = '' AND person = ?", p.Team, PersonKey(p)).Find(&marks).Error; err != nil {
		return time.Time{}, fmt.Errorf("read when a person was forgotten: %w", err)
	}
	return instantOrZero(first(marks).UntilUS), nil
}
