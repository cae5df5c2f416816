package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/launch"
	"myao/internal/ledger"
	"myao/internal/store"
)

// proposalsCommand shows what the bot proposes to do, and ends it.
type proposalsCommand struct {
	List    proposalsList    `cmd:"" help:"List what the bot proposes to do and nobody has decided about, or is being done."`
	Decline proposalsDecline `cmd:"" help:"Decide that a proposal is not carried out."`
}

type proposalsList struct {
	Channel string `placeholder:"CHANNEL" help:"Only those of this channel: its id, or its name with or without #."`
	All     bool   `help:"Those that have ended, too."`
	Limit   int    `default:"50" placeholder:"N" help:"The newest N proposals (${default}), up to 10000."`
	output
}

// Help implements kong's Help.
func (proposalsList) Help() string {
	return `A proposal is open until somebody decides by its buttons in Slack. An approved one is done at most
once; whether one whose state is unknown was done, only what it is about can tell.

  starter proposals list
  starter proposals list --all --channel '#general' --json | jq '.[] | select(.state == "unknown")'`
}

// Validate implements kong's Validate.
func (c *proposalsList) Validate() error { return checkLimit(c.Limit, maxListed) }

// proposalReport is one proposal.
type proposalReport struct {
	ID      string              `json:"id"`
	State   store.ProposalState `json:"state"`
	Tool    string              `json:"tool"`
	Server  string              `json:"server"`
	Input   json.RawMessage     `json:"input"`
	Channel string              `json:"channel"`
	Name    string              `json:"channel_name,omitempty"`
	Thread  string              `json:"thread"` // "" at the top level
	// TS is that of the message that asked, Shown that of the message with the buttons.
	TS        string    `json:"ts"`
	Shown     string    `json:"shown,omitempty"`
	AskedBy   string    `json:"asked_by"` // user id
	Proposed  time.Time `json:"proposed"`
	Lapses    time.Time `json:"lapses"`
	DecidedBy string    `json:"decided_by"` // slack:U…, cli:NAME, "" if nobody has decided
	Decided   time.Time `json:"decided,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	// Output is what came of it.
	Output string `json:"output,omitempty"`
}

func newProposalReport(p store.Proposal, channelName string) proposalReport {
	input := json.RawMessage(p.Input)
	if !json.Valid(input) { // a model wrote it
		input, _ = json.Marshal(p.Input)
	}
	at := func(us int64) (t time.Time) {
		if us != 0 {
			t = time.UnixMicro(us).UTC()
		}
		return t
	}
	return proposalReport{
		ID: p.ID, State: p.State, Tool: p.Tool, Server: p.Server, Input: input, Channel: p.ChannelID, Name: channelName, Thread: p.ThreadTS,
		TS: p.TriggerTS, Shown: p.ShownTS, AskedBy: p.Asker, Proposed: at(p.StoredUS), Lapses: at(p.LapsesUS), DecidedBy: p.DecidedBy, Decided: at(p.DecidedUS),
		Ended: at(p.EndedUS), Output: p.Output,
	}
}

// what is the call on one line.
func (r proposalReport) what() string { return ledger.Plain(r.Tool + " " + string(r.Input)) }

func (c *proposalsList) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return withMemory(ctx, p, memoryArg{Channel: c.Channel}, func(db *store.Store, scope chat.Scope) error {
		found, err := db.Proposals(ctx, store.ProposalFilter{Team: scope.Team, Channel: scope.Channel, All: c.All, Limit: c.Limit})
		if err != nil {
			return err
		}
		var ids []string
		for _, f := range found {
			ids = append(ids, f.ChannelID)
		}
		channels, err := db.Channels(ctx, scope.Team, ids)
		if err != nil {
			return err
		}
		reports := make([]proposalReport, len(found))
		rows := [][]string{{"ID", "STATE", "LAPSES", "CONVERSATION", "ASKED BY", "DECIDED BY", "WHAT"}}
		for i, f := range found {
			r := newProposalReport(f, channels[f.ChannelID].Name)
			reports[i] = r
			rows = append(rows, []string{
				r.ID, string(r.State), formatTime(r.Lapses, p.Config.Location()), conversationName(f.Conversation(), r.Name), ledger.Plain(r.AskedBy), ledger.Plain(r.DecidedBy), r.what(),
			})
		}
		return c.print(stdout, reports, func(w io.Writer) error {
			if len(found) == 0 {
				_, err := fmt.Fprintln(w, "none")
				return err
			}
			return table(w, rows)
		})
	})
}

type proposalsDecline struct {
	ID string `arg:"" help:"The id of the proposal."`
	byFlag
}

// Help implements kong's Help.
func (proposalsDecline) Help() string {
	return `Its message in Slack shows who cancelled it. Needs the database only; the message changes when a
starter and a worker run.

  starter proposals decline 1f3870be274f6c49b3e3`
}

func (c *proposalsDecline) run(ctx context.Context, p launch.Program, stdout io.Writer) error {
	return withMemory(ctx, p, memoryArg{}, func(db *store.Store, scope chat.Scope) error {
		found, first, _, err := db.DecideProposal(ctx, c.ID, conversation.Cancelled, c.by())
		switch {
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("there is no proposal %s: `starter proposals list --all` shows them", ledger.Plain(c.ID))
		case err != nil:
			return err
		case !first && found.State == store.ProposalOpen:
			return fmt.Errorf("proposal %s has lapsed: nothing comes of it", found.ID)
		case !first:
			return fmt.Errorf("proposal %s is %s already", found.ID, found.State)
		}
		_, err = fmt.Fprintf(stdout, "proposal %s is cancelled\n", found.ID)
		return err
	})
}
