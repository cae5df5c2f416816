package office

import (
	"errors"
	"strings"
)

// errFull ends the reading where the text is as long as asked for.
var errFull = errors.New("the text is long enough")

// page is the text that is written of a file, in Markdown.
type page struct {
	out   strings.Builder
	limit int
	// title is written before what is written next.
	title string
	// dropped is set if cells beyond maxColumns were left out.
	dropped bool
	// paragraph is the text of the current paragraph, mark what is written before it: that of a heading or a list item.
	paragraph strings.Builder
	mark      string
	// tables is how many tables there are around. Only the outermost is written as one.
	tables int
	cell   strings.Builder
	row    []string
	lines  int // of the table
}

func (p *page) String() string { return p.out.String() }

// say adds to the paragraph.
func (p *page) say(text string) error {
	if p.paragraph.Len()+len(text) > p.limit {
		p.paragraph.WriteString(strings.ToValidUTF8(text[:max(0, min(len(text), p.limit-p.paragraph.Len()))], ""))
		return errors.Join(p.endParagraph(), errFull)
	}
	p.paragraph.WriteString(text)
	return nil
}

// line writes a line.
func (p *page) line(text string) error {
	if title := p.title; title != "" {
		p.title = ""
		if err := p.line(title + "\n"); err != nil {
			return err
		}
	}
	if p.out.Len()+len(text) > p.limit {
		p.out.WriteString(strings.ToValidUTF8(text[:max(0, min(len(text), p.limit-p.out.Len()))], ""))
		return errFull
	}
	p.out.WriteString(text + "\n")
	return nil
}

// endParagraph writes a paragraph, in a table to the cell.
func (p *page) endParagraph() error {
	text, mark := strings.TrimSpace(p.paragraph.String()), p.mark
	p.paragraph.Reset()
	p.mark = ""
	if text == "" {
		return nil
	}
	if p.tables == 0 {
		return p.line(mark + text + "\n")
	}
	if p.cell.Len()+len(text) > p.limit {
		return errFull
	}
	if p.cell.Len() > 0 {
		p.cell.WriteByte(' ')
	}
	p.cell.WriteString(text)
	return nil
}

func (p *page) beginTable() error {
	err := p.endParagraph()
	if p.tables++; p.tables == 1 {
		p.lines = 0
	}
	return err
}

// endTable ends a table, after which a line is left empty.
func (p *page) endTable() error {
	if p.tables--; p.tables > 0 || p.lines == 0 {
		return nil
	}
	return p.line("")
}

// endCell ends a cell that stands so often side by side.
func (p *page) endCell(repeated int) error {
	err := p.endParagraph()
	if p.tables != 1 {
		return err
	}
	text := oneLine(p.cell.String())
	p.cell.Reset()
	for range max(1, repeated) {
		if len(p.row) == maxColumns {
			p.dropped = p.dropped || text != ""
			break
		}
		p.row = append(p.row, text)
	}
	return err
}

// maxColumns bounds the cells of a row, whatever stands beyond them.
const maxColumns = 256

// endRow writes a row that stands so often one below the other, unless it is empty, and below the first one the line
// that Markdown has there.
func (p *page) endRow(repeated int) error {
	if p.tables != 1 {
		return nil
	}
	row := p.row
	p.row = p.row[:0]
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return nil
	}
	var out strings.Builder
	for _, cell := range row {
		out.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		if out.Len() > p.limit {
			return errFull
		}
	}
	for range max(1, repeated) {
		text := out.String() + "|"
		if p.lines++; p.lines == 1 {
			text += "\n" + strings.Repeat("|---", len(row)) + "|"
		}
		if err := p.line(text); err != nil {
			return err
		}
	}
	return nil
}
