package office

import (
	"fmt"
	"strconv"
	"strings"
)

// walker writes paragraphs and tables of parts to a page: of Word (w:), of drawings (a:), which slides are made of, and
// of OpenDocument (text:, table:), whose elements have the same names or others, but none that mean something else.
type walker struct {
	*page
	headings map[string]string // the marks of headings, by the ids of Word's styles
	prefix   string            // of the paragraphs of a part
	by       string            // of a comment, or the number of a note
	hidden   bool              // the run of text is not shown to people
	columns  int               // how often the cell stands side by side
	rows     int               // how often the row stands one below the other
	pictures int               // charts and diagrams included
	lists    int               // how many lists there are around
	slide    int               // the number of the slide
	begun    int               // how long the page was where it began
}

// prose reads a part.
func (f *file) prose(name string, w *walker) error {
	if err := f.each(name, w.do); err != nil {
		return err
	}
	return w.endParagraph()
}

func (w *walker) do(e element) error {
	switch {
	case e.begins("p", "h"), e.ends("p", "h"):
		return w.aroundParagraph(e)
	case e.begins("tbl", "table"):
		if title := e.attribute("name"); w.tables == 0 && e.in("spreadsheet") {
			w.title = "## " + oneLine(title)
		}
		return w.beginTable()
	case e.ends("tbl", "table"):
		return w.endTable()
	case e.begins("tr", "table-row") && w.tables == 1:
		w.rows = number(e.attribute("number-rows-repeated"))
	case e.ends("tr", "table-row"):
		return w.endRow(w.rows)
	case e.begins("tc", "table-cell", "covered-table-cell") && w.tables == 1:
		w.columns = number(e.attribute("number-columns-repeated"))
	case e.ends("tc", "table-cell", "covered-table-cell"):
		return w.endCell(w.columns)
	case e.begins("sld", "page"):
		return w.beginSlide(e)
	case e.ends("sld", "page"):
		return w.endPictures()
	case e.begins("pic", "image", "chart", "relIds", "object"):
		w.pictures++
	case e.begins("footnote", "endnote"):
		w.by = "[" + e.attribute("id") + "] "
	case e.begins("comment"):
		w.by = oneLine(e.attribute("author")) + ": "
	default:
		return w.inParagraph(e)
	}
	return nil
}

// aroundParagraph ends the paragraph before, and marks the one that begins.
func (w *walker) aroundParagraph(e element) error {
	err := w.endParagraph()
	w.mark = w.prefix + w.by
	switch {
	case e.ends("p", "h"):
		w.by = ""
	case e.begins("h"):
		w.mark = heading(number(e.attribute("outline-level")))
	case e.in("annotation"):
		w.mark = "(comment) "
	case e.in("notes"):
		w.mark = "(notes) "
	case w.lists > 0:
		w.mark = listed(w.lists - 1)
	}
	return err
}

// inParagraph reads the text of a paragraph, and its looks.
func (w *walker) inParagraph(e element) error {
	switch {
	case e.begins("pStyle"):
		w.mark += w.headings[e.attribute("val")]
	case e.begins("ilvl") && w.mark == "":
		w.mark = listed(number(e.attribute("val")))
	case e.begins("list"):
		w.lists++
	case e.ends("list"):
		w.lists--
	case e.begins("r"):
		w.hidden = false
	case e.begins("vanish"):
		w.hidden = e.attribute("val") != "0" && e.attribute("val") != "false"
	case e.begins("tab"):
		return w.say("\t")
	case e.begins("br", "cr", "line-break"):
		return w.say("\n")
	case e.begins("noBreakHyphen"):
		return w.say("-")
	case e.begins("s"):
		return w.say(" ")
	case e.begins("footnoteReference", "endnoteReference"):
		return w.say("[" + e.attribute("id") + "]")
	case w.speaks(e):
		return w.say(e.text())
	}
	return nil
}

// speaks reports whether a text is what people read. That of Microsoft stands in elements of its own, that of
// OpenDocument in its paragraphs.
func (w *walker) speaks(e element) bool {
	if e.textIn("t") {
		return !w.hidden
	}
	return e.textIn("p", "h", "span", "a", "note-citation") &&
		(strings.TrimSpace(e.text()) != "" || !strings.Contains(e.text(), "\n"))
}

func (w *walker) beginSlide(e element) error {
	w.slide++
	title := fmt.Sprintf("## Slide %d", w.slide)
	if e.attribute("show") == "0" {
		title += " (hidden)"
	}
	err := w.line(title + "\n")
	w.begun = w.out.Len()
	return err
}

// endPictures ends a slide or a document: it says how many pictures were left out, or that there was nothing else.
func (w *walker) endPictures() error {
	err := w.endParagraph()
	n, alone := w.pictures, w.out.Len() == w.begun
	w.pictures = 0
	switch {
	case err != nil:
		return err
	case alone && n > 0:
		return w.line("(nothing but pictures, which are not read)\n")
	case alone && w.slide > 0:
		return w.line("(no text)\n")
	case n > 0:
		return w.line(fmt.Sprintf("(pictures or charts that are not read: %d)\n", n))
	}
	return nil
}

// heading is the mark of a heading of a level, counted from 1; "" for any other level.
func heading(level int) string {
	if level < 1 {
		return ""
	}
	return strings.Repeat("#", min(level, 6)) + " "
}

// listed is the mark of a list item. The outermost list has level 0.
func listed(level int) string { return strings.Repeat("  ", max(0, min(level, 9))) + "- " }

// number reads a number; anything else is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// word reads a document of Word.
func (f *file) word() error {
	w := &walker{page: &f.page, headings: map[string]string{}}
	if f.parts["word/styles.xml"] != nil {
		if err := f.styles(w.headings); err != nil {
			return err
		}
	}
	for _, part := range []struct{ name, title string }{
		{"word/document.xml", ""}, {"word/footnotes.xml", "## Footnotes"}, {"word/endnotes.xml", "## Endnotes"},
		{"word/comments.xml", "## Comments"},
	} {
		if f.parts[part.name] == nil {
			continue
		}
		f.page.title = part.title
		if err := f.prose(part.name, w); err != nil {
			return err
		}
	}
	return w.endPictures()
}

// styles reads which styles of a document are those of headings. Their ids are in the language of whoever made it,
// their names are not.
func (f *file) styles(headings map[string]string) error {
	id := ""
	return f.each("word/styles.xml", func(e element) error {
		switch {
		case e.begins("style"):
			id = e.attribute("styleId")
		case e.begins("name") && e.in("style") && len(headings) < maxEntries:
			if level, ok := strings.CutPrefix(strings.ToLower(e.attribute("val")), "heading "); ok {
				headings[id] = heading(number(level))
			}
		}
		return nil
	})
}

// openDocument reads a text, a spreadsheet or a presentation of OpenDocument.
func (f *file) openDocument() error {
	w := &walker{page: &f.page}
	if err := f.prose("content.xml", w); err != nil {
		return err
	}
	return w.endPictures()
}

// slides reads a presentation of PowerPoint, its slides in order, each with its notes.
func (f *file) slides() error {
	const presentation = "ppt/presentation.xml"
	parts, err := f.relations(presentation)
	if err != nil {
		return err
	}
	var order []string
	if err := f.each(presentation, func(e element) error {
		if e.begins("sldId") && len(order) < maxEntries {
			order = append(order, parts[e.relation()])
		}
		return nil
	}); err != nil {
		return err
	}
	w := &walker{page: &f.page}
	for _, slide := range order {
		if err := f.prose(slide, w); err != nil {
			return err
		}
		beside, err := f.relations(slide)
		if err != nil {
			return err
		}
		for _, part := range beside {
			if strings.HasPrefix(part, "ppt/notesSlides/") && f.parts[part] != nil {
				notes := &walker{page: &f.page, prefix: "(notes) "}
				if err := f.prose(part, notes); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
