package llm

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif" // for the size of pictures, as the next two
	_ "image/jpeg"
	_ "image/png"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// File is a picture or a document that a model is shown as such.
type File struct {
	Name string
	// MIME is image/png, image/jpeg, image/webp, image/gif or application/pdf.
	MIME string
	Data []byte
}

// Showable reports whether the file has a type that adapters take, and data.
func (f File) Showable() bool { return slices.Contains(fileTypes, f.MIME) && len(f.Data) > 0 }

// PDF is the type of the documents that models are shown; all other files are pictures.
const PDF = "application/pdf"

var fileTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif", PDF}

// maxNameShown is how many characters of a file's name a model is told.
const maxNameShown = 80

// shownName is the name on one line in quotation marks. A model may be shown it outside of material.
func (f File) shownName() string {
	name := []rune(strings.ToValidUTF8(cmp.Or(f.Name, "file"), "�"))
	return strconv.Quote(string(name[:min(len(name), maxNameShown)]))
}

// Label is the text that adapters put before a file, since most protocols have no field for its name.
func (f File) Label() string { return "File " + f.shownName() + ":" }

// NameInLabel returns the name in a text that Label made.
func NameInLabel(text string) (name string, ok bool) {
	quoted, begins := strings.CutPrefix(text, "File ")
	quoted, ends := strings.CutSuffix(quoted, ":")
	if !begins || !ends {
		return "", false
	}
	name, err := strconv.Unquote(quoted)
	return name, err == nil
}

// ReturnedBy is the text that stands before the files of a result where a protocol has no place for
// them in the result itself.
func ReturnedBy(r ToolResult) string { return "Returned by " + r.Name + " (" + r.CallID + "):" }

// PDFName is the name of a document as servers take it: some tell its type by the ending.
func (f File) PDFName() string {
	name := strings.Trim(f.shownName(), `"`)
	if strings.HasSuffix(strings.ToLower(name), ".pdf") {
		return name
	}
	return name + ".pdf"
}

// Base64 is the data as every protocol wants it.
func (f File) Base64() string { return base64.StdEncoding.EncodeToString(f.Data) }

// String describes the file for people on one line without its data: "[image: cat.png, 812×600, 120 kB]".
func (f File) String() string {
	kind, size := "image", ""
	if f.MIME == PDF {
		kind = "PDF"
	} else if c, ok := f.pixels(); ok {
		size = fmt.Sprintf(", %d×%d", c.Width, c.Height)
	}
	name := strings.Trim(f.shownName(), `"`)
	if len(f.Data) < 1000 {
		return fmt.Sprintf("[%s: %s%s, %d bytes]", kind, name, size, len(f.Data))
	}
	return fmt.Sprintf("[%s: %s%s, %d kB]", kind, name, size, (len(f.Data)+500)/1000)
}

// pixels reads the size of a picture. A decoder that a hostile one outwits has no say.
func (f File) pixels() (c image.Config, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	c, _, err := image.DecodeConfig(bytes.NewReader(f.Data))
	return c, err == nil
}

// fileFault says why no provider could be shown the files of a request; "": nothing is wrong.
func (r Request) fileFault() string {
	fault := ""
	r.eachFile(func(f File) bool {
		switch {
		case !slices.Contains(fileTypes, f.MIME):
			fault = fmt.Sprintf("the file %s has the type %.64q: want one of %s", f.shownName(), f.MIME,
				strings.Join(fileTypes, ", "))
		case len(f.Data) == 0:
			fault = fmt.Sprintf("the file %s is empty", f.shownName())
		}
		return fault == ""
	})
	return fault
}

// eachFile calls do with the files of the prompt and of the results until do returns false.
func (r Request) eachFile(do func(File) bool) {
	all := slices.Clone(r.Files)
	for _, t := range r.Turns {
		for _, result := range t.Results {
			all = append(all, result.Files...)
		}
	}
	for _, f := range all {
		if !do(f) {
			return
		}
	}
}

// ShowsFiles reports whether the request has files, with its prompt or in results.
func (r Request) ShowsFiles() bool {
	shows := false
	r.eachFile(func(File) bool { shows = true; return false })
	return shows
}

// LeaveOut returns the request with a text in place of each file for which why returns a reason,
// and the names of those files. The reason follows "it was not shown: ".
func (r Request) LeaveOut(why func(File) string) (kept Request, names []string) {
	leave := func(files []File, text string) ([]File, string) {
		var left []File
		for _, f := range files {
			reason := why(f)
			if reason == "" {
				left = append(left, f)
				continue
			}
			names = append(names, f.Name)
			text = strings.TrimSpace(text +
				fmt.Sprintf("\n\n(The file %s was not shown to you: %s. Do not guess what is in it.)", f.shownName(),
					reason))
		}
		return left, text
	}
	r.Files, r.Prompt = leave(r.Files, r.Prompt)
	r.Turns = slices.Clone(r.Turns)
	for i := range r.Turns {
		r.Turns[i].Results = slices.Clone(r.Turns[i].Results)
		for k, result := range r.Turns[i].Results {
			if len(result.Files) > 0 {
				r.Turns[i].Results[k].Files, r.Turns[i].Results[k].Text = leave(result.Files, result.Text)
			}
		}
	}
	return r, names
}

// Unseen is which files a model takes none of, as its refusals have shown.
type Unseen struct{ Pictures, Documents bool }

func (u Unseen) why(f File) string {
	switch {
	case u.Pictures && f.MIME != PDF:
		return "this model sees no pictures"
	case u.Documents && f.MIME == PDF:
		return "this model reads no PDF"
	}
	return ""
}

// LeaveOut returns the request as the model takes it, and the names of the files that it lacks.
func (u Unseen) LeaveOut(r Request) (Request, []string) { return r.LeaveOut(u.why) }

// After returns what to leave out after a refusal of a request. ok is false if its files were not the
// cause, or if none are left.
func (u Unseen) After(refused *Error, r Request) (next Unseen, ok bool) {
	pictures, documents := refused.RefusesFiles()
	if !pictures && !documents {
		return u, false
	}
	left, _ := u.LeaveOut(r)
	var has Unseen
	left.eachFile(func(f File) bool {
		has.Pictures, has.Documents = has.Pictures || f.MIME != PDF, has.Documents || f.MIME == PDF
		return true
	})
	next = Unseen{u.Pictures || pictures && has.Pictures, u.Documents || documents && has.Documents}
	return next, next != u
}

var (
	// refusesPictures matches how servers say that a model sees no pictures: OpenAI ("Invalid content
	// type. image_url is only supported by certain models."), OpenRouter ("No endpoints found that
	// support image input"), DeepSeek ("unknown variant `image_url`, expected `text`"), Ollama ("this
	// model does not support image input", "this model is missing data required for image input"),
	// vLLM ("m is not a multimodal model", "At most 0 image(s) may be provided"), llama.cpp ("image
	// input is not supported - hint: …", "Unsupported content part type: \"image_url\""), LM Studio
	// ("Model does not support images"), Gemini ("Image input modality is not enabled for models/m").
	refusesPictures = regexp.MustCompile("(?i)that support image|image_url['\"`]* is only supported|" +
		"(unknown variant|unsupported content part type:|unknown part type:|invalid content type:?) ['\"`]*image|" +
		"(n[o']t|no longer) (currently )?(support|accept|allow)s?( any)? ['\"`]*(image|picture|vision|multi-?modal)|" +
		"\\b(image|picture|vision|multi-?modal)([ _](url|inputs?|content|contents|parts?|modality))*s?['\"`]* " +
		"(is|are)( currently)?( not|n't| un) ?(currently )?(supported|enabled|available|accepted|allowed)|" +
		"\\b(image|picture|vision|multi-?modal)([ _](url|inputs?|content|contents|parts?|modality))*s?['\"`]* " +
		"unsupported|" +
		"not a (multi-?modal|vision) model|required for image input|at most 0 image")
	// refusesDocuments matches the same of PDF: Anthropic ("'m' does not support PDF input"), OpenAI
	// ("This model does not support file content types."), llama.cpp and vLLM (no part "file").
	refusesDocuments = regexp.MustCompile("(?i)that support (file|pdf|document)|" +
		"(unknown variant|unsupported content part type:|unknown part type:|invalid content type:?) " +
		"['\"`]*(file|document)|" +
		"\\bfile['\"`]* is only supported|" +
		"(n[o']t|no longer) (currently )?(support|accept|allow)s?( any)? ['\"`]*(file|pdf|document)|" +
		"\\b(file|pdf|document)([ _](inputs?|content|contents|parts?|types?))*s?['\"`]* (is|are)( currently)?( " +
		"not|n't| un) ?(currently )?(supported|enabled|available|accepted|allowed)|" +
		"document type is not|part type ['\"`]*file['\"`]* is not")
	// refusesParts matches servers that take nothing but text: Groq ("messages[0].content must be a
	// string"), DeepSeek of old ("invalid type: sequence, expected a string"), DashScope ("Unexpected
	// item type in content").
	refusesParts = regexp.MustCompile("(?i)content['\"`\\]) :]*(value )?must be a string|invalid type: sequence, " +
		"expected a string|" +
		"untagged enum ChatCompletionRequestContent|unexpected item type in content")
)

// RefusesFiles reports whether the server refuses the request because its model takes no pictures, or
// no documents, of any kind. Such a refusal costs nothing. A single file that is broken or too large is
// not meant.
func (e *Error) RefusesFiles() (pictures, documents bool) {
	if !slices.Contains(refusingStatuses, e.Status) {
		return false, false
	}
	parts := refusesParts.MatchString(e.Message)
	return parts || refusesPictures.MatchString(e.Message), parts || refusesDocuments.MatchString(e.Message)
}

// refusingStatuses are those by which servers say that a model cannot do something.
var refusingStatuses = []int{400, 404, 405, 422, 500, 501}
