// Package office reads what office files say: the text of documents, the tables of spreadsheets, the slides of
// presentations, in the formats of Microsoft (ECMA-376) and of OpenDocument. It takes their XML apart while it is
// unpacked and keeps no tree of it, so that a file takes no more memory than its text, whatever it unpacks to.
package office

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
)

const (
	// maxEntries bounds the parts of a file, maxUnpacked what is unpacked of it in all, maxToken what one element or
	// text of its XML takes, in bytes, and maxDepth how deep its elements are nested.
	maxEntries  = 5000
	maxUnpacked = 48 << 20
	maxToken    = 512 << 10
	maxDepth    = 500
	// Scratch is what a file takes while it is read, beside its body, in bytes.
	Scratch = 96 << 20
)

// The errors of a file that cannot be read. Every other error is the context's.
var (
	// ErrOther is that of a file that is no office file, but may be an archive.
	ErrOther = errors.New("no office file")
	// ErrOld is that of a file of Word, Excel or PowerPoint from before 2007.
	ErrOld = errors.New("an office file of the old kind")
	// ErrPassword is that of a file that needs a password.
	ErrPassword = errors.New("needs a password")
	// ErrLarge is that of a file that unpacks to too much before any of it can be read.
	ErrLarge = errors.New("unpacks to too much")
	// ErrDamaged is that of a file whose parts are missing or broken.
	ErrDamaged = errors.New("damaged")
)

// Text is what a file says. Cut is set if that is only the beginning.
type Text struct {
	Text string
	Cut  bool
}

const (
	packed   = "PK\x03\x04"
	compound = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" // a compound file (MS-CFB)
)

// Is reports whether a file begins as office files do. Archives do so, too.
func Is(body []byte) bool {
	return bytes.HasPrefix(body, []byte(packed)) || bytes.HasPrefix(body, []byte(compound))
}

// Read reads a file: about limit bytes of its text at most. Tables are in Markdown.
func Read(ctx context.Context, body []byte, limit int) (Text, error) {
	return read(ctx, body, limit, maxUnpacked)
}

func read(ctx context.Context, body []byte, limit int, unpacked int64) (Text, error) {
	if bytes.HasPrefix(body, []byte(compound)) {
		if bytes.Contains(body, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")) {
			return Text{}, ErrPassword
		}
		return Text{}, ErrOld
	}
	if bytes.Count(body, []byte("PK\x01\x02")) > maxEntries {
		return Text{}, ErrLarge
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return Text{}, ErrDamaged
	}
	f := &file{ctx: ctx, parts: map[string]*zip.File{}, left: unpacked, page: page{limit: limit}}
	for _, part := range archive.File {
		f.parts[strings.TrimPrefix(part.Name, "/")] = part
	}
	err = f.read()
	if ctx.Err() != nil {
		return Text{}, ctx.Err()
	}
	text := Text{Text: strings.TrimSpace(f.page.String()), Cut: f.page.dropped}
	switch {
	case err == nil:
	case errors.Is(err, ErrOther), errors.Is(err, ErrPassword), text.Text == "" && !errors.Is(err, errFull):
		return Text{}, err
	default: // what came before the fault, or fits
		text.Cut = true
	}
	return text, nil
}

// file is a file that is read.
type file struct {
	ctx   context.Context
	parts map[string]*zip.File
	left  int64 // of maxUnpacked
	page  page
}

// read reads a file of any kind that has the parts of one.
func (f *file) read() error {
	switch {
	case f.parts["word/document.xml"] != nil:
		return f.word()
	case f.parts["xl/workbook.xml"] != nil:
		return f.sheets()
	case f.parts["ppt/presentation.xml"] != nil:
		return f.slides()
	case f.parts["mimetype"] != nil && f.parts["content.xml"] != nil:
		if f.encrypted() {
			return ErrPassword
		}
		return f.openDocument()
	}
	return ErrOther
}

// encrypted reports whether a file of OpenDocument needs a password.
func (f *file) encrypted() bool {
	found := false
	_ = f.each("META-INF/manifest.xml", func(e element) error {
		found = found || e.begins("encryption-data")
		return nil
	})
	return found
}

// open opens a part of the file, from which no more is read than the file may unpack to.
func (f *file) open(name string) (io.ReadCloser, error) {
	part := f.parts[name]
	if part == nil {
		return nil, ErrDamaged
	}
	opened, err := part.Open()
	if err != nil {
		return nil, ErrDamaged
	}
	return struct {
		io.Reader
		io.Closer
	}{&unpacking{f, opened}, opened}, nil
}

// unpacking reads from a part.
type unpacking struct {
	*file
	from io.Reader
}

func (u *unpacking) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	if u.left <= 0 {
		return 0, ErrLarge
	}
	n, err := u.from.Read(p[:min(int64(len(p)), u.left)])
	u.left -= int64(n)
	return n, err
}
