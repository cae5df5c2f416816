package document

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"myao/internal/answer/document/pdf"
	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
)

// fakeSlack has files by id.
type fakeSlack struct {
	mu         sync.Mutex
	files      map[string]slack.File
	bodies     map[string][]byte
	infoErr    error
	bodyErr    error
	lacks      bool
	downloaded []string
	stuck      bool // until the context ends
}

func (s *fakeSlack) FileInfo(_ context.Context, id string) (slack.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[id], s.infoErr
}

func (s *fakeSlack) Download(ctx context.Context, f slack.File, limit int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.downloaded = append(s.downloaded, f.ID)
	if s.stuck {
		<-ctx.Done()
		return nil, &slack.Error{Code: "timeout", Kind: slack.Ambiguous, Method: "file.download"}
	}
	if f.Size > limit || int64(len(s.bodies[f.ID])) > limit {
		return nil, &slack.Error{Code: "file_too_large", Kind: slack.Final}
	}
	return s.bodies[f.ID], s.bodyErr
}

func (s *fakeSlack) Lacks(string) bool { return s.lacks }

// fakePDF returns what stands after the magic bytes.
type fakePDF struct{}

func (fakePDF) Text(_ context.Context, file []byte) (string, error) {
	if bytes.Contains(file, []byte("outwits")) {
		panic("index out of range")
	}
	if bytes.Contains(file, []byte("locked")) {
		return "", pdf.ErrUnreadable
	}
	return string(bytes.TrimPrefix(file, []byte(pdf.Magic))), nil
}

func reader(s Slack) *Reader {
	return New(s, fakePDF{}, func(s string) string { return s }, slog.New(slog.DiscardHandler))
}

// read reads a file of a body, with a record.
func read(t *testing.T, f slack.File, body []byte) (content, error) {
	t.Helper()
	f.ID, f.URL = "F1", cmp.Or(f.URL, "https://files.slack.com/f")
	return reader(&fakeSlack{files: map[string]slack.File{"F1": f}, bodies: map[string][]byte{"F1": body}}).read(timeout.Extend(t.Context()), chat.File{ID: "F1", Name: f.Name}, most)
}

func named(name, mime string) slack.File { return slack.File{File: chat.File{Name: name, MIME: mime}} }

func encoded(t *testing.T, m image.Image, kind string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func picture(w, h int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range min(w, h) {
		m.Set(i, i, color.NRGBA{R: uint8(i), A: 255})
	}
	return m
}

// header is a PNG that claims a size, with nothing in it.
func header(w, h uint32, depth byte) []byte {
	ihdr := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
	ihdr = append(ihdr, depth, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), ihdr...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(ihdr))
}

func TestTexts(t *testing.T) {
	t.Parallel()
	const ja = "会議は水曜日です。\nアジェンダを確認してください。テスト"
	sjis, err1 := japanese.ShiftJIS.NewEncoder().Bytes([]byte(ja))
	euc, err2 := japanese.EUCJP.NewEncoder().Bytes([]byte(ja))
	jis, err3 := japanese.ISO2022JP.NewEncoder().Bytes([]byte(ja))
	utf16le, err4 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(ja))
	utf16be, err5 := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(ja))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		file slack.File
		body []byte
		want string
	}{
		"UTF-8":               {named("a.txt", "text/plain"), []byte(ja), ja},
		"UTF-8 with a mark":   {named("a.txt", "text/plain"), []byte("\xef\xbb\xbf" + ja), ja},
		"Shift_JIS":           {named("a.txt", "text/plain"), sjis, ja},
		"EUC-JP":              {named("a.txt", "text/plain"), euc, ja},
		"ISO-2022-JP":         {named("a.txt", "text/plain"), jis, ja},
		"UTF-16LE":            {named("a.txt", "text/plain"), utf16le, ja},
		"UTF-16BE":            {named("a.txt", "text/plain"), utf16be, ja},
		"Windows-1252":        {named("a.txt", "text/plain"), []byte("caf\xe9 \x93na\xefve\x94"), "café “naïve”"},
		"HTML as it stands":   {named("a.html", "text/html"), []byte("<html><p>hi</p></html>"), "<html><p>hi</p></html>"},
		"SVG as it stands":    {named("a.svg", "image/svg+xml"), []byte("<svg><text>hi</text></svg>"), "<svg><text>hi</text></svg>"},
		"a lying picture":     {named("a.png", "image/png"), []byte("only text"), "only text"},
		"TypeScript":          {slack.File{File: chat.File{Name: "a.ts", MIME: "video/mp2t"}, Size: 9}, []byte("let a = 1"), "let a = 1"},
		"a canvas":            {slack.File{File: chat.File{Name: "Plan"}, Type: "quip"}, []byte(`<div class="quip-canvas-content"><h1>Plan</h1><p>Ship <b>it</b></p></div>`), "# Plan\n\nShip **it**"},
		"a post":              {slack.File{Mode: "post", Text: "Plan: ship it"}, nil, "Plan: ship it"},
		"an e-mail in Slack":  {slack.File{Mode: "email", Text: "Hello", URL: ""}, []byte("Hello, whole"), "Hello, whole"},
		"a picture that lies": {named("a.txt", "text/plain"), []byte("GIF89"), "GIF89"},
	} {
		if got, err := read(t, tc.file, tc.body); err != nil || got.text != tc.want || got.shown != nil {
			t.Errorf("%s: got %q, %v; want %q", name, got.text, err, tc.want)
		}
	}
}

// A text whose encoding nobody says is read as what it looks like, and the model is told that this is a guess.
func TestGuessedEncodings(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		file       slack.File
		body, want string
	}{
		"a table":         {named("a.csv", "text/csv"), "Artikel;Menge\r\nK\xe4se;12\r\nB\xe4r;3\r\n", "The file \"a.csv\" (read as Windows-1252, a guess):\n\nArtikel;Menge\r\nKäse;12\r\nBär;3\r\n"},
		"UTF-16, no mark": {named("a.csv", "text/csv"), "K\x00\xe4\x00s\x00e\x00", "The file \"a.csv\" (read as UTF-16LE, a guess):\n\nKäse"},
		"a snippet":       {slack.File{File: chat.File{Name: "a.yaml"}, Mode: "snippet"}, "imi\xea: \xa3ukasz\n", "The file \"a.yaml\" (read as Windows-1250, a guess):\n\nimię: Łukasz\n"},
		"an e-mail":       {slack.File{File: chat.File{Name: "mail"}, Mode: "email"}, "\xb7\xef\xcc\xbe: \xc5\xc4\xc3\xe6\n", "The file \"mail\" (read as EUC-JP, a guess):\n\n件名: 田中\n"},
		"a canvas":        {slack.File{File: chat.File{Name: "Plan"}, Type: "quip"}, `<div class="quip-canvas-content"><p>K` + "\xe4" + `se</p></div>`, "The file \"Plan\" (read as Windows-1252, a guess):\n\nKäse"},
		"a page":          {named("a.html", "text/html"), "<meta charset=iso-8859-2><p>\xe6", "The file \"a.html\":\n\n<meta charset=iso-8859-2><p>ć"},
		"UTF-8":           {named("a.csv", "text/csv"), "Käse", "The file \"a.csv\":\n\nKäse"},
	} {
		c.file.ID, c.file.URL = "F1", "https://files.slack.com/f"
		s := &fakeSlack{files: map[string]slack.File{"F1": c.file}, bodies: map[string][]byte{"F1": []byte(c.body)}}
		if got, _, err := reader(s).Read(timeout.Extend(t.Context()), chat.File{ID: "F1", Name: c.file.Name}); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", what, got, err, c.want)
		}
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	small, wide := encoded(t, picture(40, 30), "png"), encoded(t, picture(3136, 100), "png")
	for name, tc := range map[string]struct {
		file       slack.File
		body       []byte
		mime       string
		unchanged  bool
		w, h       int
		withPixels bool
	}{
		"a small PNG":            {file: named("a.png", "image/png"), body: small, mime: "image/png", unchanged: true, w: 40, h: 30},
		"a PNG called a text":    {file: named("a.txt", "text/plain"), body: small, mime: "image/png", unchanged: true, w: 40, h: 30},
		"a wide PNG":             {file: named("a.png", "image/png"), body: wide, mime: "image/png", w: 1568, h: 50},
		"a high JPEG":            {file: named("a.jpg", "image/jpeg"), body: encoded(t, picture(20, 2000), "jpeg"), mime: "image/jpeg", w: 15, h: 1568},
		"a JPEG called a GIF":    {file: named("a.gif", "image/gif"), body: encoded(t, picture(20, 20), "jpeg"), mime: "image/jpeg", unchanged: true, w: 20, h: 20},
		"a small GIF":            {file: named("a.gif", "image/gif"), body: encoded(t, picture(20, 20), "gif"), mime: "image/gif", unchanged: true, w: 20, h: 20},
		"a wide GIF":             {file: named("a.gif", "image/gif"), body: encoded(t, picture(1600, 16), "gif"), mime: "image/png", w: 1568, h: 15},
		"a line of a pixel":      {file: named("a.png", "image/png"), body: encoded(t, picture(20000, 1), "png"), mime: "image/png", w: 1568, h: 1},
		"a JPEG called a PDF":    {file: named("a.pdf", "application/pdf"), body: encoded(t, picture(20, 20), "jpeg"), mime: "image/jpeg", unchanged: true, w: 20, h: 20},
		"a PNG called an office": {file: slack.File{File: chat.File{Name: "a.docx"}, Size: 99}, body: small, mime: "image/png", unchanged: true, w: 40, h: 30},
	} {
		got, err := read(t, tc.file, tc.body)
		if err != nil || got.shown == nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		config, _, err := image.DecodeConfig(bytes.NewReader(got.shown.Data))
		if err != nil || got.shown.MIME != tc.mime || bytes.Equal(got.shown.Data, tc.body) != tc.unchanged || config.Width != tc.w || config.Height != tc.h {
			t.Errorf("%s: got %s of %d × %d, unchanged: %v, %v", name, got.shown.MIME, config.Width, config.Height, bytes.Equal(got.shown.Data, tc.body), err)
		}
	}
}

// A picture that is large only in bytes is written anew, so that a provider takes it.
func TestHeavyPicture(t *testing.T) {
	t.Parallel()
	m := image.NewNRGBA(image.Rect(0, 0, 1200, 1000))
	state := uint32(1)
	for i := range m.Pix {
		state = state*1664525 + 1013904223
		m.Pix[i] = byte(state >> 24)
	}
	body := encoded(t, m, "png")
	got, err := read(t, named("noise.png", "image/png"), body)
	if err != nil || len(body) <= maxBytes || len(got.shown.Data) > maxBytes || got.shown.MIME != "image/jpeg" {
		t.Errorf("of %d bytes: %v, %v", len(body), got.shown, err)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	progressive := append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc2\x00\x11\x08\x20\x00\x20\x00\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"), make([]byte, 100)...)
	for name, tc := range map[string]struct {
		file slack.File
		body []byte
		want string
	}{
		"a bomb":                  {named("a.png", "image/png"), header(60000, 60000, 8), "60000 × 60000 pixels"},
		"a bomb beyond 32 bits":   {named("a.png", "image/png"), header(1<<31-1, 1<<31-1, 8), "be read"},
		"a bomb of deep pixels":   {named("a.png", "image/png"), header(6000, 6000, 16), "6000 × 6000 pixels"},
		"a WebP bomb":             {named("a.webp", "image/webp"), []byte("RIFF\x1e\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x1f\x00\xff\x1f\x00" + "VP8 \x00\x00\x00\x00"), "8192 × 8192 pixels"},
		"a progressive bomb":      {named("a.jpg", "image/jpeg"), progressive, "8192 × 8192 pixels"},
		"half a picture":          {named("a.png", "image/png"), encoded(t, picture(400, 400), "png")[:200], "damaged"},
		"a video":                 {slack.File{File: chat.File{Name: "a.mp4", MIME: "video/mp4"}, Size: 1 << 30}, nil, "a video"},
		"a small video":           {slack.File{File: chat.File{Name: "a.mp4", MIME: "video/mp4"}, Size: 20}, []byte("\x00\x00\x00\x18ftypmp42\x00\x00"), "a video"},
		"a recording":             {named("a.m4a", "audio/mp4"), nil, "a sound recording"},
		"an office file":          {named("a.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"), []byte("PK\x03\x04"), "it is damaged"},
		"a large office file":     {slack.File{File: chat.File{Name: "a.docx"}, Size: 11 << 20}, nil, "only office files of at most 10 MiB"},
		"an old office file":      {named("a.doc", "application/msword"), []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "saved as .docx"},
		"an old one, large":       {slack.File{File: chat.File{Name: "a.xls"}, Size: 11 << 20}, nil, "saved as .docx"},
		"an archive by its name":  {named("a.zip", "application/octet-stream"), nil, "an archive"},
		"a picture nobody takes":  {named("a.heic", "image/heic"), []byte("\x00\x00\x00\x18ftypheic\x00\x00"), "do not take"},
		"a program":               {named("a", "application/octet-stream"), []byte("\x7fELF\x02\x01\x01\x00\x00"), "no text, no PDF and no picture"},
		"noise":                   {named("a.txt", "text/plain"), bytes.Repeat([]byte{0x01, 0x9d, 0x81, 0x05, 0xfe}, 100), "no text"},
		"nothing":                 {named("a.txt", "text/plain"), nil, "is empty"},
		"blanks":                  {named("a.txt", "text/plain"), []byte(" \n\t"), "has no text"},
		"a long text":             {named("a.log", "text/plain"), bytes.Repeat([]byte("x"), 5<<20), "only texts of at most 4 MiB"},
		"a long text as picture":  {named("a.png", "image/png"), bytes.Repeat([]byte("x"), 5<<20), "only texts of at most 4 MiB"},
		"a PDF as picture":        {named("a.png", "image/png"), append([]byte("%PDF-1.7"), make([]byte, 11<<20)...), "only PDF files of at most 10 MiB"},
		"a large PDF":             {slack.File{File: chat.File{Name: "a.pdf", MIME: "application/pdf"}, Size: 11 << 20}, nil, "only PDF files of at most 10 MiB"},
		"a locked PDF":            {named("a.pdf", "application/pdf"), []byte("%PDF-1.7 locked"), "needs a password"},
		"one that outwits us":     {named("a.pdf", "application/pdf"), []byte("%PDF-1.7 outwits"), "it is damaged"},
		"deleted":                 {slack.File{Deleted: true}, nil, "was deleted"},
		"on another server":       {slack.File{External: true, Mode: "external"}, nil, "another server"},
		"denied":                  {slack.File{Denied: true}, nil, "does not let this app see it"},
		"a post without its text": {slack.File{Mode: "post"}, nil, "does not give its content"},
	} {
		_, err := read(t, tc.file, tc.body)
		if refused, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(refused.Reason, tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestPDF(t *testing.T) {
	t.Parallel()
	body := []byte("%PDF-the text")
	f := named("a.bin", "application/octet-stream")
	f.ID, f.URL = "F1", "https://files.slack.com/f"
	s := &fakeSlack{files: map[string]slack.File{"F1": f}, bodies: map[string][]byte{"F1": body}}
	text, files, err := reader(s).Read(timeout.Extend(t.Context()), f.File)
	if want := "The file \"a.bin\" is shown itself. Its text:\n\nthe text"; err != nil || text != want || len(files) != 1 || files[0].MIME != "application/pdf" || !bytes.Equal(files[0].Data, body) {
		t.Errorf("got %q, %v, %v", text, files, err)
	}
}

// A long text is shown from its beginning, however it is made to keep the guard of prompts busy.
func TestLongText(t *testing.T) {
	t.Parallel()
	prompts, err := prompt.New(prompt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := named("a.txt", "text/plain")
	f.ID, f.URL = "F1", "https://files.slack.com/f"
	s := &fakeSlack{files: map[string]slack.File{"F1": f}, bodies: map[string][]byte{"F1": []byte(strings.Repeat("- ", 1<<20))}}
	text, _, err := New(s, fakePDF{}, prompts.Material, slog.New(slog.DiscardHandler)).Read(timeout.Extend(t.Context()), f.File)
	if err != nil || !strings.HasPrefix(text, `The file "a.txt", of which only the beginning could be read:`) || len(text) > maxCharacters+100 {
		t.Errorf("%d bytes, %.100s, %v", len(text), text, err)
	}
}

// What Slack answers is a reason for the model, or an error that is tried again.
func TestErrorsOfSlack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		s    *fakeSlack
		want string // "" for an error that is tried again
	}{
		"without the scope":       {&fakeSlack{infoErr: &slack.Error{Code: "missing_scope", Kind: slack.Final}}, "the scope files:read"},
		"the sign-in page":        {&fakeSlack{bodyErr: &slack.Error{Code: "missing_scope", Kind: slack.Final}}, "the scope files:read"},
		"gone":                    {&fakeSlack{infoErr: &slack.Error{Code: "file_not_found", Kind: slack.Final}}, "no longer in Slack"},
		"an address of elsewhere": {&fakeSlack{bodyErr: &slack.Error{Code: "not_slacks_address", Kind: slack.Final}}, "not_slacks_address"},
		"rate limited":            {&fakeSlack{infoErr: &slack.Error{Code: "ratelimited", Kind: slack.RateLimited}}, ""},
		"timed out":               {&fakeSlack{bodyErr: &slack.Error{Code: "timeout", Kind: slack.Ambiguous, Method: "file.download"}}, ""},
	} {
		tc.s.files = map[string]slack.File{"F1": {File: chat.File{ID: "F1"}, URL: "https://files.slack.com/f"}}
		tc.s.bodies = map[string][]byte{"F1": []byte("x")}
		_, err := reader(tc.s).read(timeout.Extend(t.Context()), chat.File{ID: "F1"}, most)
		refused, ok := errors.AsType[*Refused](err)
		if ok != (tc.want != "") || err == nil || ok && !strings.Contains(refused.Reason, tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	s := &fakeSlack{files: map[string]slack.File{"F1": {File: chat.File{ID: "F1"}, URL: "https://files.slack.com/f", Text: "the beginning"}}, bodyErr: &slack.Error{Code: "http_404", Kind: slack.Final}}
	if got, err := reader(s).read(timeout.Extend(t.Context()), chat.File{ID: "F1"}, most); err != nil || got.text != "the beginning" || !got.cut {
		t.Errorf("a snippet that cannot be downloaded: %+v, %v", got, err)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	s := &fakeSlack{files: map[string]slack.File{}, bodies: map[string][]byte{}}
	add := func(m *chat.Message, f slack.File, body []byte) {
		f.ID, f.URL = fmt.Sprintf("F%d", len(s.files)), "https://files.slack.com/f"
		s.files[f.ID], s.bodies[f.ID] = f, body
		m.Files = append(m.Files, f.File)
	}
	var m, more chat.Message
	add(&m, named("cat.png", "image/png"), encoded(t, picture(40, 30), "png"))
	add(&m, named("notes.txt", "text/plain"), []byte("ship on Friday"))
	add(&m, slack.File{File: chat.File{Name: "big.png", MIME: "image/png"}, Size: 5 << 20}, nil)
	add(&m, named("talk.mp4", "video/mp4"), nil)
	add(&m, named("fifth.txt", "text/plain"), []byte("not read"))
	heard := named("note.m4a", "audio/mp4")
	heard.Transcript.Text = "which stands at the message"
	m.Files = append(m.Files, heard.File)
	files, text := reader(s).Shown(timeout.Extend(t.Context()), chat.Conversation{}, m)
	want := "The file \"cat.png\" is shown itself.\n\nThe file \"notes.txt\":\n\nship on Friday\n\n" +
		"The file \"big.png\" is too large to be shown here: read_file may read it.\n\n" +
		"The file \"talk.mp4\" cannot be read: it is a video of which Slack has no transcript. No more is known of it than its name.\n\n" +
		"The file \"fifth.txt\" is not shown here: read_file reads it."
	if len(files) != 1 || files[0].Name != "cat.png" || text != want {
		t.Errorf("got %d files and\n%s\nwant\n%s", len(files), text, want)
	}
	add(&more, named("evil.pdf", "application/pdf"), []byte("%PDF-1.7 outwits")) // in a goroutine of its own
	add(&more, named("long.txt", "text/plain"), []byte(strings.Repeat("x", maxText+1)))
	add(&more, named("whole.txt", "text/plain"), []byte(strings.Repeat("あ", maxText)))
	if _, text := reader(s).Shown(timeout.Extend(t.Context()), chat.Conversation{}, more); !strings.Contains(text, `"long.txt" is too long`) || strings.Count(text, "あ") != maxText {
		t.Errorf("got %.300s", text)
	}
	for name, s := range map[string]*fakeSlack{"without the scope": {lacks: true}, "no file": {}} {
		if name == "no file" {
			m.Files = nil
		}
		if files, text := reader(s).Shown(timeout.Extend(t.Context()), chat.Conversation{}, m); files != nil || text != "" {
			t.Errorf("%s: %v, %q", name, files, text)
		}
	}
}

// A reply does not wait for a file that does not come.
func TestShownInTime(t *testing.T) {
	t.Parallel()
	f := named("slow.txt", "text/plain")
	f.ID, f.URL = "F1", "https://files.slack.com/f"
	s := &fakeSlack{files: map[string]slack.File{"F1": f}, stuck: true}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if files, text := reader(s).Shown(ctx, chat.Conversation{}, chat.Message{Files: []chat.File{f.File}}); files != nil || !strings.Contains(text, "in time: read_file reads it") {
		t.Errorf("got %v, %q", files, text)
	}
}
