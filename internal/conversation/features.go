package conversation

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"myao/internal/chat"
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

	// Claimed is set if somebody took on one of them by a reaction such as :eyes:.
	Claimed bool `json:"claimed,omitempty"`
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
	BotName string
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
		out.Question = out.Question || chat.AsksQuestion(m.Text)
		out.MentionsOthers = out.MentionsOthers || mentionsOther(m.Text, s.BotID)
		out.NamesBot = out.NamesBot || names(m.Text, s.BotName)
		out.NamesOther = out.NamesOther && s.addressesMember(m)
		out.Acknowledgement = out.Acknowledgement && len(m.Files) == 0 && Acknowledges(m.Text, s.Members)
		out.Claimed = out.Claimed || claimed(m)
		out.AnsweredInThread = out.AnsweredInThread ||
			slices.ContainsFunc(s.Threads[m.TS], func(r chat.Message) bool { return !r.Deleted && r.TS != m.TS && speaker(r) != speaker(m) })
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

// claims are reactions by which people say that they see to something, or have done so.
var claims = []string{"eyes", "white_check_mark", "heavy_check_mark", "raised_hand", "raising_hand", "hand", "on_it", "ballot_box_with_check", "saluting_face", "対応中", "対応済み", "確認中"}

// claimed reports whether somebody else than the author has taken a message on.
func claimed(m chat.Message) bool {
	return slices.ContainsFunc(m.Reactions, func(r chat.Reaction) bool {
		name, _, _ := strings.Cut(r.Name, "::") // without the tone of the skin
		return r.UserID != m.UserID && slices.Contains(claims, name)
	})
}

var mentionPattern = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)

func mentionsOther(text, bot string) bool {
	return slices.ContainsFunc(mentionPattern.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] != bot })
}

// names reports whether a text holds a name as a word of its own.
func names(text, name string) bool {
	text, name = fold(text), fold(name)
	if name == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		before, after := text[:from+i], text[from+i+len(name):]
		if !endsInLatin(before) && !beginsInLatin(after) {
			return true
		}
		from += i + len(name)
	}
}

func latin(r rune) bool { return unicode.In(r, unicode.Latin) || unicode.IsDigit(r) || r == '_' }

func endsInLatin(s string) bool   { r := []rune(s); return len(r) > 0 && latin(r[len(r)-1]) }
func beginsInLatin(s string) bool { r := []rune(s); return len(r) > 0 && latin(r[0]) }

// fold makes texts comparable: NFKC, lower case.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// vocativePattern is what may follow a name that somebody is called by: an honorific, or a comma or colon.
var vocativePattern = regexp.MustCompile(`^(?:\s*(?:さん|くん|君|ちゃん|様|さま|氏|先生|先輩|部長|課長|社長)[、,，:：\s!！]|\s*[、,，:：])`)

// greetingPattern may stand before the name.
var greetingPattern = regexp.MustCompile(`^(?:(?:hey|hi|hello|dear|ok|so)[\s,]+|@)`)

// addressesMember reports whether a message opens with the name of a member other than its author and
// the bot, and with what follows a name that one is called by.
func (s Scene) addressesMember(m chat.Message) bool {
	text := greetingPattern.ReplaceAllString(strings.TrimSpace(fold(m.Text)), "")
	bot := fold(s.BotName)
	for _, name := range s.Members {
		full := fold(name)
		first, _, _ := strings.Cut(full, " ")
		for _, n := range []string{full, first} {
			if len([]rune(n)) < 2 || n == bot || full == fold(m.Name) {
				continue
			}
			if rest, ok := strings.CutPrefix(text, n); ok && vocativePattern.MatchString(rest) {
				return true
			}
		}
	}
	return false
}

// thanks are phrases that want no answer, longest first where one begins another. A yes is not
// among them: it may answer a question.
var thanks = func() []string {
	all := []string{
		"thank you so much", "thank you very much", "thank you", "thanks so much", "thanks a lot", "thanks a bunch", "thanks again", "thanks", "many thanks", "thx", "tysm", "ty", "cheers", "much appreciated", "appreciate it", "appreciated",
		"okay", "okey", "ok", "kk", "k", "got it", "gotcha", "noted", "understood", "roger that", "roger", "ack", "will do", "sounds good", "makes sense", "fair enough", "great", "perfect", "cool", "nice", "awesome", "excellent", "lovely", "brilliant",
		"no problem", "no worries", "np", "you're welcome", "youre welcome", "yw", "my pleasure", "+1", "lgtm", "all good", "never mind", "nevermind", "nvm", "good to know", "that works", "that helps", "it works now", "for the help", "for your help", "everyone", "all", "so much", "a lot", "very much", "and", "to you",
		"了解いたしました", "了解しました", "了解です", "了解でーす", "了解", "りょうかい", "りょ", "承知いたしました", "承知しました", "承知です", "承知", "かしこまりました", "わかりました", "分かりました", "おけ", "おっけー", "オッケー", "okです",
		"ありがとうございました", "ありがとうございます", "ありがとうです", "ありがとう", "どうもありがとう", "どうも", "サンキュー", "感謝です", "感謝", "助かりました", "助かります", "助かった", "お疲れさまでした", "お疲れ様でした", "お疲れさまです", "お疲れ様です", "おつかれさまでした", "おつかれさまです", "おつかれ",
		"どういたしまして", "いえいえ", "なるほどです", "なるほど", "いいですね", "確認しました", "本当に", "ほんと", "大変", "とても", "皆さん", "みなさん",
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}()

// fillers carry no meaning beside a thanks, and are no acknowledgement alone.
var fillers = []string{"everyone", "all", "so much", "a lot", "very much", "and", "to you", "for the help", "for your help", "本当に", "ほんと", "大変", "とても", "皆さん", "みなさん"}

var emojiPattern = regexp.MustCompile(`:[\p{L}\p{N}_+'-]+(?:::skin-tone-\d)?:`)

// Acknowledges reports whether a text is nothing but thanks, an OK and the like, perhaps with emoji
// and the names of members.
func Acknowledges(text string, members []string) bool {
	rest := fold(mentionPattern.ReplaceAllString(text, " "))
	meant := emojiPattern.MatchString(rest)
	rest = emojiPattern.ReplaceAllString(rest, " ")
	for {
		rest = strings.TrimLeftFunc(rest, func(r rune) bool {
			meant = meant || unicode.Is(unicode.So, r)
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' && r != '?' || r == 'ー' || unicode.Is(unicode.Lm, r)
		})
		if rest == "" || strings.Trim(rest, "w笑") == "" {
			return meant
		}
		phrase := prefix(rest, thanks)
		if phrase != "" {
			meant = meant || !slices.Contains(fillers, phrase)
		} else if phrase = prefix(rest, folded(members)); phrase == "" {
			return false
		} else {
			rest = strings.TrimPrefix(rest[len(phrase):], "さん")
			continue
		}
		rest = rest[len(phrase):]
	}
}

// prefix is the first phrase that a text begins with, as whole words.
func prefix(text string, phrases []string) string {
	for _, p := range phrases {
		if rest, ok := strings.CutPrefix(text, p); ok && p != "" && (!endsInLatin(p) || !beginsInLatin(rest)) {
			return p
		}
	}
	return ""
}

func folded(names []string) []string {
	var all []string
	for _, n := range names {
		n = fold(n)
		first, _, _ := strings.Cut(n, " ")
		all = append(all, n, first)
	}
	return all
}
