// Package prompt turns a chat.Context into the texts that are sent to a model, and
// has the few texts that the bot posts without a model. After New it does no I/O. The
// clock and the time zone are passed in. A Renderer is safe for concurrent use.
//
// Templates (package templates, or files that replace them) never see raw text from
// people. Every text in their view has been through a guard. No message, name or
// memory can therefore become a heading, a rule, a message line or a code fence of the
// prompt. Only the operator's own system prompts are not changed.
package prompt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"myao/internal/chat"
	"myao/internal/conversation"
)

// Config says which templates a Renderer uses and in which time zone it writes times.
type Config struct {
	// Language is a directory of package templates: "en" or "ja". Empty means "en".
	Language string
	// Dir has files that replace the embedded files of the same name: Dir/{language}/response.tmpl,
	// or else Dir/response.tmpl. A file that no prompt uses is a fault, unless its name begins
	// with an underscore. Empty means no directory.
	Dir string
	// Location is the time zone of the times in prompts; nil means UTC.
	Location *time.Location
}

// Options is what one prompt needs besides the context.
type Options struct {
	// Now is the current time.
	Now time.Time
	// AgentPrompt is the agent's own system_prompt, which follows the persona's.
	AgentPrompt string
	// MaxDelaySeconds is the longest delay that a judgment may choose.
	MaxDelaySeconds int
	// MaxTokens is about how long a summary may be. The prompt says so; nothing here enforces it.
	MaxTokens int
	// WindowHours is how far back a short-term memory reaches, in hours.
	WindowHours int
	// Tools are the names of the tools that the model may call, or that of the reply to judge about;
	// empty if it may call none.
	Tools []string
	// ThreadAsTurns leaves the messages of a thread to answer to Turns.
	ThreadAsTurns bool `json:",omitempty"`
	// BareMention is set if the message to answer only calls the bot (see func BareMention).
	BareMention bool
	// MaxCharacters limits the characters of all messages together. 0 means as many as fit a common
	// context window.
	MaxCharacters int
	// AnswerTS is the ts of the message to answer. It is always shown, and named if it is not the
	// newest. A judgment needs none, since it is about the newest message.
	AnswerTS string
	// Pending are the ts of the messages that a judgment is about: the prompt marks them as new.
	Pending []string
	// Features are what is plain to see in the conversation to judge; nil for any other prompt. With
	// them, each message says how long ago it was sent.
	Features *conversation.Features `json:"Signals"` // as snapshots have called it
	// LastVerdict is the judge's last one on the same conversation; nil if there is none.
	LastVerdict *LastVerdict
	// Draft is a reply that is not posted yet, for a second look; empty for any other prompt. With it,
	// each message says how long ago it was sent, and Pending are those sent since the judgment.
	Draft string
	// LookedUp is what was looked up for a reply, when the model may look up no more. It stands at the
	// end of the system text.
	LookedUp []LookedUp
	// Acts is set if one of Tools acts.
	Acts bool
	// Acted is the approved call that a reply tells of; nil for any other prompt. It stands at the end of
	// the system text.
	Acted *Acted
	// Reactions are the names of the emoji that may stand for the reply; empty: none may.
	Reactions []string
	// Playbooks are those that the reply may read; empty: none.
	Playbooks []chat.Playbook `json:",omitempty"`
	// Promise is the promise that a reply keeps, or that is to be judged; nil for any other prompt. For a
	// reply, it stands at the end of the system text.
	Promise *Promise
	// VainDraft is a draft of the reply that promised something in vain; empty if there is none. It stands
	// at the end of the user turn.
	VainDraft string `json:"Promised"` // as snapshots have called it
	// FilesText is what the files of the message to answer say, and which of them are not shown, already
	// written as material. It stands under the conversation to answer.
	FilesText string
	// PictureAlone is set if the newest message to judge is nothing but a picture, and PictureShown if
	// that comes with the question.
	PictureAlone, PictureShown bool
	// Fault says why the last verdict could not be read, or the last reply could not be posted; empty for
	// the first attempt. For a reply, it stands at the end of the user turn.
	Fault string
	// Names maps user ids to display names, for mentions in texts. It may lack the authors of the
	// context's messages.
	Names map[string]string
	// BotUserID is the bot's own user id, which is shown as its name.
	BotUserID string
	// ChannelNames maps channel ids to names without "#". It has only names that the conversation
	// may know, so no private channel's.
	ChannelNames map[string]string
	// Marked leaves the marks in the system text behind which it is likely to change (see Unmark).
	Marked bool `json:"-"`
}

// stableMark ends a part of a system text that the next prompts of its kind begin with, too. No text in a prompt
// holds it.
const stableMark = "\x00"

// Unmark returns a system text without its marks, and where in it they stood, in bytes.
func Unmark(system string) (text string, stable []int) {
	parts := strings.Split(system, stableMark)
	for i, part := range parts {
		text += part
		if i < len(parts)-1 && len(text) > 0 {
			stable = append(stable, len(text))
		}
	}
	return text, stable
}

// Repeated returns how many characters of a prompt begin the one before it, too, and how many it has.
func Repeated(before, now string) (repeated, all int) {
	same := 0
	for same < len(before) && same < len(now) && before[same] == now[same] {
		same++
	}
	return utf8.RuneCountInString(strings.ToValidUTF8(now[:same], "")), utf8.RuneCountInString(now)
}

// Renderer renders prompts in one language and one time zone.
type Renderer struct {
	templates  *template.Template
	files      []file // for error messages
	guard      guard
	location   *time.Location
	notices    map[Notice]string
	directName string // what a direct message is called
	appMark    string // what follows an app's name in what was found
	transcript transcriptMarks
	judgment   string // JudgmentFingerprint
}

// transcriptMarks follow the label of a recording: made comes before its transcript, pending says that Slack is still
// writing it, and none that there is none.
type transcriptMarks struct{ made, pending, none string }

var (
	englishMarks = transcriptMarks{"(transcript by Slack; words may be misheard)",
		"(Slack has not written down yet what is said in it)", "(no transcript: nobody here knows what is said in it)"}
	japaneseMarks = transcriptMarks{"（Slack による文字起こし。聞き違いがありえます）",
		"（文字起こしはまだありません）", "（文字起こしなし。何が話されているかは分かりません）"}
)

// New parses the templates and renders each of them once. Templates that do not parse or render
// are Faults. An unknown language and an unreadable Dir are other errors.
func New(c Config) (*Renderer, error) {
	if c.Language == "" {
		c.Language = "en"
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	var faults Faults
	files, err := load(c.Language, c.Dir, &faults)
	if err != nil {
		return nil, err
	}
	r := &Renderer{
		templates: template.New("").Option("missingkey=error"),
		files:     files,
		location:  c.Location,
		notices:   map[Notice]string{},
		judgment:  judgmentFingerprint(files),
		appMark:   cmp.Or(map[string]string{"ja": "（アプリ）"}[c.Language], " (app)"),

		transcript: cmp.Or(map[string]transcriptMarks{"ja": japaneseMarks}[c.Language], englishMarks),
	}
	sources, err := embeddedSources()
	if err != nil {
		return nil, err
	}
	if !r.parse(&faults) {
		return nil, faults
	}
	for _, f := range files {
		sources = append(sources, f.source)
	}
	r.guard = newGuard(sources)
	// A mention of a direct message, which has no name, reads like its heading.
	if r.templates.Lookup("place") != nil {
		r.directName, err = r.render("place", view{Direct: true})
		faults.add(err)
	}
	r.checkTemplates(&faults)
	if len(faults) > 0 {
		return nil, faults
	}
	return r, nil
}

// parse adds a fault for each template that does not parse and replaces it with the embedded one.
// It reports whether the templates are complete, so that faults of the others can be found too.
func (r *Renderer) parse(faults *Faults) bool {
	complete := true
	for _, f := range r.files {
		if _, err := r.templates.New(f.name).Parse(f.source); err != nil {
			faults.add(fmt.Errorf("parse prompt template %s: %w", f.path, err))
			_, err := r.templates.New(f.name).Parse(f.replaced)
			// A partial that is only in Dir may define what other templates call.
			complete = complete && f.replaced != "" && err == nil
		}
	}
	return complete
}

// Response returns the prompt for a reply: the system text, and the user turn that models
// require.
func (r *Renderer) Response(c chat.Context, o Options) (system, user string, err error) {
	_, v := r.fitView(c, o, false)
	system, user, err = r.pair("response.tmpl", "response_user.tmpl", v)
	if err == nil && len(o.LookedUp) > 0 {
		var found string
		found, err = r.render("looked_up.tmpl", r.lookedUp(o))
		system += "\n\n" + found
	}
	if err == nil && o.Acted != nil {
		var acted string
		acted, err = r.render("acted.tmpl", r.acted(*o.Acted, o.MaxCharacters))
		system += "\n\n" + acted
	}
	if err == nil && o.Promise != nil {
		var kept string
		kept, err = r.render("kept.tmpl", v.Promise)
		system += "\n\n" + kept
	}
	if err == nil && o.VainDraft != "" {
		v.Draft = r.guard.text(o.VainDraft)
		var again string
		again, err = r.render("promised.tmpl", v)
		user += "\n\n" + again
	}
	if err == nil && o.Fault != "" {
		var again string
		again, err = r.render("fault.tmpl", v)
		user += "\n\n" + again
	}
	return system, user, err
}

// Judgment returns the prompt for a verdict on whether to speak. Pass the same MaxDelaySeconds to
// chat.ParseVerdict, which reads the answer.
func (r *Renderer) Judgment(c chat.Context, o Options) (system, user string, err error) {
	_, v := r.fitView(c, o, false)
	return r.pair("judgment.tmpl", "judgment_user.tmpl", v)
}

// SecondLook returns the prompt for the question whether Options.Draft should still be posted.
// chat.ParseSecondLook reads the answer.
func (r *Renderer) SecondLook(c chat.Context, o Options) (system, user string, err error) {
	_, v := r.fitView(c, o, false)
	return r.pair("second_look.tmpl", "second_look_user.tmpl", v)
}

// Promise returns the prompt for a verdict on whether Options.Promise is still to be kept.
func (r *Renderer) Promise(c chat.Context, o Options) (system, user string, err error) {
	_, v := r.fitView(c, o, false)
	return r.pair("promise.tmpl", "promise_user.tmpl", v)
}

// JudgmentFingerprint identifies the templates of a judgment: it changes with any of them.
func (r *Renderer) JudgmentFingerprint() string { return r.judgment }

func judgmentFingerprint(files []file) string {
	h := sha256.New()
	for _, f := range files {
		if strings.HasPrefix(f.name, "judgment") || strings.HasPrefix(f.name, "_") {
			fmt.Fprintf(h, "%s\x00%s\x00", f.name, f.source)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// pair renders a system text and a user turn.
func (r *Renderer) pair(systemName, userName string, v view) (system, user string, err error) {
	if system, err = r.render(systemName, v); err != nil {
		return "", "", err
	}
	if !v.marked {
		system, _ = Unmark(system)
	}
	if user, err = r.render(userName, v); err != nil {
		return "", "", err
	}
	return system, user, nil
}

// Notice names a text that the bot posts without a model.
type Notice string

// The notices, each a template of this name in notice.tmpl or stop.tmpl.
const (
	// Unanswered is posted once if a mention finally cannot be answered.
	Unanswered Notice = "unanswered"
	// OverBudget is posted once if the budget is exhausted when somebody mentions the bot.
	OverBudget Notice = "over_budget"
	// Stopped is posted when somebody has told the bot to stop, TooLate if its post was under way.
	Stopped Notice = "stopped"
	TooLate Notice = "too_late"
	// ActedDone, ActedFailed and ActedUnknown tell what came of an approved call, if no model does.
	ActedDone    Notice = "acted_done"
	ActedFailed  Notice = "acted_failed"
	ActedUnknown Notice = "acted_unknown"
)

// Notice returns the text of a notice; empty for an unknown one.
func (r *Renderer) Notice(n Notice) string { return r.notices[n] }

// Unseen returns the line that tells readers which files the model could not look at.
func (r *Renderer) Unseen(names []string) (string, error) { return r.naming("unseen.tmpl", names) }

// Unheard returns the line that tells readers which recordings have no transcript.
func (r *Renderer) Unheard(names []string) (string, error) { return r.naming("unheard.tmpl", names) }

func (r *Renderer) naming(template string, names []string) (string, error) {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = cmp.Or(cleanName(name), "?")
	}
	return r.render(template, shown)
}

// stableMarks are marks with nothing between them.
var stableMarks = regexp.MustCompile(`\s*(?:\x00\s*)+`)

var blankLines = regexp.MustCompile(`\n[ \t]*\n(?:[ \t]*\n)+`)

// render executes a template and reduces each run of blank lines to one.
func (r *Renderer) render(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := r.templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", r.fault(name, err)
	}
	text := stableMarks.ReplaceAllString(b.String(), stableMark+"\n\n")
	return strings.TrimSpace(blankLines.ReplaceAllString(text, "\n\n")), nil
}

// undefined matches text/template's errors for a template that nothing defines, whether another
// template calls it or it is executed directly.
var undefined = regexp.MustCompile(`template "([^"]+)" not defined|no template "([^"]+)" associated`)

// fault adds to an error the file that it belongs to. If a template is not defined, that is the
// file that replaced its definition.
func (r *Renderer) fault(name string, err error) error {
	if found := undefined.FindStringSubmatch(err.Error()); found != nil {
		missing := found[1] + found[2]
		for _, f := range r.files {
			if f.shouldDefine(missing) {
				return fmt.Errorf("prompt template %s: does not define %q", f.path, missing)
			}
		}
	}
	for _, f := range r.files {
		if strings.Contains(err.Error(), "template: "+f.name+":") {
			return fmt.Errorf("render prompt template %s: %w", f.path, err)
		}
	}
	return fmt.Errorf("render prompt template %s: %w", name, err)
}
