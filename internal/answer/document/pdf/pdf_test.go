package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// file is a PDF of one page a content.
func file(contents ...string) []byte {
	var kids, objects strings.Builder
	for i, content := range contents {
		fmt.Fprintf(&kids, "%d 0 R ", 10+2*i)
		fmt.Fprintf(&objects, "%d 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>endobj\n", 10+2*i, 11+2*i)
		fmt.Fprintf(&objects, "%d 0 obj<</Length %d>>stream\n%s\nendstream endobj\n", 11+2*i, len(content), content)
	}
	return fmt.Appendf(nil, `%%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Count %d/Kids[%s]>>endobj
3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
4 0 obj<</Type/Font/Subtype/Type0/BaseFont/KozMinPro-Regular/Encoding/UniJIS-UTF16-H/DescendantFonts[5 0 R]>>endobj
5 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/KozMinPro-Regular/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 6>>/DW 1000>>endobj
%strailer<</Root 1 0 R>>
%%%%EOF`, len(contents), kids.String(), objects.String())
}

// reader is shared, because compiling takes seconds.
var reader = NewReader()

func TestText(t *testing.T) {
	t.Parallel()
	whole := file("BT /F1 12 Tf 50 700 Td (The launch is on Friday.) Tj ET", "BT /F2 12 Tf 50 700 Td <65E5672C8A9E> Tj ET")
	for what, c := range map[string]struct {
		file []byte
		want string
		err  error
	}{
		"two pages":             {whole, "The launch is on Friday.\n\n日本語", nil},
		"only a picture":        {file("0 0 100 100 re f"), "", nil},
		"no PDF":                {[]byte("<html>hello"), "", ErrUnreadable},
		"damaged":               {whole[:60], "", ErrUnreadable},
		"nested without end":    {[]byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages " + strings.Repeat("[", 1<<20) + ">>endobj\ntrailer<</Root 1 0 R>>"), "", ErrUnreadable},
		"a tree that is a loop": {[]byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1000000/Kids[2 0 R 2 0 R]>>endobj\ntrailer<</Root 1 0 R>>"), "", nil},
	} {
		if text, err := reader.Text(t.Context(), c.file); text != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", what, text, err, c.want, c.err)
		}
	}
}

// A file that takes too long is given up, and the next one is read.
func TestAFileThatTakesTooLong(t *testing.T) {
	t.Parallel()
	if _, err := reader.Text(t.Context(), file("BT ET")); err != nil {
		t.Fatal(err)
	}
	long := "BT /F1 12 Tf " + strings.Repeat("1 0 Td (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ", 40_000) + "ET"
	slow := file(long, long, long, long, long, long, long, long)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // far less than it takes
	defer cancel()
	if _, err := reader.Text(ctx, slow); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want that it was given up", err)
	}
	if text, err := reader.Text(t.Context(), file("BT /F1 12 Tf 50 700 Td (Next.) Tj ET")); text != "Next." || err != nil {
		t.Errorf("the next file: %q, %v", text, err)
	}
}
