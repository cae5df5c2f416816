package office

import (
	"strconv"
	"strings"
	"time"
)

const (
	// maxShared bounds the texts that the cells of a workbook share, in bytes, with what each takes beside its text.
	maxShared  = 16 << 20
	sharedText = 24
)

// workbook is what all sheets of a workbook of Excel share.
type workbook struct {
	texts []string
	// formats are those of cells that show a number as something else, by their place among all formats.
	formats map[int]format
	since   time.Time // the day of number 0
}

// format is what a format shows of a number: a date, a time, hundredths.
type format struct{ day, clock, percent bool }

// sheets reads a workbook of Excel: what its cells show, as far as that is kept. Formulas are not calculated again.
func (f *file) sheets() error {
	const name = "xl/workbook.xml"
	parts, err := f.relations(name)
	if err != nil {
		return err
	}
	book := workbook{since: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC), formats: map[int]format{}}
	type sheet struct{ title, part string }
	var all []sheet
	if err := f.each(name, func(e element) error {
		switch {
		case e.begins("workbookPr") && (e.attribute("date1904") == "1" || e.attribute("date1904") == "true"):
			book.since = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		case e.begins("sheet") && len(all) < maxEntries:
			title := "## " + oneLine(e.attribute("name"))
			if state := e.attribute("state"); state != "" && state != "visible" {
				title += " (hidden)"
			}
			all = append(all, sheet{title, parts[e.relation()]})
		}
		return nil
	}); err != nil {
		return err
	}
	if err := f.shared(&book); err != nil {
		return err
	}
	for _, s := range all {
		f.page.title = s.title
		if err := f.sheet(s.part, &book); err != nil {
			return err
		}
		f.page.title = ""
	}
	return nil
}

// shared reads the texts and formats that cells refer to.
func (f *file) shared(book *workbook) error {
	if f.parts["xl/sharedStrings.xml"] != nil {
		size, text := 0, strings.Builder{}
		if err := f.each("xl/sharedStrings.xml", func(e element) error {
			switch {
			case e.ends("si"):
				size += text.Len() + sharedText
				book.texts = append(book.texts, text.String())
				text = strings.Builder{}
			case e.textIn("t"):
				text.WriteString(e.text())
			}
			if size+text.Len() > maxShared {
				return ErrLarge
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if f.parts["xl/styles.xml"] == nil {
		return nil
	}
	written, n := map[string]string{}, 0
	return f.each("xl/styles.xml", func(e element) error {
		switch {
		case e.begins("numFmt") && len(written) < maxEntries:
			written[e.attribute("numFmtId")] = e.attribute("formatCode")
		case e.begins("xf") && e.in("cellXfs"):
			id := e.attribute("numFmtId")
			if shows := formatOf(number(id), written[id]); shows != (format{}) && len(book.formats) < maxEntries {
				book.formats[n] = shows
			}
			n++
		}
		return nil
	})
}

// formatOf says what a format shows: one of those that Excel knows by number (ECMA-376, part 1, 18.8.30), or one that
// is written out, such as yyyy/mm/dd.
func formatOf(id int, code string) format {
	switch {
	case code != "":
		return formatIn(code)
	case id == 9, id == 10:
		return format{percent: true}
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 58:
		return format{day: true}
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id >= 45 && id <= 47:
		return format{clock: true}
	case id == 22:
		return format{day: true, clock: true}
	}
	return format{}
}

// formatIn reads a format that is written out.
func formatIn(code string) (shows format) {
	quoted := false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\' || c == '_' || c == '*': // what follows stands for itself
			i++
		case c == ';': // of negative numbers
			return shows
		case c == '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return shows
			}
			if strings.Trim(strings.ToLower(code[i+1:i+end]), "hms") == "" {
				shows.clock = true
			}
			i += end
		case c == '%':
			shows.percent = true
		case strings.IndexByte("yYdD", c) >= 0:
			shows.day = true
		case strings.IndexByte("hHsS", c) >= 0:
			shows.clock = true
		}
	}
	return shows
}

// sheet reads a sheet: one table.
func (f *file) sheet(name string, book *workbook) error {
	p := &f.page
	if err := p.beginTable(); err != nil {
		return err
	}
	var kind string
	var format, column int
	err := f.each(name, func(e element) error {
		switch {
		case e.begins("c"):
			kind, format = e.attribute("t"), number(e.attribute("s"))
			if at := columnOf(e.attribute("r")); at > 0 {
				column = at - 1
			}
			for len(p.row) < min(column, maxColumns) {
				p.row = append(p.row, "")
			}
		case e.ends("c"):
			column++
			return p.endCell(1)
		case e.ends("row"):
			column = 0
			return p.endRow(1)
		case e.textIn("t"):
			return p.say(e.text())
		case e.textIn("v"):
			return p.say(book.shown(e.text(), kind, format))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.endTable()
}

// columnOf is the number of the column of a cell, such as 28 for AB7; 0 if there is none.
func columnOf(cell string) int {
	n := 0
	for _, c := range cell {
		if c < 'A' || c > 'Z' || n > 1<<14 {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n
}

// shown is the value of a cell as people see it, nearly.
func (b *workbook) shown(value, kind string, format int) string {
	switch kind {
	case "s":
		if i := number(value); i >= 0 && i < len(b.texts) {
			return b.texts[i]
		}
		return ""
	case "b":
		if value == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "", "n":
		return b.numbered(value, format)
	}
	return value
}

// numbered is a number of a cell, a date where its format shows one. The rest of its format does not count.
func (b *workbook) numbered(value string, format int) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	const year10000 = 2_958_466
	shows := b.formats[format]
	switch {
	case shows.percent:
		return rounded(n*100) + "%"
	case !shows.day && !shows.clock, n < 0, n >= year10000:
		if !strings.ContainsAny(value, ".eE") {
			return value
		}
		return rounded(n)
	}
	days := int(n)
	seconds := int((n-float64(days))*86_400 + 0.5)
	at := b.since.AddDate(0, 0, days).Add(time.Duration(seconds) * time.Second)
	switch {
	case shows.day && shows.clock:
		return at.Format("2006-01-02 15:04:05")
	case shows.day:
		return at.Format("2006-01-02")
	}
	return strconv.Itoa(days*24+seconds/3600) + at.Format(":04:05") // which may be a duration
}

// rounded writes a number with the fifteen digits that Excel keeps.
func rounded(n float64) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}
