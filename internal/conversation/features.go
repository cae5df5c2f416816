package conversation

import (
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/language/phrases"
)

// Features are what is plain to see in a conversation before anybody judges it. They go into the
// judgment's prompt and into the ledger: numbers and flags, no prose.
type Features struct {
	Pending int `json:"pending"` // messages that nobody has answered or judged yet
	// QuietSeconds is the time since the newest message, WaitingSeconds since the oldest pending one.
	QuietSeconds   int `json:"quiet_seconds"`
	WaitingSeconds int `json:"waiting_seconds"`
	// Speakers is how many people and apps have said the last ten messages, OwnShare the bot's part of them.
	Speakers int     `json:"speakers"`
	OwnShare float64 `json:"own_share"`
	// SinceOwn is how many messages have followed the bot's newest one; -1: it has said nothing here.
	SinceOwn int `json:"since_own"`
	// Dialogue is set while two people alternate: the last four messages are A, B, A, B.
	Dialogue bool `json:"dialogue,omitempty"`

	// What the pending messages hold. Each is set if one of them does.
	Question       bool `json:"question,omitempty"`
	MentionsOthers bool `json:"mentions_others,omitempty"` // <@OTHER> anywhere
	NamesBot       bool `json:"names_bot,omitempty"`       // by its name, without a mention
	// NamesOther is set if each of them opens by addressing a member by name ("alice, …").
	NamesOther bool `json:"names_other,omitempty"`
	// Acknowledgement is set if all of them are bare thanks, an OK and the like.
	Acknowledgement bool `json:"acknowledgement,omitempty"`

	// Claimed is set if somebody took on one of them by a reaction such as :eyes:. ClaimedTS is the oldest of those.
	Claimed   bool   `json:"claimed,omitempty"`
	ClaimedTS string `json:"claimed_ts,omitempty"`
	// AnsweredInThread is set if somebody has replied in a thread under one of them.
	AnsweredInThread bool `json:"answered_in_thread,omitempty"`
}

// Scene is what Features are read from.
type Scene struct {
	Now time.Time
	// Target are the messages of the conversation, Threads those of the threads under them, by ts.
	Target  []chat.Message
	Threads map[string][]chat.Message
	// Pending are the ts of messages that are judged.
	Pending []string
	BotID   string
	// BotNames are the names by which the bot is called.
	BotNames []string
	// Members are display names of people who have been active lately.
	Members []string
}

// lastMessages is how many of the newest messages tell who holds the floor.
const lastMessages = 10

// Features reads the features of a scene. Deleted messages do not count.
func (s Scene) Features() Features {
	said := slices.DeleteFunc(slices.Clone(s.Target), func(m chat.Message) bool { return m.Deleted })
	out := Features{SinceOwn: -1}
	if len(said) == 0 {
		return out
	}
	out.QuietSeconds = elapsed(s.Now, said[len(said)-1])
	last := said[max(0, len(said)-lastMessages):]
	speakers, own := map[string]bool{}, 0
	for _, m := range last {
		speakers[speaker(m)] = true
		if m.Own {
			own++
		}
	}
	out.Speakers, out.OwnShare = len(speakers), float64(own)/float64(len(last))
	for i, m := range slices.Backward(said) {
		if m.Own {
			out.SinceOwn = len(said) - 1 - i
			break
		}
	}
	out.Dialogue = dialogue(said)

	var pending []chat.Message
	for _, m := range said {
		if slices.Contains(s.Pending, m.TS) {
			pending = append(pending, m)
		}
	}
	out.Pending = len(pending)
	if len(pending) == 0 {
		return out
	}
	out.WaitingSeconds = elapsed(s.Now, pending[0])
	out.NamesOther, out.Acknowledgement = true, true
	for _, m := range pending {
		m.Text = m.Said()
		out.Question = out.Question || chat.HasQuestion(m.Text)
		out.MentionsOthers = out.MentionsOthers || phrases.MentionsOther(m.Text, s.BotID)
		out.NamesBot = out.NamesBot || phrases.Names(m.Text, s.BotNames...)
		out.NamesOther = out.NamesOther && phrases.CallsMember(m, s.BotNames, s.Members)
		out.Acknowledgement = out.Acknowledgement && len(m.Files) == 0 && phrases.Acknowledges(m.Text, s.Members)
		if !out.Claimed && phrases.Claims(m) {
			out.Claimed, out.ClaimedTS = true, m.TS
		}
		out.AnsweredInThread = out.AnsweredInThread ||
			slices.ContainsFunc(s.Threads[m.TS], func(r chat.Message) bool {
				return !r.Deleted && r.TS != m.TS &&
					speaker(r) != speaker(m)
			})
	}
	return out
}

func elapsed(now time.Time, m chat.Message) int {
	return max(0, int(now.Sub(m.Time())/time.Second))
}

func speaker(m chat.Message) string {
	if m.Own {
		return "own"
	}
	if m.UserID != "" {
		return m.UserID
	}
	return m.BotID
}

func dialogue(said []chat.Message) bool {
	n := len(said)
	if n < 4 {
		return false
	}
	a, b, c, d := speaker(said[n-4]), speaker(said[n-3]), speaker(said[n-2]), speaker(said[n-1])
	return a == c && b == d && a != b && !slices.ContainsFunc(said[n-4:], chat.Message.ByBot)
}
