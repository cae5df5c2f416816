package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"myao/test/peak"
)

// bomb is a file of one page, whose content is so many bytes when it is unpacked, level times.
func bomb(content string, levels int) []byte {
	data, filters := []byte(content), ""
	for range levels {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = z.Write(data)
		_ = z.Close()
		data, filters = b.Bytes(), filters+"/FlateDecode "
	}
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"+
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"+
		"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n4 0 obj<</Length %d/Filter[%s]>>stream\n%s\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF", len(data), filters, data)
}

// A file takes no more than the memory that is set aside for it, besides what compiling the reader takes, once.
func TestMemoryOfFiles(t *testing.T) {
	peak.Of(t, func() map[string]func() { return hostileFiles(t) })
}

func hostileFiles(t *testing.T) map[string]func() {
	t.Helper()
	_, _ = reader.Text(t.Context(), file("BT ET"))
	show := "BT /F1 12 Tf 50 700 Td " + strings.Repeat("(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ", 20_000) + "ET"
	cases := map[string]func(){}
	for name, f := range map[string][]byte{
		"plain":        file("BT /F1 12 Tf 50 700 Td (Next.) Tj ET"),
		"blanks":       bomb(strings.Repeat(" ", 90<<20), 1),
		"blanks twice": bomb(strings.Repeat(" ", 200<<20), 2),
		"much text":    bomb(strings.Repeat(show, 40), 1),
		"10 MiB":       append(file("BT ET"), make([]byte, 10<<20-1000)...),
		"long":         file(show, show, show, show),
	} {
		cases[name] = func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, _ = reader.Text(ctx, f)
		}
	}
	return cases
}
