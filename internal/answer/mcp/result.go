package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // for the size of pictures, as the next three
	_ "image/jpeg"
	_ "image/png"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "golang.org/x/image/webp"

	"myao/internal/answer/tools"
	"myao/internal/llm"
)

// What is taken of one result. The rest is left out, and that is said.
const (
	maxFiles     = 4
	maxFile      = 3 << 20 // bytes
	maxPixels    = 50_000_000
	maxText      = 400_000 // bytes
	maxNameShown = 200     // characters
)

// resultOf is what a model gets of a result. Its text is not yet material.
func resultOf(r *sdk.CallToolResult) tools.Result {
	var parts []string
	result := tools.Result{Failed: r.IsError}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	show := func(kind, mime string, data []byte) {
		switch f, ok := fileOf(mime, data); {
		case !ok:
			add("(%s that cannot be shown was left out)", kind)
		case len(result.Files) >= maxFiles:
			add("(further files were left out)")
		default:
			f.Name = fmt.Sprintf("result %d", len(result.Files)+1)
			result.Files = append(result.Files, f)
		}
	}
	texts := false
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts, texts = append(parts, c.Text), true
		case *sdk.ImageContent:
			show("a picture", c.MIMEType, c.Data)
		case *sdk.AudioContent:
			add("(a sound was left out)")
		case *sdk.ResourceLink:
			add("Link to %s: %s %s", cut(c.Name, maxNameShown), c.URI, cut(c.Description, maxNameShown))
		case *sdk.EmbeddedResource:
			switch {
			case c.Resource == nil:
			case len(c.Resource.Blob) > 0:
				show("a file", c.Resource.MIMEType, c.Resource.Blob)
			default:
				add("%s:\n%s", c.Resource.URI, c.Resource.Text)
			}
		}
	}
	if !texts && r.StructuredContent != nil { // otherwise the text says the same
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	result.Text = strings.Join(parts, "\n")
	if len(result.Text) > maxText {
		result.Text = strings.ToValidUTF8(result.Text[:maxText], "") + "\n(cut here: the result is too long)"
	}
	if strings.TrimSpace(result.Text) == "" && len(result.Files) == 0 {
		result.Text = "(the result is empty)"
	}
	return result
}

// fileOf is a file as models are shown it. Its bytes say what it is.
func fileOf(mime string, data []byte) (f llm.File, ok bool) {
	defer func() {
		if recover() != nil { // of a decoder that a hostile file has outwitted
			f, ok = llm.File{}, false
		}
	}()
	if len(data) == 0 || len(data) > maxFile {
		return llm.File{}, false
	}
	if mime == llm.PDF {
		return llm.File{MIME: llm.PDF, Data: data}, bytes.HasPrefix(data, []byte("%PDF-"))
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return llm.File{}, false
	}
	return llm.File{MIME: "image/" + format, Data: data}, true
}
