package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
	"myao/internal/webpage"
)

const openLinkName = "open_link"

// maxFollowed is how many pages a reply may open whose addresses only other pages and files have. A hostile page
// could offer thousands, so that the choice among them tells its owner something.
const maxFollowed = 5

// WhereShared are the names of the tools among these that are offered where other companies read.
func WhereShared(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == openLinkName })
}

// Pages fetches pages of the web.
type Pages interface {
	// Get returns the page at an address, or a webpage.Refused.
	Get(ctx context.Context, address string) (webpage.Page, error)
}

type openLinkInput struct {
	URL string `json:"url" jsonschema:"the address, exactly as it stands in a message or in a result, with nothing added, left out or spelled differently"`
}

// address is the address without what models put around it.
func (in openLinkInput) address() string { return strings.Trim(in.URL, " \t\r\n<>") }

func openLink(s Sources) tool {
	t := defineFiles(openLinkName, "Opens a page of the web and returns its text. Only an address that somebody wrote here or that a tool has returned is opened; any other is refused, also one that you know or put together.",
		func(ctx context.Context, p Place, step string, in openLinkInput) (Result, error) {
			address, err := s.written(ctx, p, step, in.address())
			if err != nil {
				return Result{}, err
			}
			page, err := s.Pages.Get(ctx, address)
			if reason, ok := errors.AsType[*webpage.Refused](err); ok {
				return Result{}, mistake(reason.Reason)
			}
			if err != nil {
				return Result{}, err
			}
			return s.shownPage(page), nil
		})
	t.unshared = true
	return t
}

// shownPage is a page as material.
func (s Sources) shownPage(page webpage.Page) Result {
	lines := []string{"Page: " + page.URL}
	if page.Title != "" {
		lines = append(lines, "Title: "+s.Material(page.Title))
	}
	if page.Cut {
		lines = append(lines, "Only its beginning was read: it is too long.")
	}
	r := Result{}
	switch {
	case page.PDF != nil:
		name := "page.pdf"
		if u, err := url.Parse(page.URL); err == nil && strings.HasSuffix(u.Path, ".pdf") {
			name = path.Base(u.Path)
		}
		r.Files = []llm.File{{Name: name, MIME: "application/pdf", Data: page.PDF}}
		lines = append(lines, "", "It is a PDF file without text that could be read here.")
	case strings.TrimSpace(page.Text) == "":
		lines = append(lines, "", "It has no text.")
	default:
		lines = append(lines, "", s.Material(page.Text))
	}
	r.Text = strings.Join(lines, "\n")
	return r
}

// written returns the address that is to be opened for one that a model gave: one that stands in a
// message shown for this reply, or in what an earlier step has returned. Otherwise it returns a mistake.
func (s Sources) written(ctx context.Context, p Place, step, given string) (string, error) {
	shown, err := s.Shown(ctx, p.Conversation, p.Trigger)
	if err != nil {
		return "", err
	}
	steps, err := s.Store.StepsBefore(ctx, step)
	if err != nil {
		return "", err
	}
	listed, err := s.listed(ctx, p, steps)
	if err != nil {
		return "", err
	}
	var messages []string
	for _, f := range slices.Concat(shown, listed) {
		if !f.Own && !f.Deleted && (f.Channel == p.Conversation.Channel || !p.Outsiders) {
			messages = append(messages, f.Text)
		}
	}
	address, found := beforePages(messages, steps, given)
	if found {
		return address, nil
	}
	if !slices.ContainsFunc(steps, func(st store.Step) bool { return pageTool(st.Tool) && !st.Failed && inText(st.Output, given) }) {
		return "", mistake("This address stands in no message here and in no result, so that it is not opened. Give one exactly as it stands there, or do without.")
	}
	followed := 0
	for _, st := range steps {
		if _, found := beforePages(messages, steps, openedBy(st)); st.Tool == openLinkName && !found {
			followed++
		}
	}
	if followed >= maxFollowed {
		return "", mistakef("%d pages that only other pages or files link to were opened for this answer, which is the limit. Write it with what you have.", maxFollowed)
	}
	return given, nil
}

// listed are the messages that earlier steps have returned, as far as readers here may still see them.
// They are read anew, because a result does not tell what the bot itself has written.
func (s Sources) listed(ctx context.Context, p Place, steps []store.Step) (found []chat.Found, err error) {
	byChannel := map[string][]string{}
	for _, st := range steps {
		if !slices.Contains(messageTools, st.Tool) {
			continue
		}
		for _, r := range References(st.Output) {
			byChannel[r.Channel] = append(byChannel[r.Channel], r.TS)
		}
	}
	seen, err := s.Store.Seen(ctx, p.Conversation.Team, p.Conversation.Channel, slices.Collect(maps.Keys(byChannel)))
	if err != nil {
		return nil, err
	}
	for channel := range seen {
		read, err := s.Store.MessagesByTS(ctx, p.Conversation.Team, channel, byChannel[channel])
		if err != nil {
			return nil, err
		}
		for _, m := range read {
			found = append(found, chat.Found{Message: m.Message})
		}
	}
	return found, nil
}

// pageTool reports whether a tool returns what somebody outside may have written: pages and files.
func pageTool(name string) bool { return name == openLinkName || name == ReadFile }

// beforePages finds an address in messages, and in the results of steps that are neither messages nor
// pages or files: those of other programs.
func beforePages(messages []string, steps []store.Step, given string) (address string, found bool) {
	for _, text := range messages {
		if address, found := inMessage(text, given); found {
			return address, true
		}
	}
	for _, st := range steps {
		if !ownResult(st.Tool) && !st.Failed && inText(st.Output, given) && !slices.ContainsFunc(steps, func(st store.Step) bool { return asksFor(st, given) }) {
			return given, true
		}
	}
	return "", false
}

// messageTools return messages.
var messageTools = []string{"search_messages", "read_thread", "read_channel"}

// ownResult reports whether a tool returns messages, pages, files, or what the model has written itself.
func ownResult(tool string) bool {
	return slices.Contains(messageTools, tool) || pageTool(tool) || slices.Contains([]string{"remember", "forget_note", "look_again"}, tool)
}

// asksFor reports whether a call that opens no page has an address in its input. Many a program repeats
// what it was asked for, and the model could have composed that.
func asksFor(st store.Step, address string) bool {
	if st.Tool == openLinkName {
		return false
	}
	var input any
	if json.Unmarshal([]byte(st.Input), &input) != nil {
		return strings.Contains(st.Input, "://")
	}
	_, bare, _ := strings.Cut(strings.ToLower(address), "://")
	text := strings.ToLower(fmt.Sprint(input))
	unescaped, err := url.QueryUnescape(text)
	return strings.Contains(text, strings.TrimRight(bare, "/")) || err == nil && strings.Contains(unescaped, strings.TrimRight(bare, "/"))
}

// openedBy is the address that a step was asked to open.
func openedBy(st store.Step) string {
	var in openLinkInput
	_ = json.Unmarshal([]byte(st.Input), &in) // what is no input has opened nothing
	return in.address()
}
