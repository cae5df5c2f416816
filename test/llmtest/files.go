package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"myao/internal/llm"
)

var (
	pictureTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif"}
	// geminiTypes lack GIF (ai.google.dev/gemini-api/docs/image-understanding).
	geminiTypes = []string{"image/png", "image/jpeg", "image/webp", llm.PDF}
)

// The providers' limits of a file, in bytes, of base64 with Anthropic.
const (
	anthropicFile = 5 << 20
	anthropicPDF  = 32 << 20
	openaiFile    = 20 << 20
	geminiFile    = 20 << 20
)

// material is what the parts of a content show. The text before a file names it (llm.File.Label), and
// a text before that says to which call it belongs (llm.ReturnedBy).
type material struct {
	text        []string
	files       []llm.File
	calls       []string // the id of the call that returned a file, or ""
	label, call string
	labelled    bool
}

var returnedBy = regexp.MustCompile(`^Returned by \S+ \((.+)\):$`)

func (m *material) addText(text string) {
	if name, ok := llm.NameInLabel(text); ok {
		m.label, m.labelled = name, true
	} else if id := returnedBy.FindStringSubmatch(text); id != nil {
		m.call = id[1]
	} else {
		m.text = append(m.text, text)
	}
}

// addFile refuses what the providers refuse, and a file without a name before it.
func (m *material) addFile(mime, data string, types []string, most int) error {
	b, err := base64.StdEncoding.Strict().DecodeString(data)
	switch {
	case err != nil:
		return fmt.Errorf("invalid base64 data: %w", err)
	case len(b) == 0:
		return errors.New("could not process a file without data")
	case len(data) > most:
		return fmt.Errorf("file exceeds the maximum: %d bytes > %d bytes", len(data), most)
	case !slices.Contains(types, mime):
		return fmt.Errorf("unsupported MIME type: %q: want one of %s", mime, strings.Join(types, ", "))
	case !m.labelled:
		return errors.New("nothing says what the file is called")
	}
	m.files, m.calls = append(m.files, llm.File{Name: m.label, MIME: mime, Data: b}), append(m.calls, m.call)
	m.labelled = false
	return nil
}

func (m material) joined() string { return strings.Join(m.text, "") }

// resulting gives the files to the results of a turn that returned them.
func (m material) resulting(t *llm.Turn) {
	for i, f := range m.files {
		for k := range t.Results {
			if r := &t.Results[k]; r.CallID == m.calls[i] || len(t.Results) == 1 {
				r.Files = append(r.Files, f)
			}
		}
	}
}

// dataURL splits a URL that holds a file in base64.
func dataURL(url string) (mime, data string, err error) {
	head, data, ok := strings.Cut(url, ";base64,")
	mime, isData := strings.CutPrefix(head, "data:")
	if !ok || !isData {
		return "", "", errors.New("expected a base64-encoded data URL with an image MIME type")
	}
	return mime, data, nil
}

// openaiContent is a message's content: a string, or a list of parts.
type openaiContent struct{ material }

func (c *openaiContent) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		c.text = []string{s}
		return nil
	}
	var parts []struct {
		Type     string
		Text     string
		ImageURL struct{ URL string } `json:"image_url"`
		File     struct {
			Data string `json:"file_data"`
			Name string `json:"filename"`
		}
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	for _, p := range parts {
		url, types := p.ImageURL.URL, pictureTypes
		switch p.Type {
		case "text":
			c.addText(p.Text)
			continue
		case "image_url":
		case "file":
			if url, types = p.File.Data, []string{llm.PDF}; !strings.HasSuffix(p.File.Name, ".pdf") {
				return fmt.Errorf("expected a file with a PDF's name, got %q", p.File.Name)
			}
		default:
			return fmt.Errorf("invalid content type %q", p.Type)
		}
		mime, data, err := dataURL(url)
		if err == nil {
			err = c.addFile(mime, data, types, openaiFile)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// anthropicShown reads a content: a string, or a list of blocks.
func anthropicShown(raw json.RawMessage) (material, error) {
	var m material
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		m.text = []string{s}
		return m, nil
	}
	var blocks []struct {
		Type, Text string
		Source     struct {
			Type      string
			MediaType string `json:"media_type"`
			Data      string
		}
	}
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return m, fmt.Errorf("read content: %w", err)
	}
	for i, b := range blocks {
		types, most := pictureTypes, anthropicFile
		switch b.Type {
		case "text":
			m.addText(b.Text)
			continue
		case "image":
		case "document":
			types, most = []string{llm.PDF}, anthropicPDF
		default:
			continue
		}
		if b.Source.Type != "base64" {
			return m, fmt.Errorf("content.%d.source: unexpected type %q", i, b.Source.Type)
		}
		if err := m.addFile(b.Source.MediaType, b.Source.Data, types, most); err != nil {
			return m, fmt.Errorf("content.%d.%s.source.base64: %w", i, b.Type, err)
		}
	}
	return m, nil
}

// shown reads the texts and the files of a content.
func (c geminiContent) shown() (material, error) {
	var m material
	for _, p := range c.Parts {
		if p.Data == nil {
			if p.Text != "" {
				m.addText(p.Text)
			}
			continue
		}
		if err := m.addFile(p.Data.MIME, p.Data.Data, geminiTypes, geminiFile); err != nil {
			return m, err
		}
	}
	return m, nil
}
