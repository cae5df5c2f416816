package llm

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	keyPattern = regexp.MustCompile(`^\s*([A-Za-z_]\w*)\s*=\s*`)
	gemmaEnd   = regexp.MustCompile(`<tool_call\|>|<end_function_call>`)
	gemmaQuote = regexp.MustCompile(`<\|"\|>|<escape>`)
	gemmaKey   = regexp.MustCompile(`([{,]\s*)([A-Za-z_]\w*)\s*:`)
)

// list reads calls as Python writes them in a list.
func (p scanner) list(at int, wanted bool) (calls []writtenCall, end int, ok bool) {
	if !wanted && !p.plausible(p.text[at:]) || p.text[at] != '[' {
		return nil, at, false
	}
	for end = at + 1; ; {
		end = p.skip(end, " ,\t\r\n")
		if strings.HasPrefix(p.text[end:], "]") {
			return calls, end + 1, len(calls) > 0
		}
		name := namePattern.FindStringSubmatch(p.text[end:])
		if name == nil || !strings.HasPrefix(p.text[end+len(name[0]):], "(") {
			return nil, at, false
		}
		c := writtenCall{name: name[1]}
		if c.arguments, end, ok = p.parameters(end + len(name[0]) + 1); !ok {
			return nil, at, false
		}
		calls = append(calls, c)
	}
}

func (p scanner) skip(at int, what string) int {
	return len(p.text) - len(strings.TrimLeft(p.text[at:], what))
}

// parameters reads arguments up to the closing parenthesis: an object, or KEY=value with commas.
func (p scanner) parameters(at int) (object json.RawMessage, end int, ok bool) {
	at = p.skip(at, " \t\r\n")
	if raw, end, ok := p.object(at); ok {
		end = p.skip(end, " \t\r\n")
		return raw, end + 1, strings.HasPrefix(p.text[end:], ")")
	}
	fields := map[string]json.RawMessage{}
	for {
		at = p.skip(at, " ,\t\r\n")
		if strings.HasPrefix(p.text[at:], ")") {
			object, err := json.Marshal(fields)
			return object, at + 1, err == nil
		}
		key := keyPattern.FindStringSubmatch(p.text[at:])
		if key == nil {
			return nil, at, false
		}
		if fields[key[1]], at, ok = p.value(at + len(key[0])); !ok {
			return nil, at, false
		}
	}
}

// literals are Python's, in JSON.
var literals = map[string]string{"True": "true", "False": "false", "None": "null"}

// value reads a value in JSON, or as Python writes it.
func (p scanner) value(at int) (raw json.RawMessage, end int, ok bool) {
	rest := p.text[at:]
	for python, plain := range literals {
		if strings.HasPrefix(rest, python) {
			return json.RawMessage(plain), at + len(python), true
		}
	}
	if !strings.HasPrefix(rest, "'") {
		d := json.NewDecoder(strings.NewReader(rest))
		err := d.Decode(&raw)
		return raw, at + int(d.InputOffset()), err == nil
	}
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\'':
			raw, err := json.Marshal(b.String())
			return raw, at + i + 1, err == nil
		case c == '\\' && i+1 < len(rest):
			i++
			b.WriteString(map[byte]string{'n': "\n", 't': "\t"}[rest[i]])
			if rest[i] != 'n' && rest[i] != 't' {
				b.WriteByte(rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return nil, at, false
}

// gemma reads an object whose keys have no quotation marks, and whose strings have marks of their own.
func (p scanner) gemma(at int) (object json.RawMessage, end int) {
	body := p.text[at:]
	if ends := gemmaEnd.FindStringIndex(body); ends != nil {
		body = body[:ends[0]]
	}
	var b strings.Builder
	for i, piece := range gemmaQuote.Split(body, -1) {
		if i%2 == 0 {
			b.WriteString(gemmaKey.ReplaceAllString(piece, `$1"$2":`))
			continue
		}
		quoted, _ := json.Marshal(piece)
		b.Write(quoted)
	}
	object, ok := objectIn(json.RawMessage(b.String()))
	if !ok || b.Len() == 0 {
		return nil, at
	}
	return object, at + len(body)
}
