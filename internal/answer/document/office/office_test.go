package office

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"myao/test/peak"
)

// packedOf makes a file of parts.
func packedOf(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range parts {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const enough = 1 << 20

func rels(targets ...string) string {
	var out strings.Builder
	for i, target := range targets {
		fmt.Fprintf(&out, `<Relationship Id="rId%d" Target="%s"/>`, i+1, target)
	}
	return "<Relationships>" + out.String() + "</Relationships>"
}

func word(body string) map[string]string {
	return map[string]string{"word/document.xml": `<?xml version="1.0"?><w:document><w:body>` + body + `</w:body></w:document>`}
}

func sheet(rows string) map[string]string {
	return map[string]string{
		"xl/workbook.xml":            `<workbook><sheets><sheet name="Plan" sheetId="1" r:id="rId1"/><sheet name="Old" state="hidden" r:id="rId2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": rels("worksheets/sheet1.xml", "/xl/worksheets/sheet2.xml"),
		"xl/sharedStrings.xml":       `<sst><si><t>what</t></si><si><r><t>a|</t></r><r><t>b</t></r><rPh><t>エー</t></rPh></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd &quot;x&quot; hh:mm"/><numFmt numFmtId="165" formatCode="[h]:mm"/>` +
			`<numFmt numFmtId="166" formatCode="[Red]0.0&quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="10"/><xf numFmtId="166"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
		"xl/worksheets/sheet2.xml": `<worksheet><sheetData><row><c t="inlineStr"><is><t>kept</t></is></c></row></sheetData></worksheet>`,
	}
}

func openDocument(body string) map[string]string {
	return map[string]string{"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": `<office:document-content><office:body>` + body + `</office:body></office:document-content>`}
}

func TestRead(t *testing.T) {
	t.Parallel()
	styled := word(`<w:p><w:pPr><w:pStyle w:val="1"/><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>計画</w:t></w:r></w:p>` +
		`<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t xml:space="preserve">We ship </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>ignore all</w:t></w:r>` +
		`<w:r><w:t>on</w:t><w:br/><w:t>Friday &amp; not</w:t><w:tab/><w:t>later</w:t><w:footnoteReference w:id="2"/></w:r></w:p>` +
		`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr><w:r><w:t>an item</w:t></w:r></w:p>` +
		`<w:moveFrom><w:r><w:t>moved away</w:t></w:r></w:moveFrom><w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>` +
		`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>who</w:t></w:r></w:p><w:p><w:r><w:t>when</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>a|b</w:t></w:r></w:p></w:tc></w:tr>` +
		`<w:tr><w:tc><w:tbl><w:tr><w:tc><w:p><w:r><w:t>in</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>side</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>` +
		`<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>a box</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>a box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent><w:r><w:drawing><pic:pic/></w:drawing></w:r>`)
	styled["word/styles.xml"] = `<w:styles><w:style w:styleId="1"><w:name w:val="heading 1"/></w:style></w:styles>`
	styled["word/footnotes.xml"] = `<w:footnotes><w:footnote w:id="-1"><w:p/></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>if all goes well</w:t></w:r></w:p></w:footnote></w:footnotes>`
	styled["word/endnotes.xml"] = `<w:endnotes><w:endnote w:id="-1"><w:p/></w:endnote></w:endnotes>`
	styled["word/comments.xml"] = `<w:comments><w:comment w:author="Ann"><w:p><w:r><w:t>really?</w:t></w:r></w:p></w:comment></w:comments>`
	slides := map[string]string{
		"ppt/presentation.xml":                  `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/><p:sldId id="258" r:id="rId3"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":       rels("slides/slide1.xml", "slides/slide2.xml", "slides/slide3.xml"),
		"ppt/slides/slide1.xml":                 `<p:sld><p:pic/></p:sld>`,
		"ppt/slides/slide2.xml":                 `<p:sld show="0"><a:p><a:r><a:t>The plan</a:t></a:r></a:p><p:pic/><a:tbl><a:tr><a:tc><a:p><a:r><a:t>x</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:sld>`,
		"ppt/slides/slide3.xml":                 `<p:sld/>`,
		"ppt/slides/_rels/slide2.xml.rels":      rels("../slideLayouts/slideLayout1.xml", "../notesSlides/notesSlide1.xml"),
		"ppt/notesSlides/notesSlide1.xml":       `<p:notes><a:p><a:r><a:t>speak slowly</a:t></a:r></a:p></p:notes>`,
		"ppt/slideLayouts/slideLayout1.xml":     `<a:p><a:r><a:t>Click to edit</a:t></a:r></a:p>`,
		"ppt/slides/_rels/slide1.xml.rels":      `<Relationships><Relationship Id="rId1" TargetMode="External" Target="https://example.com/ppt/notesSlides/x"/></Relationships>`,
		"ppt/diagrams/data1.xml":                "<x/>",
		"docProps/app.xml":                      "<x/>",
		"ppt/slideMasters/slideMaster1.xml":     "<x/>",
		"ppt/notesMasters/notesMaster1.xml":     "<x/>",
		"ppt/handoutMasters/handoutMaster1.xml": "<x/>",
	}
	cells := `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c><c r="D1" t="s"><v>99</v></c></row><row r="2"/>` +
		`<row r="3"><c r="A3" s="1"><v>45988</v></c><c r="B3" s="2"><v>45988.5</v></c><c r="C3" s="3"><v>1.25</v></c><c r="D3" s="4"><v>0.125</v></c><c r="E3" s="5"><v>0.30000000000000004</v></c>` +
		`<c r="F3" t="b"><v>1</v></c><c r="G3" t="str"><f>A1&amp;"x"</f><v>whatx</v></c><c r="H3" t="e"><v>#DIV/0!</v></c><c r="I3"><v>12345678901234567</v></c></row>`
	for name, tc := range map[string]struct {
		parts map[string]string
		want  string
	}{
		"a document of Word": {styled, "# 計画\n\nWe ship on\nFriday & not\tlater[2]\n\n  - an item\n\n| who when | a\\|b |\n|---|---|\n| in side |\n\na box\n\n" +
			"## Footnotes\n\n[2] if all goes well\n\n## Comments\n\nAnn: really?\n\n(pictures or charts that are not read: 1)"},
		"a scan": {word(`<w:p><w:r><w:drawing><pic:pic/></w:drawing></w:r></w:p>`), "(nothing but pictures, which are not read)"},
		"a presentation": {slides, "## Slide 1 (hidden)\n\nThe plan\n\n| x |\n|---|\n\n(pictures or charts that are not read: 1)\n\n(notes) speak slowly\n\n" +
			"## Slide 2\n\n(nothing but pictures, which are not read)\n\n## Slide 3\n\n(no text)"},
		"a workbook": {sheet(cells), "## Plan\n\n| what |  | a\\|b |\n|---|---|---|\n| 2025-11-27 | 2025-11-27 12:00:00 | 30:00:00 | 12.5% | 0.3 | TRUE | whatx | #DIV/0! | 12345678901234567 |\n\n## Old (hidden)\n\n| kept |\n|---|"},
		"a text of OpenDocument": {openDocument(`<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h text:outline-level="2">Plan</text:h>` +
			`<text:p>We <text:span>ship</text:span><text:s/>on<text:line-break/>Friday<text:tab/><text:a>here</text:a></text:p><text:list><text:list-item><text:p>an item</text:p></text:list-item></text:list>` +
			`<office:annotation><dc:creator>Ann</dc:creator><text:p>really?</text:p></office:annotation>`), "## Plan\n\nWe ship on\nFriday\there\n\n- an item\n\n(comment) really?"},
		"a spreadsheet of OpenDocument": {openDocument(`<office:spreadsheet><table:table table:name="Plan"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>` +
			`<table:table-cell table:number-columns-repeated="2"><text:p>b</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16381"/></table:table-row>` +
			`<table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>27/11/25</text:p></table:table-cell></table:table-row>` +
			`<table:table-row table:number-rows-repeated="1048573"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table></office:spreadsheet>`),
			"## Plan\n\n| a | b | b |\n|---|---|---|\n| 27/11/25 |\n| 27/11/25 |"},
		"a presentation of OpenDocument": {openDocument(`<draw:page><draw:frame><draw:text-box><text:p>The plan</text:p></draw:text-box></draw:frame><presentation:notes><text:p>speak slowly</text:p></presentation:notes></draw:page><draw:page><draw:frame><draw:image/></draw:frame></draw:page>`),
			"## Slide 1\n\nThe plan\n\n(notes) speak slowly\n\n## Slide 2\n\n(nothing but pictures, which are not read)"},
	} {
		got, err := Read(t.Context(), packedOf(t, tc.parts), enough)
		if err != nil || got.Text != tc.want || got.Cut {
			t.Errorf("%s: %v, cut %t\n%s\nwant\n%s", name, err, got.Cut, got.Text, tc.want)
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	entity := word(`<w:p><w:r><w:t>&bomb;</w:t></w:r></w:p>`)
	entity["word/document.xml"] = `<!DOCTYPE x [<!ENTITY bomb "boom">]>` + entity["word/document.xml"]
	locked := openDocument("")
	locked["META-INF/manifest.xml"] = `<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>`
	many := map[string]string{}
	for i := range maxEntries + 1 {
		many[fmt.Sprint(i)] = ""
	}
	shared := sheet("")
	shared["xl/sharedStrings.xml"] = strings.Repeat("<si/>", 1<<20)
	for name, tc := range map[string]struct {
		body []byte
		want error
	}{
		"an archive":               {packedOf(t, map[string]string{"a.txt": "a"}), ErrOther},
		"an old one":               {[]byte(compound + "W\x00o\x00r\x00d\x00"), ErrOld},
		"one with a password":      {[]byte(compound + "\x00E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"), ErrPassword},
		"OpenDocument, locked":     {packedOf(t, locked), ErrPassword},
		"half of one":              {packedOf(t, word("<w:p/>"))[:60], ErrDamaged},
		"no XML":                   {packedOf(t, map[string]string{"word/document.xml": "<w:p"}), ErrDamaged},
		"entities":                 {packedOf(t, entity), ErrDamaged},
		"another encoding":         {packedOf(t, map[string]string{"word/document.xml": `<?xml version="1.0" encoding="UTF-7"?><w:p/>`}), ErrDamaged},
		"a workbook without parts": {packedOf(t, map[string]string{"xl/workbook.xml": `<sheet r:id="rId1"/>`}), ErrDamaged},
		"many entries":             {packedOf(t, many), ErrLarge},
		"deep nesting":             {packedOf(t, word(strings.Repeat("<w:p>", maxDepth))), ErrLarge},
		"a large text":             {packedOf(t, word("<w:t>"+strings.Repeat("x", maxToken))), ErrLarge},
		"many shared texts":        {packedOf(t, shared), ErrLarge},
	} {
		if got, err := Read(t.Context(), tc.body, enough); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %.100q, want %v", name, err, got.Text, tc.want)
		}
	}
	if _, err := read(t.Context(), packedOf(t, word(strings.Repeat("<w:p></w:p>\n", 1000))), enough, 10_000); !errors.Is(err, ErrLarge) {
		t.Errorf("blanks without end: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ended, packedOf(t, word("<w:p/>")), enough); !errors.Is(err, context.Canceled) {
		t.Errorf("after its time: %v", err)
	}
}

// What is beyond a limit is left out, and said.
func TestBeginning(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]map[string]string{
		"paragraphs":     word(strings.Repeat("<w:p><w:r><w:t>あいう</w:t></w:r></w:p>", 100)),
		"one paragraph":  word("<w:p>" + strings.Repeat("<w:r><w:t>あいう</w:t></w:r>", 100) + "</w:p>"),
		"one cell":       word("<w:tbl><w:tr><w:tc>" + strings.Repeat("<w:p><w:r><w:t>あいう</w:t></w:r></w:p>", 100)),
		"rows":           sheet(strings.Repeat(`<row><c><v>1</v></c></row>`, 100)),
		"repeated rows":  openDocument(`<table:table><table:table-row table:number-rows-repeated="1000000"><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>`),
		"a broken end":   word("<w:p><w:r><w:t>あいう</w:t></w:r></w:p><w:p>&"),
		"a column afar":  sheet(`<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>`),
		"repeated cells": openDocument(`<table:table><table:table-row><table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`),
	} {
		limit := 100
		if name == "repeated cells" || name == "a column afar" {
			limit = enough
		}
		got, err := Read(t.Context(), packedOf(t, parts), limit)
		if err != nil || !got.Cut || len(got.Text) > 2*limit || name != "one cell" && got.Text == "" || strings.Contains(got.Text, "\ufffd") {
			t.Errorf("%s: %v, cut %t, %d bytes: %.200q", name, err, got.Cut, len(got.Text), got.Text)
		}
	}
}

// hostile are files that unpack to far more than their own size.
func hostile(t testing.TB) map[string][]byte {
	shared := sheet(`<row><c r="IV1" t="s"><v>0</v></c></row>`)
	shared["xl/sharedStrings.xml"] = "<sst>" + strings.Repeat("<si><t>abcdefgh</t></si>", maxShared/(8+sharedText)) + "</sst>"
	many := map[string]string{}
	for i := range maxEntries - 2 {
		many[fmt.Sprintf("%0200d", i)] = ""
	}
	many["word/document.xml"] = "<w:p></w:p>"
	shared["xl/worksheets/sheet1.xml"] = strings.Repeat("<row "+strings.Repeat(`a="" `, maxToken/5-10)+"></row>", 8)
	return map[string][]byte{
		"attributes and shared texts": packedOf(t, shared),
		"entries":                     packedOf(t, many),
		"cells":                       packedOf(t, word("<w:tbl><w:tr>"+strings.Repeat("<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>", 1<<17))),
	}
}

func TestMemoryOfOfficeFiles(t *testing.T) {
	peak.Of(t, func() map[string]func() {
		cases := map[string]func(){}
		for name, body := range hostile(t) {
			cases[fmt.Sprintf("%s, %d KiB", name, len(body)>>10)] = func() { _, _ = Read(t.Context(), body, enough) }
		}
		return cases
	})
}

// FuzzRead changes parts of files, and looks for panics, and for texts beyond their limit.
func FuzzRead(f *testing.F) {
	for _, part := range []string{
		`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`, `<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>`,
		`<sheet name="x" r:id="rId1"/>`, `<row><c r="B2" t="s" s="1"><v>0</v></c></row>`, `<si><t>x</t></si>`, `<xf numFmtId="164"/>`,
		`<numFmt numFmtId="164" formatCode="[h]:mm&quot;"/>`, `<Relationship Id="rId1" Target="../x"/>`, `<table:table-row table:number-rows-repeated="9"/>`,
	} {
		for i := range 4 {
			f.Add(part, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, part string, of uint8) {
		var parts map[string]string
		switch of % 4 {
		case 0:
			parts = word(part)
			parts["word/styles.xml"] = part
		case 1:
			parts = sheet(part)
			parts["xl/styles.xml"], parts["xl/sharedStrings.xml"] = "<cellXfs>"+part, part
		case 2:
			parts = map[string]string{"ppt/presentation.xml": part, "ppt/_rels/presentation.xml.rels": part, "x": part}
		case 3:
			parts = openDocument(part)
		}
		const limit = 1000
		if got, _ := Read(t.Context(), packedOf(t, parts), limit); len(got.Text) > 3*limit {
			t.Errorf("%d bytes", len(got.Text))
		}
	})
}
