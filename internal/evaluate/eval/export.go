package eval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	randv2 "math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/conversation/label"
	"myao/internal/evaluate/evidence"
	"myao/internal/store"
)

// Exporter makes cases of a workspace's own decisions.
type Exporter struct {
	Store *store.Store
	Team  string
	Bot   string // the bot's user id
	// Messages is how many messages a judgment reads (response.channel_messages_limit).
	Messages int
	// Private also exports private channels, and those that people of other companies or workspaces read.
	Private bool
	// NoText replaces all texts.
	NoText bool
	// Rand draws the pseudonyms; nil for another result each time.
	Rand *randv2.Rand
}

// LeftOut is why there is no case of a decision.
type LeftOut string

// The reasons why a decision is left out.
const (
	LeftDirect  LeftOut = "in direct messages"
	LeftPrivate LeftOut = "in private or shared channels"
	LeftLabel   LeftOut = "whose labels do not tell whether to speak"
	LeftGone    LeftOut = "about messages that are deleted, forgotten or no longer kept"
	LeftThread  LeftOut = "about messages under which there was a thread"
	LeftInvalid LeftOut = "that a case cannot represent"
)

// Exported is cases, the newest first.
type Exported struct {
	Cases []Case
	// Channels counts the cases by the id of their channel.
	Channels map[string]int
	Left     map[LeftOut]int
}

const (
	// maxCaseMessages is how many messages of a conversation, and as many around it, a case has at most. With their
	// threads' parents they are fewer than the events that a case may have.
	maxCaseMessages = 150
	maxCaseEvents   = 500
	// maxCaseSeconds is how far back a case goes. What is older is told as if it had just happened then.
	maxCaseSeconds = 999_000
	maxCaseText    = 40_000 // characters
)

// Export makes cases of the newest labelled decisions that a filter selects, at most limit. The filter's Team and
// Limit are ignored.
func (x Exporter) Export(ctx context.Context, f store.LabelFilter, limit int) (Exported, error) {
	out := Exported{Channels: map[string]int{}, Left: map[LeftOut]int{}}
	f.Team, f.Limit = x.Team, 0
	judged, err := x.Store.LabelledDecisions(ctx, f)
	if err != nil {
		return out, err
	}
	e, err := x.begin(ctx)
	if err != nil {
		return out, err
	}
	for _, d := range judged {
		if len(out.Cases) == limit {
			break
		}
		c, left, err := e.export(ctx, d)
		switch {
		case err != nil:
			return out, err
		case left != "":
			out.Left[left]++
			continue
		}
		out.Cases = append(out.Cases, c)
		in, err := chat.ParseConversation(d.WorkflowID)
		if err != nil {
			return out, err
		}
		out.Channels[in.Channel]++
	}
	return out, nil
}

// export is one run of an Exporter.
type export struct {
	Exporter
	mask       *masker
	channels   map[string]store.Channel
	precisions evidence.Precisions
	salt       [16]byte // of the clusters
}

func (x Exporter) begin(ctx context.Context) (*export, error) {
	users, err := x.Store.AllUsers(ctx, x.Team)
	if err != nil {
		return nil, err
	}
	channels, err := x.Store.AllChannels(ctx, x.Team)
	if err != nil {
		return nil, err
	}
	checked, err := x.Store.CheckedLabels(ctx, x.Team)
	if err != nil {
		return nil, err
	}
	if x.Rand == nil {
		var seed [32]byte
		if _, err := rand.Read(seed[:]); err != nil {
			return nil, err
		}
		x.Rand = randv2.New(randv2.NewChaCha8(seed))
	}
	names := newKnownNames(users, x.Bot, channels)
	e := &export{Exporter: x, channels: map[string]store.Channel{}, precisions: evidence.Measure(checked),
		mask: &masker{
			pseudonyms: newPseudonyms(x.Rand, names.has), bot: x.Bot, names: names, apps: map[string]bool{},
			channels: map[string]string{}, noText: x.NoText,
		}}
	for i := range e.salt {
		e.salt[i] = byte(x.Rand.Uint32())
	}
	for _, u := range users {
		e.mask.apps[u.ID] = u.Bot
	}
	for _, c := range channels {
		e.channels[c.ID], e.mask.channels[string(foldName(c.Name))] = c, c.ID
	}
	return e, nil
}

// openness says why a channel is not exported; "" if it is. A direct message with several people may be known by its
// name alone, so that a private channel needs one.
func (e *export) openness(c chat.Conversation) LeftOut {
	known := e.channels[c.Channel]
	switch {
	case c.Direct() || strings.HasPrefix(known.Name, "mpdm-"):
		return LeftDirect
	case known.Refreshed.IsZero() || known.Private && known.Name == "" || !e.Private &&
		(known.Private || known.External || known.OrgShared):
		return LeftPrivate
	}
	return ""
}

// export makes the case of a decision, or says why there is none.
func (e *export) export(ctx context.Context, d store.Judged) (Case, LeftOut, error) {
	c, err := chat.ParseConversation(d.WorkflowID)
	if err != nil {
		return Case{}, "", err
	}
	if closed := e.openness(c); closed != "" {
		return Case{}, closed, nil
	}
	found := e.precisions.Find(d.Evidence())
	if !found.Truth.Scored() && found.Truth != label.Either {
		return Case{}, LeftLabel, nil
	}
	at := d.Decided()
	if read := time.UnixMicro(d.ReadUS); d.ReadUS > 0 && read.Before(at) {
		at = read
	}
	past, err := e.Store.Past(ctx, c, at, min(e.Messages, maxCaseMessages))
	if err != nil {
		return Case{}, "", err
	}
	said, left := untilNewest(past.Messages, c, d.Decision)
	if left != "" {
		return Case{}, left, nil
	}
	past.Messages = said
	channel := e.mask.of(aChannel, c.Channel)
	id := sha256.Sum256([]byte("decision " + d.Key))
	cluster := sha256.Sum256(append(e.salt[:], d.WorkflowID...))
	out := Case{
		V: 1, ID: "ledger/" + hex.EncodeToString(id[:8]), Cluster: "ledger/" + hex.EncodeToString(cluster[:8]),
		Lang:     languageOf(said),
		Category: string(found.Kind), Channel: Channel{Name: channel.name, Private: e.channels[c.Channel].Private},
		Target: Target(found.Truth), Why: found.Kind.Phrase(), License: "private",
	}
	e.tell(&out, past, at)
	if !valid(out) {
		return Case{}, LeftInvalid, nil
	}
	return out, "", nil
}

// untilNewest is the messages that a case tells: up to the newest one of the judged conversation, which is how a case
// names what is judged. Messages whose author or thread's parent is gone are left out.
func untilNewest(messages []chat.Message, c chat.Conversation, d store.Decision) (told []chat.Message, left LeftOut) {
	parents := map[string]bool{"": true}
	var judged []string // ts of those that may have been
	newest, asked := 0, false
	for _, m := range messages {
		if m.UserID == "" && m.BotID == "" && !m.Own || !parents[m.ThreadTS] {
			continue
		}
		parents[m.TS] = m.ThreadTS == ""
		told = append(told, m)
		if m.ThreadTS == c.Thread {
			newest, asked = len(told), asked || m.TS == d.TriggerTS
			if !m.Own {
				judged = append(judged, m.TS)
			}
		}
	}
	if !asked {
		return nil, LeftGone
	}
	features := conversation.Features{Pending: 1}
	_ = json.Unmarshal([]byte(d.Signals), &features) // a rule leaves none
	judged = judged[max(0, len(judged)-features.Pending):]
	if slices.ContainsFunc(told[newest:], func(m chat.Message) bool { return slices.Contains(judged, m.ThreadTS) }) {
		return nil, LeftThread
	}
	return told[:newest], ""
}

// languageOf is what people write in: Japanese, if a fifth of it is.
func languageOf(said []chat.Message) string {
	letters, theirs := 0, 0
	for _, m := range said {
		for _, r := range m.Text {
			switch {
			case unicode.In(r, japanese...):
				letters, theirs = letters+1, theirs+1
			case unicode.IsLetter(r):
				letters++
			}
		}
	}
	if theirs*5 > letters {
		return "ja"
	}
	return "en"
}
