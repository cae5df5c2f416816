package tools

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"myao/internal/answer/document/webpage"
	"myao/internal/chat"
	"myao/internal/llm"
	"myao/internal/store"
)

// maxFollowed is how many pages a reply may open whose addresses only other pages and files have. A hostile page
// could offer thousands, so that the choice among them tells its owner something.
const maxFollowed = 5

// WhereShared are the names of the tools among these that are offered where other companies read.
func WhereShared(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == chat.ToolOpenLink })
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
	t := defineFiles(chat.ToolOpenLink,
		"Opens a page of the web and returns its text. Only an address that somebody wrote here or that a tool has "+
			"returned is opened; any other is refused, also one that you know or put together.",
		func(ctx context.Context, p Place, step string, in openLinkInput) (Result, error) {
			if l, ok := chat.ParseLink(in.URL); ok && (l.Host == "" || ofSlack(l.Host)) {
				return Result{}, mistake("This is a link within Slack, which is no page of the web. Read a message " +
					"with read_thread, which takes the link as thread, and a channel with read_channel.")
			}
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
	if page.Guess != "" {
		lines = append(lines, "Read as "+page.Guess+", a guess.")
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

// written returns the address that is to be opened for one that a model gave. Otherwise it returns a mistake.
func (s Sources) written(ctx context.Context, p Place, step, given string) (string, error) {
	shown, err := s.Shown(ctx, p.Conversation, p.Trigger)
	if err != nil {
		return "", err
	}
	steps, err := s.Store.StepsBefore(ctx, step)
	if err != nil {
		return "", err
	}
	w, err := ReadWritten(ctx, s.Store, p, shown, steps)
	if err != nil {
		return "", err
	}
	address, by, err := w.Find(ctx, given)
	switch {
	case err != nil:
		return "", err
	case by == Nobody || !strings.Contains(address, "://"):
		return "", mistake("This address stands in no message here and in no result, so that it is not opened. Give " +
			"one exactly as it stands there, or do without.")
	case by != Page:
		return address, nil
	}
	followed := 0
	for _, st := range steps {
		if st.Tool != chat.ToolOpenLink {
			continue
		}
		_, by, err := w.Find(ctx, openedBy(st))
		if err != nil {
			return "", err
		}
		if by == Nobody || by == Page {
			followed++
		}
	}
	if followed >= maxFollowed {
		return "", mistakef("%d pages that only other pages or files link to were opened for this answer, which is "+
			"the limit. Write it with what you have.", maxFollowed)
	}
	return address, nil
}

// openedBy is the address that a step was asked to open.
func openedBy(st store.Step) string {
	var in openLinkInput
	_ = json.Unmarshal([]byte(st.Input), &in) // what is no input has opened nothing
	return in.address()
}
