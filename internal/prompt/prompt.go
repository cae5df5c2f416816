package prompt

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"

	"myao/internal/chat"
)

// Config says which templates a Renderer uses, and how it writes times.
type Config struct {
	// Language is a directory of package templates: "en" or "ja". Empty means "en".
	Language string
	// Dir holds files that replace the embedded ones of the same name: as
	// Dir/{language}/response.tmpl, else Dir/response.tmpl. A file whose name
	// nothing uses is a fault, unless it begins with an underscore. Empty means none.
	Dir string
	// Location is the zone that times are written in; nil means UTC.
	Location *time.Location
}

// Options is what one prompt needs besides the context.
type Options struct {
	// Now is the current time.
	Now time.Time
	// AgentPrompt is the agent's own system_prompt, put under the persona's.
	AgentPrompt string
	// MaxDelaySeconds is the longest delay that a judgment may choose.
	MaxDelaySeconds int
	// MaxTokens is how long a summary may be, about; it is told, and not enforced here.
	MaxTokens int
	// WindowHours is how far back a short-term memory looks, in hours.
	WindowHours int
	// BareMention is set when the message to answer only calls the bot (see BareMention).
	BareMention bool
	// MaxCharacters is how many characters all messages may have together; 0: as many as a common
	// window holds.
	MaxCharacters int
	// AnswerTS is the ts of the message to answer, which is shown however little room there
	// is, and named where it is not the newest. A judgment needs none: it is about the newest.
	AnswerTS string
	// Fault says why the last judgment could not be read; empty for the first try.
	Fault string
	// Names maps user ids to display names, for mentions in text. Authors of
	// the context's messages need not be in it.
	Names map[string]string
	// BotUserID is the bot's own user id, which is shown as its name.
	BotUserID string
	// ChannelNames maps channel ids to names without "#". It holds only what
	// the conversation may know of: a private channel's name is not put in here.
	ChannelNames map[string]string
}

// Renderer renders prompts in one language and one time zone.
type Renderer struct {
	templates *template.Template
	files     []file // for error messages
	guard     guard
	location  *time.Location
	notices   map[Notice]string
	direct    string // what a direct message is called
}

// New parses the templates and tries each of them. An unknown language, an
// unreadable Dir and templates that do not parse or render are errors; the
// last are Faults.
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
	}
	sources, err := embedded()
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
	// Without a name, a direct message is called in a text what it is called as a place.
	if r.templates.Lookup("place") != nil {
		r.direct, err = r.render("place", view{Direct: true})
		faults.add(err)
	}
	r.rehearse(&faults)
	if len(faults) > 0 {
		return nil, faults
	}
	return r, nil
}

// parse reports whether the templates can be tried: all that do not parse are faults, and
// have the embedded ones in their place, so that the others' faults are found as well.
func (r *Renderer) parse(faults *Faults) bool {
	complete := true
	for _, f := range r.files {
		if _, err := r.templates.New(f.name).Parse(f.source); err != nil {
			faults.add(fmt.Errorf("parse prompt template %s: %w", f.path, err))
			_, err := r.templates.New(f.name).Parse(f.replaced)
			// A partial that only Dir has may define what the others call.
			complete = complete && f.replaced != "" && err == nil
		}
	}
	return complete
}

// Response is the prompt for a reply: the system text, and the user turn that
// models demand.
func (r *Renderer) Response(c chat.Context, o Options) (system, user string, err error) {
	_, v := r.fitted(c, o, false)
	return r.pair("response.tmpl", "response_user.tmpl", v)
}

// Judgment is the prompt for a verdict on whether to speak. The answer is
// read by chat.ParseVerdict with the same MaxDelaySeconds.
func (r *Renderer) Judgment(c chat.Context, o Options) (system, user string, err error) {
	_, v := r.fitted(c, o, false)
	return r.pair("judgment.tmpl", "judgment_user.tmpl", v)
}

// pair renders a system text and a user turn.
func (r *Renderer) pair(systemName, userName string, v view) (system, user string, err error) {
	if system, err = r.render(systemName, v); err != nil {
		return "", "", err
	}
	if user, err = r.render(userName, v); err != nil {
		return "", "", err
	}
	return system, user, nil
}

// Notice names a text that the bot posts without a model's help.
type Notice string

// The notices, each a template of this name in notice.tmpl.
const (
	// Unanswered is said once where a mention cannot be answered for good.
	Unanswered Notice = "unanswered"
	// OverBudget is said once where a mention meets an exhausted budget.
	OverBudget Notice = "over_budget"
)

// Notice is the text of a notice, ready to be posted; empty for an unknown one.
func (r *Renderer) Notice(n Notice) string { return r.notices[n] }

var blankLines = regexp.MustCompile(`\n[ \t]*\n(?:[ \t]*\n)+`)

// render executes a template and makes each run of blank lines one.
func (r *Renderer) render(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := r.templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", r.fault(name, err)
	}
	return strings.TrimSpace(blankLines.ReplaceAllString(b.String(), "\n\n")), nil
}

// undefined is how text/template says that nothing defines a template: one that
// another calls, or the one that is to be executed.
var undefined = regexp.MustCompile(`template "([^"]+)" not defined|no template "([^"]+)" associated`)

// fault names the file to which a template's error belongs. Where a template is
// missing, that is the file which took the place of the one that defines it.
func (r *Renderer) fault(name string, err error) error {
	if found := undefined.FindStringSubmatch(err.Error()); found != nil {
		missing := found[1] + found[2]
		for _, f := range r.files {
			if f.lacks(missing) {
				return fmt.Errorf("prompt template %s: does not define %q", f.path, missing) // whoever calls it
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
