package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Workspace is people, channels and what was said in them, with questions about it. Its files have
// one object a line: a person, a channel, a message or a question.
type Workspace struct {
	People    []Person
	Channels  []Place
	Messages  []Said // in order of time
	Questions []RecallQuestion
}

// Place is a channel of a Workspace. The id of a direct message begins with D.
type Place struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Private bool   `json:"private,omitempty"`
	// Shared is set if people of other companies are in it.
	Shared bool `json:"shared,omitempty"`
	// Guest is who reads it, if that is a guest of the workspace.
	Guest string `json:"guest,omitempty"`
}

// Said is a message of a Workspace.
type Said struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Channel string    `json:"channel"`
	By      string    `json:"by"`
	Text    string    `json:"text"`
	Thread  string    `json:"thread,omitempty"` // id of its thread's parent
	Deleted time.Time `json:"deleted,omitzero"` // when it was deleted; zero if it was not
}

// RecallQuestion is asked a day after the last message, in Channel and by By.
type RecallQuestion struct {
	ID      string `json:"id"`
	Lang    string `json:"lang"`
	Kind    string `json:"kind"`
	Channel string `json:"channel"`
	By      string `json:"by"`
	Text    string `json:"text"`
	// Right are the messages that have the answer. None: nothing there has it.
	Right []string `json:"right,omitempty"`
	// Wrong are messages that only look right: what is stale, or of another sense, person or time.
	Wrong []string `json:"wrong,omitempty"`
	// Hidden are the messages that have the answer and must not be seen from Channel, or were deleted.
	Hidden []string `json:"hidden,omitempty"`
}

type workspaceLine struct {
	Person   *Person         `json:"person"`
	Channel  *Place          `json:"channel"`
	Message  *Said           `json:"message"`
	Question *RecallQuestion `json:"question"`
}

// ReadWorkspace reads a workspace from all of its files. Each thing that is wrong in a line is a Fault.
func ReadWorkspace(paths ...string) (w Workspace, err error) {
	var faults []error
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return Workspace{}, err
		}
		faults = append(faults, w.read(path, file))
		_ = file.Close()
	}
	if err := errors.Join(faults...); err != nil {
		return Workspace{}, err
	}
	slices.SortStableFunc(w.Messages, func(a, b Said) int { return a.At.Compare(b.At) })
	slices.SortFunc(w.Questions, func(a, b RecallQuestion) int { return strings.Compare(a.ID, b.ID) })
	return w, w.check()
}

// read adds what a file holds.
func (w *Workspace) read(name string, r io.Reader) error {
	var faults []error
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineLimit)
	n := 1
	for ; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line workspaceLine
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&line)
		switch {
		case err != nil:
			faults = append(faults, Fault{name, n, "", err.Error()})
		case line.Person != nil:
			w.People = append(w.People, *line.Person)
		case line.Channel != nil:
			w.Channels = append(w.Channels, *line.Channel)
		case line.Message != nil:
			w.Messages = append(w.Messages, *line.Message)
		case line.Question != nil:
			w.Questions = append(w.Questions, *line.Question)
		default:
			faults = append(faults, Fault{name, n, "", "a person, a channel, a message or a question is expected"})
		}
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, Fault{name, n, "", err.Error()})
	}
	return errors.Join(faults...)
}

// check returns what is wrong across the lines.
func (w Workspace) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	people, messages, ids := map[string]bool{}, map[string]Said{}, map[string]bool{}
	unique := func(what, id string) {
		if id == "" || ids[what+id] {
			fault("%s %q: the id stands twice, or is empty", what, id)
		}
		ids[what+id] = true
	}
	for _, p := range w.People {
		unique("person", p.ID)
		people[p.ID] = true
	}
	for _, c := range w.Channels {
		unique("channel", c.ID)
	}
	for _, m := range w.Messages {
		unique("message", m.ID)
		messages[m.ID] = m
	}
	for _, q := range w.Questions {
		unique("question", q.ID)
	}
	if len(faults) > 0 || len(w.Messages) == 0 || len(w.Questions) == 0 {
		return errors.Join(append(faults, errors.New("people, channels, messages and questions are expected, each "+
			"with an id of its own"))...)
	}
	place := func(what, id, channel, by string) {
		switch c := w.place(channel); {
		case c.ID == "" || !people[by]:
			fault("%s %q: channel %q or person %q is not in the files", what, id, channel, by)
		case w.guest(by) && c.Guest != by:
			fault("%s %q: %q is a guest, and may only be in the channel that says so", what, id, by)
		}
	}
	for i, m := range w.Messages {
		place("message", m.ID, m.Channel, m.By)
		parent := messages[m.Thread]
		switch {
		case m.Text == "" || strings.ContainsAny(m.Text, "\n\\*_`<>&"):
			fault("message %q: the text is empty, or has what a prompt would write otherwise", m.ID)
		case m.Thread != "" && (parent.Channel != m.Channel || parent.Thread != "" || !parent.At.Before(m.At)):
			fault("message %q: thread %q is no earlier message at the top level of its channel", m.ID, m.Thread)
		case !m.Deleted.IsZero() && !m.Deleted.After(m.At):
			fault("message %q is deleted before it is sent", m.ID)
		}
		for _, other := range w.Messages[:i] { // otherwise a text in a prompt might be either's
			if strings.Contains(m.Text, other.Text) || strings.Contains(other.Text, m.Text) {
				fault("message %q: its text contains that of %q, or the other way round", m.ID, other.ID)
				break
			}
		}
	}
	for _, q := range w.Questions {
		place("question", q.ID, q.Channel, q.By)
		for _, id := range slices.Concat(q.Right, q.Wrong, q.Hidden) {
			m, known := messages[id]
			switch hidden, visible := slices.Contains(q.Hidden, id), w.visible(m, q.Channel); {
			case !known:
				fault("question %q: there is no message %q", q.ID, id)
			case hidden && visible:
				fault("question %q: message %q can be seen from %q, and is not hidden", q.ID, id, q.Channel)
			case !hidden && !visible:
				fault("question %q: message %q cannot be seen from %q: it is hidden", q.ID, id, q.Channel)
			}
		}
	}
	return errors.Join(faults...)
}

func (w Workspace) place(id string) Place {
	if i := slices.IndexFunc(w.Channels, func(c Place) bool { return c.ID == id }); i >= 0 {
		return w.Channels[i]
	}
	return Place{}
}

// visible reports whether readers in a channel may see a message. It is written apart from the
// store's own rule, which it checks.
func (w Workspace) visible(m Said, from string) bool {
	here, there := w.place(from), w.place(m.Channel)
	return m.Deleted.IsZero() && (here.ID == there.ID || !there.Private && !here.Shared && here.Guest == "")
}

// questionsBegin is when the first question is asked.
func (w Workspace) questionsBegin() time.Time {
	return w.Messages[len(w.Messages)-1].At.Add(24 * time.Hour)
}

// guest reports whether a person is a guest of the workspace.
func (w Workspace) guest(person string) bool {
	return slices.ContainsFunc(w.Channels, func(c Place) bool { return c.Guest == person })
}

func (p Place) direct() bool { return strings.HasPrefix(p.ID, "D") }
