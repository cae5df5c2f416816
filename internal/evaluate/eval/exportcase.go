package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

// tell fills in the events of a case, and the people in them. Times are in whole seconds.
func (e *export) tell(c *Case, past store.Past, at time.Time) {
	index := map[string]int{} // of events, by ts; known once they are in order
	e.mask.here = map[string]bool{}
	for _, m := range past.Messages {
		index[m.TS] = -1
		e.mask.here[m.UserID] = true
	}
	type happening struct {
		at       time.Time
		message  *chat.Message
		reaction store.Reaction
	}
	var all []happening
	reactions := slices.DeleteFunc(past.Reactions, func(r store.Reaction) bool {
		_, told := index[r.TS]
		return !told || r.User == e.Bot
	})
	for i := range past.Messages {
		all = append(all, happening{at: past.Messages[i].Time(), message: &past.Messages[i]})
	}
	for _, r := range reactions[max(0, len(reactions)-(maxCaseEvents-len(all))):] {
		e.mask.here[r.User] = true
		when := r.At
		if sent := chat.Time(r.TS); when.Before(sent) {
			when = sent
		}
		all = append(all, happening{at: when, reaction: r})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return a.at.Compare(b.at) })

	from := all[0].at
	if oldest := at.Add(-maxCaseSeconds * time.Second); from.Before(oldest) {
		from = oldest
	}
	for i, h := range all {
		event := Event{At: math.Floor(max(0, h.at.Sub(from).Seconds()))}
		if h.message != nil {
			index[h.message.TS] = i
			e.message(&event, *h.message, index)
		} else {
			event.By, event.React, event.To = e.mask.person(h.reaction.User).id, e.mask.emoji(h.reaction.Name),
				new(index[h.reaction.TS])
		}
		c.Events = append(c.Events, event)
	}
	c.JudgeAt = max(math.Ceil(at.Sub(from).Seconds()), c.Events[len(c.Events)-1].At+1)
	e.people(c)
}

// message fills in the event of a message.
func (e *export) message(event *Event, m chat.Message, index map[string]int) {
	event.Text = e.mask.text(m.Text)
	if runes := []rune(event.Text); len(runes) > maxCaseText {
		event.Text = string(runes[:maxCaseText])
	}
	if m.ThreadTS != "" {
		event.Thread = new(index[m.ThreadTS])
	}
	switch {
	case m.Own:
		event.Own = true
	case m.BotID != "":
		event.App, event.By = true, e.mask.app(m).id
	default:
		event.By = e.mask.person(m.UserID).id
	}
	for _, f := range m.Files {
		event.Files = append(event.Files, anonymousFile(f))
	}
}

// anonymousFile keeps the kind of a file.
func anonymousFile(f chat.File) File {
	kind, _, _ := strings.Cut(f.MIME, "/")
	switch {
	case !mimePattern.MatchString(f.MIME):
		return File{Name: "file", MIME: "application/octet-stream"}
	case slices.Contains([]string{"image", "video", "audio"}, kind):
		return File{Name: kind, MIME: f.MIME}
	}
	return File{Name: "file", MIME: f.MIME}
}

var mimePattern = regexp.MustCompile(`^[a-z0-9.+-]+/[a-z0-9.+-]+$`)

// people fills in who is in the events: by whom they are, and whom they mention.
func (e *export) people(c *Case) {
	names := map[string]string{}
	for _, p := range e.mask.known {
		names[p.id] = p.name
	}
	seen := map[string]bool{"": true, BotID: true}
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			c.People = append(c.People, Person{ID: id, Name: names[id]})
		}
	}
	for _, event := range c.Events {
		add(event.By)
		for _, token := range markupPattern.FindAllString(event.Text, -1) {
			if id, mentioned := strings.CutPrefix(token, "<@"); mentioned {
				add(strings.TrimSuffix(id, ">"))
			}
		}
	}
}

// Line is the case as one line of a case file.
func (c Case) Line() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("write case %s: %w", c.ID, err)
	}
	return b.Bytes(), nil
}

// valid reports whether Read takes the case.
func valid(c Case) bool {
	line, err := c.Line()
	if err != nil || len(line) > lineLimit {
		return false
	}
	_, err = Read("", bytes.NewReader(line))
	return err == nil
}
