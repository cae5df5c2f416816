// Package retract deletes in Slack what the bot said. A reply that was posted in several messages
// goes whole, and what is not posted of it yet is not posted any more. A reply that is a reaction is
// taken back under the message that it answers.
package retract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/store"
)

// pollInterval is the pause between two looks at an attempt that is still under way, and before a
// call that failed is made again.
const pollInterval = 500 * time.Millisecond

var (
	// ErrNotOwn is returned for a message that somebody else wrote.
	ErrNotOwn = errors.New("the message is not the bot's own")
	// ErrUnknown is returned for a message that neither the database nor Slack knows.
	ErrUnknown = errors.New("there is no such message")
)

// Slack deletes and finds messages.
type Slack interface {
	Delete(ctx context.Context, channel, ts string) (existed bool, err error)
	Unreact(ctx context.Context, channel, ts, name string) (existed bool, err error)
	FindPost(ctx context.Context, channel, threadTS, oldest, key string, own slack.Identity) (ts string, found bool,
		err error)
}

// Store knows what the bot has posted, and records that it is gone.
type Store interface {
	Message(ctx context.Context, team, channel, ts string) (chat.Message, error)
	ReplyOf(ctx context.Context, team, channel, ts string) (reply string, err error)
	Parts(ctx context.Context, reply string) ([]store.Part, error)
	PartsFor(ctx context.Context, team, channel string, triggers []string) ([]store.Part, error)
	Unconfirmed(ctx context.Context, team, channel, ts string) ([]store.Part, error)
	Retract(ctx context.Context, reply string, o store.Order) error
	MarkRetracted(ctx context.Context, key string, m chat.Message) error
	MarkUnreacted(ctx context.Context, p store.Part, user string) error
	SettleRetracted(ctx context.Context, decision, by string) error
}

// Retractor retracts messages.
type Retractor struct {
	// Own is who the bot is.
	Own   slack.Identity
	Slack Slack
	Store Store
	Clock func() time.Time
}

// Order asks for a message to be retracted.
type Order struct {
	Team, Channel, TS string
	By, ID            string // as in store.Order
}

// Result is what was retracted.
type Result struct {
	// Deleted are the ts of the messages that are gone.
	Deleted []string
	// Reactions are the names of the emoji that are gone.
	Reactions []string
	// Unposted is how many parts of the reply were not posted, and will not be.
	Unposted int
}

// Retract deletes a message of the bot, with all of the reply that it is a part of. It tries until
// the context ends. What it has done by then it reports together with the error, and the same
// order does the rest later. A message that is gone already is retracted all the same. It returns
// ErrNotOwn, ErrUnknown or an *slack.Error.
func (r Retractor) Retract(ctx context.Context, o Order) (Result, error) {
	required.Fields(&r)
	known, err := r.Store.Message(ctx, o.Team, o.Channel, o.TS)
	switch {
	case errors.Is(err, store.ErrNotFound):
		known = chat.Message{Team: o.Team, Channel: o.Channel, TS: o.TS}
	case err != nil:
		return Result{}, err
	case !known.Own:
		reply, err := r.reactionTo(ctx, o)
		if err == nil && reply == "" {
			err = ErrNotOwn
		}
		if err != nil {
			return Result{}, err
		}
		return r.order(ctx, o, known, reply)
	}
	reply, err := r.replyOf(ctx, o)
	if err != nil {
		return Result{}, err
	}
	if reply == "" && !known.Own {
		// Only Slack knows whose message that is, so nothing is recorded before it has agreed.
		if existed, err := r.delete(ctx, o.Channel, o.TS); err != nil || !existed {
			return Result{}, errors.Join(err, missing(existed, err))
		}
	}
	return r.order(ctx, o, known, reply)
}

// order records the order and carries it out. Without a reply it is about the message alone.
func (r Retractor) order(ctx context.Context, o Order, known chat.Message, reply string) (Result, error) {
	order := store.Order{
		ID: o.ID, Scope: chat.Scope{Team: o.Team, Channel: o.Channel, Thread: known.ThreadTS}, Kind: "retract",
		By: o.By, Subject: o.TS,
	}
	if err := r.Store.Retract(ctx, reply, order); err != nil {
		return Result{}, err
	}
	if reply != "" {
		return r.whole(ctx, reply, o.By)
	}
	if _, err := r.delete(ctx, o.Channel, o.TS); err != nil {
		return Result{}, err
	}
	return Result{Deleted: []string{o.TS}}, r.Store.MarkRetracted(ctx, "", known)
}

func missing(existed bool, err error) error {
	if err == nil && !existed {
		return ErrUnknown
	}
	return nil
}

// reactionTo finds the reply to somebody else's message that is a reaction under it; "" if there is none.
func (r Retractor) reactionTo(ctx context.Context, o Order) (string, error) {
	parts, err := r.Store.PartsFor(ctx, o.Team, o.Channel, []string{o.TS})
	i := slices.IndexFunc(parts, func(p store.Part) bool { return p.Reaction != "" })
	if err != nil || i < 0 {
		return "", err
	}
	return parts[i].Reply, nil
}

// replyOf finds the reply of a message. After an attempt whose outcome nobody has recorded, only
// Slack can tell.
func (r Retractor) replyOf(ctx context.Context, o Order) (string, error) {
	reply, err := r.Store.ReplyOf(ctx, o.Team, o.Channel, o.TS)
	if err != nil || reply != "" {
		return reply, err
	}
	parts, err := r.Store.Unconfirmed(ctx, o.Team, o.Channel, o.TS)
	if err != nil {
		return "", err
	}
	for _, p := range parts {
		ts, found, err := r.find(ctx, p)
		if err != nil {
			return "", err
		}
		if found && ts == o.TS {
			return p.Reply, nil
		}
	}
	return "", nil
}

// whole deletes all parts of a reply that are in Slack, once nobody can be posting one any more.
func (r Retractor) whole(ctx context.Context, reply, by string) (done Result, err error) {
	absent := map[string]bool{} // parts that Slack does not have
	for {
		parts, err := r.Store.Parts(ctx, reply)
		if err != nil {
			return done, err
		}
		done = Result{}
		waiting := false
		for _, p := range parts {
			switch ts := p.SentTS; {
			case p.State == store.Retracted && ts != "":
				done.Deleted = append(done.Deleted, ts)
				continue
			case p.State != store.Sent && (p.Attempts == 0 || absent[p.Key]):
				done.Unposted++
				continue
			case p.State != store.Sent && r.Clock().Before(p.LeasedUntil):
				waiting = true
				continue
			case p.Reaction != "":
				if err := r.unreact(ctx, p); err != nil {
					return done, err
				}
				done.Reactions = append(done.Reactions, p.Reaction)
				continue
			case p.State != store.Sent:
				found := false
				if ts, found, err = r.find(ctx, p); err != nil {
					return done, err
				}
				if !found {
					absent[p.Key] = true
					done.Unposted++
					continue
				}
				p.SentTS = ts
			}
			if _, err := r.delete(ctx, p.Channel, p.SentTS); err != nil {
				return done, err
			}
			m := chat.Message{Team: p.Team, Channel: p.Channel, TS: p.SentTS, ThreadTS: p.Thread, UserID: r.Own.UserID,
				BotID: r.Own.BotID}
			if err := r.Store.MarkRetracted(ctx, p.Key, m); err != nil {
				return done, err
			}
			done.Deleted = append(done.Deleted, p.SentTS)
		}
		if !waiting {
			return done, r.settle(ctx, parts, by)
		}
		if !pause.For(ctx, pollInterval) {
			return done, fmt.Errorf("a part is still being posted: %w", context.Cause(ctx))
		}
	}
}

func (r Retractor) settle(ctx context.Context, parts []store.Part, by string) error {
	if len(parts) == 0 {
		return nil
	}
	return r.Store.SettleRetracted(ctx, parts[0].Decision, by)
}

// unreact takes a reaction back, whether or not it is there, and records that.
func (r Retractor) unreact(ctx context.Context, p store.Part) error {
	if err := again(ctx, func() error {
		_, err := r.Slack.Unreact(ctx, p.Channel, p.Trigger, p.Reaction)
		return err
	}); err != nil {
		return err
	}
	return r.Store.MarkUnreacted(ctx, p, r.Own.UserID)
}

// delete deletes a message, and tries again after a failure that may pass.
func (r Retractor) delete(ctx context.Context, channel, ts string) (existed bool, err error) {
	err = again(ctx, func() (err error) {
		existed, err = r.Slack.Delete(ctx, channel, ts)
		return err
	})
	return existed, err
}

func (r Retractor) find(ctx context.Context, p store.Part) (ts string, found bool, err error) {
	err = again(ctx, func() error {
		ts, found, err = r.Slack.FindPost(ctx, p.Channel, p.Thread, p.SearchFrom(), p.Key, r.Own)
		return err
	})
	return ts, found, err
}

// again makes a call that may simply be repeated, until it succeeds, fails for good, or the context
// would end first.
func again(ctx context.Context, call func() error) error {
	for {
		err := call()
		failed, ok := errors.AsType[*slack.Error](err)
		if !ok || failed.Kind == slack.Final || !failed.Wait(ctx, pollInterval) {
			return err
		}
	}
}
