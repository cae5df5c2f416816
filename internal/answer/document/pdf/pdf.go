// Package pdf reads the text of PDF files. PDFium does that, compiled to WebAssembly: a hostile file
// reaches nothing but the memory that is set aside for it, and can be stopped at any time.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	// maxPages and maxCharacters bound what is read of a file.
	maxPages      = 300
	maxCharacters = 200_000
	// memoryPages is how much memory a file may take, in pages of 64 KiB. Files are read one at a time.
	memoryPages = 1536
)

// Magic is how every PDF file begins.
const Magic = "%PDF-"

// ErrUnreadable is returned for a file that is damaged, encrypted, or no PDF.
var ErrUnreadable = errors.New("the PDF cannot be read: it is damaged or needs a password")

// Reader reads PDF files. It is safe for concurrent use.
type Reader struct {
	// compiled is closed once pool or failed is set. Compiling takes seconds, so that it is begun by
	// the first file.
	begin    sync.Once
	compiled chan struct{}
	pool     pdfium.Pool
	failed   error
}

// NewReader makes a Reader.
func NewReader() *Reader { return &Reader{compiled: make(chan struct{})} }

func (r *Reader) compile() {
	defer close(r.compiled)
	runtime := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).WithMemoryLimitPages(memoryPages)
	ctx := experimental.WithMemoryAllocator(context.Background(),
		experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory {
			return &memory{make([]byte, memoryPages<<16)}
		}))
	r.pool, r.failed = webassembly.Init(webassembly.Config{Context: ctx, MaxIdle: 1, MaxTotal: 1,
		RuntimeConfig: runtime})
}

// memory is that of one file. It is there as a whole from the beginning: what grows is copied again and again,
// and takes several times as much.
type memory struct{ whole []byte }

func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.whole)) {
		return nil
	}
	return m.whole[:size]
}

func (m *memory) Free() { m.whole = nil }

// Text returns the text of a file, page by page, up to its limits. It is empty if the file has only
// pictures. It returns ErrUnreadable, or the context's error if that ends first.
func (r *Reader) Text(ctx context.Context, file []byte) (string, error) {
	r.begin.Do(func() { go r.compile() })
	select {
	case <-r.compiled:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if r.failed != nil {
		return "", fmt.Errorf("open the reader of PDF files: %w", r.failed)
	}
	instance, err := r.pool.GetInstanceWithContext(ctx)
	if err != nil {
		return "", errors.Join(ctx.Err(), fmt.Errorf("open the reader of PDF files: %w", err))
	}
	running := context.AfterFunc(ctx, func() { _ = instance.Kill() })
	text, err := read(instance, file)
	if running() {
		_ = instance.Close()
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return text, err
}

func read(instance pdfium.Pdfium, file []byte) (string, error) {
	document, err := instance.OpenDocument(&requests.OpenDocument{File: &file})
	if err != nil {
		return "", ErrUnreadable
	}
	counted, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document.Document})
	if err != nil {
		return "", ErrUnreadable
	}
	var pages []string
	characters := 0
	for i := 0; i < min(counted.PageCount, maxPages) && characters < maxCharacters; i++ {
		at := requests.Page{ByIndex: &requests.PageByIndex{Document: document.Document, Index: i}}
		page, err := instance.GetPageText(&requests.GetPageText{Page: at})
		if err != nil {
			continue // one broken page does not hide the others
		}
		if text := strings.TrimSpace(strings.ReplaceAll(page.Text, "\r\n", "\n")); text != "" {
			pages = append(pages, text)
			characters += utf8.RuneCountInString(text)
		}
	}
	return strings.Join(pages, "\n\n"), nil
}
