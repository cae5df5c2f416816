package store

import (
	"time"

	"myao/internal/chat"
)

// PersonExport is everything that the database holds of a person, in no particular order within a
// list. Times are UTC; ts are Slack's own ids.
type PersonExport struct {
	Team string `json:"team"`
	User string `json:"user"`
	// Name is the display name; empty if Slack was never asked.
	Name string `json:"name"`
	// Zone is as in User.
	Zone string `json:"time_zone,omitempty"`
	// Guest and Stranger are as in User. Outside is the channels in which the person counted as an
	// outsider.
	Guest    bool               `json:"guest,omitempty"`
	Stranger bool               `json:"stranger,omitempty"`
	Outside  []ExportedPresence `json:"outsider_in,omitempty"`
	// Wrote is the channels in which messages of theirs were deleted for their age.
	Wrote []ExportedWriting `json:"pruned_messages,omitempty"`
	// Forgotten is when the person was last forgotten; zero for never.
	Forgotten time.Time          `json:"forgotten_at,omitzero"`
	Messages  []ExportedMessage  `json:"messages"`
	Reactions []ExportedReaction `json:"reactions"`
	Orders    []Order            `json:"orders"`
	// Decisions are those that their messages triggered, Replies those to their messages.
	Decisions []ExportedDecision `json:"decisions"`
	Replies   []ExportedReply    `json:"replies"`
	// Snapshots are copies of their messages for other judges.
	Snapshots []ExportedSnapshot `json:"snapshots,omitempty"`
	// Steps are what was looked up for replies to their messages.
	Steps []ExportedStep `json:"steps"`
	// Proposals are those that their messages led to, and those that the person decided about.
	Proposals []Proposal `json:"proposals"`
	// Promises are those that the person asked for, and those that the person ended.
	Promises []Promise `json:"promises"`
	// Memories have one of their messages among their sources, or one of these memories. Where messages of theirs were
	// deleted for their age, these are all since the first of those.
	Memories []Memory `json:"memories"`
	// Notes are those that the person asked for.
	Notes []ExportedNote `json:"notes"`
	// Feedback is what the person thinks of replies.
	Feedback []ExportedVote `json:"feedback"`
	// Installations are where the person has installed the app: their workspace, or its organisation.
	Installations []ExportedInstallation `json:"installations,omitempty"`
	// Settings are what the person was the last to set of channels in Slack.
	Settings []ExportedSetting `json:"settings,omitempty"`
}

// ExportedPresence is when the person was last known to be in a channel, and when they last left it.
type ExportedPresence struct {
	Channel string    `json:"channel"`
	Seen    time.Time `json:"seen_at,omitzero"`
	Left    time.Time `json:"left_at,omitzero"`
}

// ExportedWriting is when the person sent the first message in a channel that was deleted for its age.
type ExportedWriting struct {
	Channel string    `json:"channel"`
	Since   time.Time `json:"since"`
}

// ExportedMessage is a message of the person. A deleted one has no text.
type ExportedMessage struct {
	Channel  string      `json:"channel"`
	TS       string      `json:"ts"`
	Thread   string      `json:"thread,omitempty"`
	Sent     time.Time   `json:"sent_at"`
	Text     string      `json:"text"`
	Files    []chat.File `json:"files,omitempty"`
	Revision string      `json:"revision,omitempty"` // ts of the newest edit
	Deleted  bool        `json:"deleted,omitempty"`
}

// ExportedReaction is an emoji that the person put under a message. Removed is set if they took it
// back.
type ExportedReaction struct {
	Channel string    `json:"channel"`
	TS      string    `json:"ts"`
	Emoji   string    `json:"emoji"`
	Added   time.Time `json:"added_at,omitzero"`
	Removed bool      `json:"removed,omitempty"`
}

// ExportedDecision is whether the bot meant to answer a message of the person, and why.
type ExportedDecision struct {
	WorkflowID    string    `json:"workflow_id"`
	TriggerTS     string    `json:"trigger_ts"`
	Source        string    `json:"source"`
	Rule          string    `json:"rule,omitempty"`
	ShouldRespond bool      `json:"should_respond"`
	Reason        string    `json:"reason"`
	Gist          string    `json:"gist,omitempty"`
	Confidence    *float64  `json:"confidence,omitempty"`
	Outcome       string    `json:"outcome"`
	Decided       time.Time `json:"decided_at"`
	// Opinions are what other judges say.
	Opinions []ExportedOpinion `json:"opinions,omitempty"`
}

// ExportedOpinion is whether another judge would have answered, and why.
type ExportedOpinion struct {
	Judge         string    `json:"judge"`
	ShouldRespond bool      `json:"should_respond"`
	Reason        string    `json:"reason"`
	Confidence    *float64  `json:"confidence,omitempty"`
	Given         time.Time `json:"given_at"`
}

// ExportedSnapshot is what a judgment read, as far as it is the person's. It is kept for a day at most.
type ExportedSnapshot struct {
	Channel string    `json:"channel"`
	TS      []string  `json:"ts"` // of their messages in it
	Read    time.Time `json:"read_at"`
}

// ExportedReply is a part of a reply to the person. SentTS is empty if it is not in Slack.
type ExportedReply struct {
	Channel string `json:"channel"`
	Thread  string `json:"thread,omitempty"`
	Trigger string `json:"trigger_ts"` // of the message that it answers
	SentTS  string `json:"sent_ts,omitempty"`
	State   string `json:"state"`
	Text    string `json:"text"`
}

// ExportedStep is something that was looked up for a reply to the person.
type ExportedStep struct {
	Channel string    `json:"channel"`
	Thread  string    `json:"thread,omitempty"`
	Trigger string    `json:"trigger_ts"` // of the message that is answered
	Tool    string    `json:"tool"`
	Input   string    `json:"input"` // as the model wrote it
	Asked   time.Time `json:"asked_at"`
	// Files are what the result showed, without their bytes.
	Files []ExportedFile `json:"files,omitempty"`
}

// ExportedFile is a picture or a document that a model was shown. Size is in bytes.
type ExportedFile struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int    `json:"size"`
}

// ExportedNote is a note that the person asked for.
type ExportedNote struct {
	Channel string `json:"channel"`
	chat.Note
}

// ExportedVote is what the person thinks of a reply.
type ExportedVote struct {
	Channel string    `json:"channel"`
	SentTS  string    `json:"sent_ts,omitempty"` // of the message with the buttons
	Value   string    `json:"value"`             // up or down
	Reason  string    `json:"reason,omitempty"`
	Voted   time.Time `json:"voted_at"`
}

// ExportedSetting is something that the person has set of a channel, or given back to the file: then it does not hold.
type ExportedSetting struct {
	Channel string    `json:"channel"`
	Key     string    `json:"key"`
	Value   string    `json:"value"`
	Holds   bool      `json:"holds"`
	Set     time.Time `json:"set_at"`
}

// ExportedInstallation is where and when the person has installed the app.
type ExportedInstallation struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Installed time.Time `json:"installed_at"`
}
