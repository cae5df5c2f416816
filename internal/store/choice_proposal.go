package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// ProposalState is how far a proposal has come:
//
//	open → approved → begun → done
//	  ↓        ↓        ↓      a definite error: failed; a crash: unknown
//	declined, cancelled, lapsed, withdrawn
//
// Only people approve, decline and cancel (DecideProposal). A call is made only from begun, and begun is
// reached once, unless the call may be repeated.
type ProposalState string

const (
	ProposalOpen     ProposalState = "open"
	ProposalApproved ProposalState = "approved"
	ProposalBegun    ProposalState = "begun"
	ProposalDone     ProposalState = "done"
	ProposalFailed   ProposalState = "failed"
	// ProposalUnknown: a worker died while it made the call. It is not tried again.
	ProposalUnknown   ProposalState = "unknown"
	ProposalDeclined  ProposalState = "declined"
	ProposalCancelled ProposalState = "cancelled" // by an operator
	ProposalLapsed    ProposalState = "lapsed"
	// ProposalWithdrawn: the message that asked was deleted.
	ProposalWithdrawn ProposalState = "withdrawn"
)

// Ended reports whether nothing more comes of it.
func (s ProposalState) Ended() bool {
	return s != ProposalOpen && s != ProposalApproved && s != ProposalBegun
}

// Ran reports whether the call was made, or may have been.
func (s ProposalState) Ran() bool {
	return s == ProposalDone || s == ProposalFailed || s == ProposalUnknown
}

// unfinished is the condition of the index of proposals that may still come to something.
const unfinished = "state IN ('open', 'approved', 'begun')"

// Proposal is a call of a tool that acts, and what people decided about it.
type Proposal struct {
	Choice
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Input is a JSON object, as it was shown to people.
	Input string `json:"-"`
	// Idempotent is set if the call may be repeated.
	Idempotent bool          `json:"-"`
	State      ProposalState `json:"state"`
	// DecidedBy is slack:U…, or an operator's name; "" if nobody has decided.
	DecidedBy string `json:"decided_by"`
	DecidedUS int64  `gorm:"column:decided_us" json:"-"`
	// LapsesUS is when it lapses if nobody has decided.
	LapsesUS int64 `gorm:"column:lapses_us" json:"-"`
	BeganUS  int64 `gorm:"column:began_us" json:"-"`
	// Output is what came of it.
	Output string `json:"output,omitempty"`
}

// MarshalJSON implements json.Marshaler: times take the place of the microseconds, and Input is an object.
func (p Proposal) MarshalJSON() ([]byte, error) {
	type columns Proposal // without this method
	input := json.RawMessage(p.Input)
	if !json.Valid(input) { // a model wrote it
		input, _ = json.Marshal(p.Input)
	}
	return marshalRow(struct {
		columns
		Input    json.RawMessage `json:"input"`
		Proposed time.Time       `json:"proposed_at"`
		Lapses   time.Time       `json:"lapses_at"`
		Decided  time.Time       `json:"decided_at,omitzero"`
		Began    time.Time       `json:"began_at,omitzero"`
		Ended    time.Time       `json:"ended_at,omitzero"`
	}{columns(p), input, p.Stored(), p.Lapses(), instantOrZero(p.DecidedUS), instantOrZero(p.BeganUS), p.Ended()})
}

// TableName implements gorm's schema.Tabler.
func (Proposal) TableName() string { return "proposals" }

// Lapses is when it lapses if nobody has decided.
func (p Proposal) Lapses() time.Time { return instant(p.LapsesUS) }

// reference is what the changes about the proposal carry.
func (p Proposal) reference() string { return p.ID }

// Proposal returns a proposal, or ErrNotFound.
func (s *Store) Proposal(ctx context.Context, id string) (Proposal, error) {
	return choiceNamed[Proposal](s.db.WithContext(ctx), "proposal", id)
}

// ProposalsOf returns the proposals of a decision, in the order of their calls.
func (s *Store) ProposalsOf(ctx context.Context, decision string) ([]Proposal, error) {
	var rows []Proposal
	if err := s.db.WithContext(ctx).Raw(`SELECT p.* FROM proposals p LEFT JOIN steps s ON s.id = p.id
		WHERE p.decision = ? ORDER BY s.round, s.position, p.id`, decision).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read proposals of %s: %w", decision, err)
	}
	return rows, nil
}

// ProposalsShown counts the proposals that one message has asked for and people have seen, except those of a decision.
func (s *Store) ProposalsShown(ctx context.Context, c chat.Conversation, trigger, except string) (int, error) {
	var n int64
	if err := s.db.WithContext(ctx).Model(&Proposal{}).
		Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND trigger_ts = ? AND shown_ts <> '' AND decision <> ?",
			c.Team, c.Channel, c.Thread, trigger, except).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count proposals for %s in %s: %w", trigger, c.ID(), err)
	}
	return int(n), nil
}

// ProposalsFor returns the proposals of some decisions, by their keys.
func (s *Store) ProposalsFor(ctx context.Context, decisions []string) ([]Proposal, error) {
	rows, err := choicesWith[Proposal](s, ctx, "decision", decisions, "id")
	if err != nil {
		return nil, fmt.Errorf("read proposals of decisions: %w", err)
	}
	return rows, nil
}

// Proposals returns proposals that were shown to people, the newest first.
func (s *Store) Proposals(ctx context.Context, f ChoiceFilter) ([]Proposal, error) {
	f.Asker = ""
	rows, err := choices[Proposal](s, ctx, f, unfinished, "stored_us DESC, id")
	if err != nil {
		return nil, fmt.Errorf("read proposals: %w", err)
	}
	return rows, nil
}

// ShowProposals records that the buttons of a decision's proposals stand under a message, and returns
// the proposals. A click may have been faster, so not all of them need be open.
func (s *Store) ShowProposals(ctx context.Context, decision, ts string) ([]Proposal, error) {
	if err := showChoices[Proposal](s.db.WithContext(ctx), decision, ts); err != nil {
		return nil, fmt.Errorf("show proposals of %s: %w", decision, err)
	}
	return s.ProposalsOf(ctx, decision)
}

// DecideProposal records what somebody decides about an open proposal, and the change that tells its
// conversation. Whoever is first decides: the proposal is returned as it is then, and first says whether
// this was it. kind is conversation.Approved, Declined or Cancelled. A proposal that has lapsed by now is
// not decided any more, although its conversation may not have closed it yet. ErrNotFound: there is no
// such proposal.
func (s *Store) DecideProposal(
	ctx context.Context, id string, kind conversation.Kind, by string,
) (p Proposal, first bool, targets []Target, err error) {
	p, first, targets, err = decide(s, ctx, id, kind, by, func(p *Proposal, now int64) map[string]any {
		if p.State != ProposalOpen || now >= p.LapsesUS {
			return nil
		}
		p.State, p.DecidedBy, p.DecidedUS = ProposalState(kind), by, now
		if p.State.Ended() {
			p.EndedUS = now
		}
		return map[string]any{"state": p.State, "decided_by": by, "decided_us": now, "ended_us": p.EndedUS}
	})
	if err != nil {
		return Proposal{}, false, nil, fmt.Errorf("decide proposal %s: %w", id, err)
	}
	if first {
		s.metrics.end(p.State, 1)
	}
	return p, first, targets, nil
}

// BeginProposal takes an approved proposal into begun and returns run if its call is to be made now. One
// that has begun before, in an attempt that did not end it, becomes unknown, unless its call may be
// repeated. If the message that asked is deleted, it is withdrawn.
func (s *Store) BeginProposal(ctx context.Context, id string) (p Proposal, run bool, err error) {
	ended := false
	err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = choiceNamed[Proposal](s.locked(tx), "proposal", id); err != nil {
			return err
		}
		before := p.State
		if before != ProposalApproved && before != ProposalBegun {
			return nil
		}
		var deleted int64
		if err := p.asks(tx).Where("deleted").Count(&deleted).Error; err != nil {
			return err
		}
		now := s.nowMicros()
		switch {
		case deleted > 0 && before == ProposalApproved:
			p.State, p.EndedUS = ProposalWithdrawn, now
		case before == ProposalBegun && (!p.Idempotent || deleted > 0):
			p.State, p.EndedUS = ProposalUnknown, now
		default:
			p.State, run = ProposalBegun, true
			if p.BeganUS == 0 {
				p.BeganUS = now
			}
		}
		ended = !run
		return tx.Model(&Proposal{}).Where("id = ?", id).
			Updates(map[string]any{"state": p.State, "began_us": p.BeganUS, "ended_us": p.EndedUS}).Error
	})
	if err != nil {
		return Proposal{}, false, fmt.Errorf("begin proposal %s: %w", id, err)
	}
	if ended {
		s.metrics.end(p.State, 1)
	}
	return p, run, nil
}

// asks is the row of the message that asked.
func (p Proposal) asks(tx *gorm.DB) *gorm.DB {
	return tx.Model(&messageRow{}).Where("team_id = ? AND channel_id = ? AND ts = ?", p.TeamID, p.ChannelID,
		p.TriggerTS)
}

// EndProposal saves what came of a call that has begun: ProposalDone, ProposalFailed or ProposalUnknown.
// The first end stays. If the message that asked was deleted meanwhile, the texts go.
func (s *Store) EndProposal(ctx context.Context, id string, state ProposalState, output string) error {
	changed := int64(0)
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		end := map[string]any{"state": state, "output": output, "ended_us": s.nowMicros()}
		p, err := choiceNamed[Proposal](tx, "proposal", id)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		// The lock has a deletion wait, which then blanks what has ended.
		var asks []messageRow
		if err := s.locked(p.asks(tx)).Find(&asks).Error; err != nil {
			return err
		}
		if first(asks).Deleted {
			end["input"], end["output"] = noInput, ""
		}
		ended := tx.Model(&Proposal{}).Where("id = ? AND state = ?", id, ProposalBegun).Updates(end)
		changed = ended.RowsAffected
		return ended.Error
	})
	if err != nil {
		return fmt.Errorf("end proposal %s: %w", id, err)
	}
	s.metrics.end(state, changed)
	return nil
}

// CloseProposal ends a proposal without its call: ProposalLapsed only while it is open,
// ProposalWithdrawn also if it is approved and has not begun. It returns the proposal as it is then, or
// ErrNotFound.
func (s *Store) CloseProposal(ctx context.Context, id string, state ProposalState) (Proposal, error) {
	from := []ProposalState{ProposalOpen}
	if state == ProposalWithdrawn {
		from = append(from, ProposalApproved)
	}
	if err := s.closeProposals(s.db.WithContext(ctx).Where("id = ?", id), state, from...); err != nil {
		return Proposal{}, fmt.Errorf("close proposal %s: %w", id, err)
	}
	return s.Proposal(ctx, id)
}

func (s *Store) closeProposals(of *gorm.DB, state ProposalState, from ...ProposalState) error {
	ended := of.Model(&Proposal{}).Where("state IN ?", from).
		Updates(map[string]any{"state": state, "ended_us": s.nowMicros()})
	s.metrics.end(state, ended.RowsAffected)
	return ended.Error
}

// HandOverProposals hands over the proposals that should have ended five minutes ago, as handOver does. Proposals
// whose reply was never posted have no conversation that knows them; they are withdrawn.
func (s *Store) HandOverProposals(ctx context.Context) ([]Target, error) {
	before := s.nowMicros() - overdueAfter.Microseconds()
	if err := s.closeProposals(s.db.WithContext(ctx).Where(unfinished+" AND shown_ts = '' AND lapses_us < ?", before),
		ProposalWithdrawn, ProposalOpen); err != nil {
		return nil, fmt.Errorf("withdraw proposals that were not shown: %w", err)
	}
	targets, err := handOver[Proposal](s, ctx, conversation.Overdue, "proposals.id", "stored_us", unfinished+
		" AND CASE state WHEN 'open' THEN lapses_us WHEN 'approved' THEN decided_us ELSE began_us END < ?", before)
	if err != nil {
		return nil, fmt.Errorf("hand over proposals: %w", err)
	}
	return targets, nil
}
