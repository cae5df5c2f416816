package gemini

import (
	"github.com/google/generative-ai-go/genai"

	"myao/internal/llm"
)

// blobs are the parts that show files, each after its name.
func blobs(files []llm.File) []genai.Part {
	var all []genai.Part
	for _, f := range files {
		all = append(all, genai.Text(f.Label()), genai.Blob{MIMEType: f.MIME, Data: f.Data})
	}
	return all
}

// filePart is a part that shows a file, or the text before it, as the transport writes it.
type filePart struct {
	Text string    `json:"text,omitempty"`
	Data *fileData `json:"inlineData,omitempty"`
}

type fileData struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

// fileParts are the same parts for the files of a result.
func fileParts(r llm.ToolResult) []any {
	if len(r.Files) == 0 {
		return nil
	}
	all := []any{filePart{Text: llm.ReturnedBy(r)}}
	for _, f := range r.Files {
		all = append(all, filePart{Text: f.Label()}, filePart{Data: &fileData{f.MIME, f.Base64()}})
	}
	return all
}
