package office

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// element is a beginning or end of an element, or a text, of a part's XML. Prefixes of names are left out: of what is
// read here, no two elements differ in them alone.
type element struct {
	token xml.Token
	// within are the names of the elements around it, the innermost last. One that begins or ends is the last of them.
	within []string
}

// begins reports whether an element of one of these names begins here.
func (e element) begins(names ...string) bool {
	start, ok := e.token.(xml.StartElement)
	return ok && slices.Contains(names, start.Name.Local)
}

func (e element) ends(names ...string) bool {
	end, ok := e.token.(xml.EndElement)
	return ok && slices.Contains(names, end.Name.Local)
}

// attribute is an attribute of an element that begins here, by its name without a prefix; "" if it has none.
func (e element) attribute(name string) string {
	start, _ := e.token.(xml.StartElement)
	for _, a := range start.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relation is the attribute r:id, by which an element names another part.
func (e element) relation() string {
	start, _ := e.token.(xml.StartElement)
	for _, a := range start.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// text is a text; "" for an element.
func (e element) text() string {
	text, _ := e.token.(xml.CharData)
	return string(text)
}

// in reports whether an element of a name is around this.
func (e element) in(name string) bool { return slices.Contains(e.within, name) }

// textIn reports whether this is a text that stands in an element of one of these names, the innermost around.
func (e element) textIn(names ...string) bool {
	_, ok := e.token.(xml.CharData)
	return ok && len(e.within) > 0 && slices.Contains(names, e.within[len(e.within)-1])
}

// leftOut are elements that are skipped with their content: alternatives for older programs, text that was deleted or
// moved away, the reading of kanji, and tab stops.
var leftOut = []string{"Fallback", "tracked-changes", "moveFrom", "rPh", "tabs"}

// each calls do with the elements and texts of a part, in order. It returns ErrDamaged for XML that is broken, ErrLarge
// for one beyond a limit, and the error of do.
func (f *file) each(name string, do func(element) error) error {
	from, err := f.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	source := &tokens{from: bufio.NewReader(from)}
	decoder := xml.NewDecoder(source)
	var within []string
	omitted := 0 // how deep an element is that is left out; 0: there is none
	for {
		source.used = 0
		// Raw: one that tells namespaces keeps all that are declared around.
		token, err := decoder.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, ErrLarge) || f.ctx.Err() != nil:
			return errors.Join(f.ctx.Err(), ErrLarge)
		case err != nil:
			return ErrDamaged
		}
		ended := false
		switch t := token.(type) {
		case xml.Directive: // which office files have none of; in XML it defines entities
			return ErrDamaged
		case xml.StartElement:
			if within = append(within, t.Name.Local); len(within) > maxDepth {
				return ErrLarge
			}
			if omitted == 0 && slices.Contains(leftOut, t.Name.Local) {
				omitted = len(within)
			}
		case xml.EndElement:
			ended = true
			if len(within) == 0 || within[len(within)-1] != t.Name.Local {
				return ErrDamaged
			}
		}
		if omitted == 0 {
			if err := do(element{token, within}); err != nil {
				return err
			}
		}
		if ended {
			if omitted == len(within) {
				omitted = 0
			}
			within = within[:len(within)-1]
		}
	}
}

// tokens gives a decoder its bytes, of each token a limited number.
type tokens struct {
	from *bufio.Reader
	used int
}

func (t *tokens) ReadByte() (byte, error) {
	if t.used++; t.used > maxToken {
		return 0, ErrLarge
	}
	return t.from.ReadByte()
}

// Read is not called: a decoder reads byte by byte.
func (t *tokens) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// relations are the parts that a part names, by id. Some files have none.
func (f *file) relations(name string) (map[string]string, error) {
	found := map[string]string{}
	dir, base := path.Split(name)
	rels := dir + "_rels/" + base + ".rels"
	if f.parts[rels] == nil {
		return found, nil
	}
	err := f.each(rels, func(e element) error {
		if e.begins("Relationship") && e.attribute("TargetMode") != "External" && len(found) < maxEntries {
			target := e.attribute("Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			found[e.attribute("Id")] = strings.TrimPrefix(target, "/")
		}
		return nil
	})
	return found, err
}
