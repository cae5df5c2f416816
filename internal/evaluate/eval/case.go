package eval

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Target is what a person would have the bot do.
type Target string

// The targets. Either is reported and not scored.
const (
	Speak  Target = "speak"
	Silent Target = "silent"
	Either Target = "either"
)

// Case is one labelled conversation. Times are seconds from its beginning.
type Case struct {
	V        int      `json:"v"`
	ID       string   `json:"id"`
	Cluster  string   `json:"cluster,omitempty"` // of cases that resemble each other
	Lang     string   `json:"lang"`
	Category string   `json:"category"`
	Channel  Channel  `json:"channel"`
	People   []Person `json:"people"`
	Memory   Memory   `json:"memory,omitzero"`
	Events   []Event  `json:"events"`
	// JudgeAt is when the judge is asked; a played case has none.
	JudgeAt float64 `json:"judge_at,omitempty"`
	// Play has the state machine decide when the judge is asked and when it posts.
	Play bool `json:"play,omitempty"`
	// Window is from when until when a played case should post, for the target speak.
	Window  []float64 `json:"window,omitempty"`
	Target  Target    `json:"target"`
	Why     string    `json:"why,omitempty"`
	License string    `json:"license,omitempty"`
}

// Channel is where a case takes place.
type Channel struct {
	Name    string `json:"name"`
	Private bool   `json:"private,omitempty"`
}

// Person is a member of the workspace.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Memory is what the bot remembers when a case begins.
type Memory struct {
	WorkspaceLong  string `json:"workspace_long,omitempty"`
	WorkspaceShort string `json:"workspace_short,omitempty"`
	ChannelLong    string `json:"channel_long,omitempty"`
	ChannelShort   string `json:"channel_short,omitempty"`
	Thread         string `json:"thread,omitempty"`
}

// Event is a message, a reaction, an edit or a deletion. Thread, To, Edit and Delete are
// indexes of earlier messages among the case's events.
type Event struct {
	At     float64 `json:"at"`
	By     string  `json:"by,omitempty"`
	Text   string  `json:"text,omitempty"`
	Thread *int    `json:"thread,omitempty"` // of the thread's parent
	Own    bool    `json:"own,omitempty"`    // the bot's own message
	App    bool    `json:"app,omitempty"`    // an app's message
	Files  []File  `json:"files,omitempty"`
	React  string  `json:"react,omitempty"`
	To     *int    `json:"to,omitempty"`
	Edit   *int    `json:"edit,omitempty"`
	Delete *int    `json:"delete,omitempty"`
}

// File is attached to a message; its content is never read.
type File struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
}

// Message reports whether the event is a message.
func (e Event) Message() bool { return e.React == "" && e.Edit == nil && e.Delete == nil }

// Fault is what is wrong in one line of a case file.
type Fault struct {
	File string
	Line int
	// Key is the path of the value, such as events.2.at; empty for the whole line.
	Key string
	// Text says what is wrong and what is allowed.
	Text string
}

func (f Fault) Error() string {
	place := fmt.Sprintf("%s:%d: ", f.File, f.Line)
	if f.Key != "" {
		place += f.Key + ": "
	}
	return place + f.Text
}

// Faults returns the Faults of an error of Read.
func Faults(err error) []Fault {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	var faults []Fault
	for _, e := range joined.Unwrap() {
		if f, ok := errors.AsType[Fault](e); ok {
			faults = append(faults, f)
		}
	}
	return faults
}

// lineLimit is how long a line may be, in bytes.
const lineLimit = 4 << 20

// Read reads a case file: one JSON object a line; blank lines are skipped. The name stands in
// errors. All faults of the file are told together, each as a Fault.
func Read(name string, r io.Reader) ([]Case, error) {
	var cases []Case
	var faults []error
	seen := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineLimit)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		fault := func(key, format string, args ...any) {
			faults = append(faults, Fault{name, n, key, fmt.Sprintf(format, args...)})
		}
		before := len(faults)
		c, ok := decode(line, fault)
		if !ok {
			continue
		}
		c.check(fault)
		if first, known := seen[c.ID]; known {
			fault("id", "%q stands in line %d, too: each case has an id of its own", c.ID, first)
		}
		seen[c.ID] = n
		if len(faults) == before {
			cases = append(cases, c)
		}
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, Fault{name, n + 1, "", err.Error()})
	}
	if n == 0 && len(faults) == 0 {
		faults = append(faults, Fault{name, 1, "", "the file is empty: one JSON object a line is expected"})
	}
	return cases, errors.Join(faults...)
}

//go:embed case.schema.json
var schemaJSON []byte

var schema = sync.OnceValue(func() *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaJSON))
	if err != nil {
		panic(err) // it is embedded, and tested
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("case.schema.json", document); err != nil {
		panic(err)
	}
	return compiler.MustCompile("case.schema.json")
})

var english = message.NewPrinter(language.English)

// decode reads one line by the schema; ok is false where it has faults.
func decode(line []byte, fault func(key, format string, args ...any)) (c Case, ok bool) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		fault("", "not one JSON object: %v", err)
		return Case{}, false
	}
	var invalid *jsonschema.ValidationError
	if err := schema().Validate(document); errors.As(err, &invalid) {
		var found []*jsonschema.ValidationError
		leaves(invalid, func(e *jsonschema.ValidationError) { found = append(found, e) })
		slices.SortStableFunc(found, func(a, b *jsonschema.ValidationError) int { // the library visits keys in no order
			return strings.Compare(strings.Join(a.InstanceLocation, "."), strings.Join(b.InstanceLocation, "."))
		})
		for _, e := range found {
			fault(strings.Join(e.InstanceLocation, "."), "%s", e.ErrorKind.LocalizedString(english))
		}
		return Case{}, false
	}
	if err := json.Unmarshal(line, &c); err != nil {
		fault("", "%v", err)
		return Case{}, false
	}
	if c.Cluster == "" {
		c.Cluster = c.ID
	}
	return c, true
}

// leaves visits the errors that have no more specific cause.
func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		visit(e)
	}
	for _, cause := range e.Causes {
		leaves(cause, visit)
	}
}

// check finds what a schema cannot say.
func (c Case) check(fault func(key, format string, args ...any)) {
	known := func(id string) bool {
		return slices.ContainsFunc(c.People, func(p Person) bool { return p.ID == id })
	}
	for i, p := range c.People {
		if slices.IndexFunc(c.People, func(q Person) bool { return q.ID == p.ID }) != i {
			fault(fmt.Sprintf("people.%d.id", i), "%q stands there twice", p.ID)
		}
		if p.ID == BotID {
			fault(fmt.Sprintf("people.%d.id", i), "%q is the bot's own id", p.ID)
		}
	}
	first := -1.0
	for i, e := range c.Events {
		key := func(name string) string { return fmt.Sprintf("events.%d.%s", i, name) }
		earlier := func(name string, index *int) {
			if index != nil && (*index >= i || !c.Events[*index].Message()) {
				fault(key(name), "%d: the index of a message before this event is expected", *index)
			}
		}
		earlier("thread", e.Thread)
		earlier("to", e.To)
		earlier("edit", e.Edit)
		earlier("delete", e.Delete)
		if e.Thread != nil && *e.Thread < i && c.Events[*e.Thread].Thread != nil {
			fault(key("thread"), "event %d is itself in a thread: name the thread's parent", *e.Thread)
		}
		switch {
		case e.Own && (e.By != "" || e.App):
			fault(key("own"), "the bot's own message has neither by nor app")
		case e.Own, e.Edit != nil, e.Delete != nil:
		case !known(e.By):
			fault(key("by"), "%q is none of people", e.By)
		}
		if i > 0 && e.At < c.Events[i-1].At {
			fault(key("at"), "%v is before the event above, at %v", e.At, c.Events[i-1].At)
		}
		if first < 0 && e.Message() && !e.Own {
			first = e.At
		}
	}
	switch {
	case first < 0:
		fault("events", "there is no message by anybody but the bot: nothing is to be judged")
	case c.Play && c.JudgeAt != 0:
		fault("judge_at", "a played case has none")
	case !c.Play && c.JudgeAt <= first:
		fault("judge_at", "%v: a time after the first message, at %v, is expected", c.JudgeAt, first)
	}
	switch {
	case c.Window != nil && !c.Play:
		fault("window", "only a played case has one")
	case c.Window != nil && c.Window[0] > c.Window[1]:
		fault("window", "%v ends before it begins", c.Window)
	case c.Play && c.Target == Speak && c.Window == nil:
		fault("window", "missing: a played case of target speak says when it should post, in seconds")
	}
}

// BotID is the bot's user id in a case: <@UBOT> mentions it.
const BotID = "UBOT"
