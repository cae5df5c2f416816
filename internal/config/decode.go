package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// These limits are far above any real file. They stop aliases that refer to aliases or to
// themselves.
const (
	maxNodes = 20_000
	maxDepth = 40
)

// decoder walks the YAML tree once and stores its values in a Config. A value must have the
// type of its field, and every key must have a field; anything else is a fault. The walk goes on
// after a fault, so one run finds them all.
type decoder struct {
	faults *faults
	getenv func(string) (string, bool)
	// overridden is the key whose value the environment replaces. The file's value is ignored.
	overridden string

	// lines maps the dotted key of each value to its line. A value that comes through an alias or
	// a merge has the line where it is written.
	lines map[string]int
	// unset maps the dotted key of a value to its variables that are not set.
	unset map[string][]string

	nodes   int
	tooMuch bool
}

// place is a node's place in the tree.
type place struct {
	key   string // dotted
	depth int
	// secret is set where texts, here and below, must not be printed.
	secret bool
}

func (p place) below(name string) place {
	return place{join(p.key, name), p.depth + 1, p.secret}
}

func (p place) item(i int) place {
	return place{fmt.Sprintf("%s[%d]", p.key, i), p.depth + 1, p.secret}
}

// join returns the dotted key of a name below a key.
func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// within counts nodes and reports whether the tree is still within its limits.
func (d *decoder) within(at place, nodes int) bool {
	d.nodes += nodes
	d.tooMuch = d.tooMuch || d.nodes > maxNodes || at.depth > maxDepth
	return !d.tooMuch
}

// value decodes a node into target. It returns false for a node without a value, such as null.
// Below an unknown key, target is invalid and any value is accepted.
func (d *decoder) value(n *yaml.Node, target reflect.Value, at place) bool {
	if !d.within(at, 1) {
		return false
	}
	at.secret = at.secret || target.IsValid() && isSecret(target.Type())
	switch n.Kind {
	case yaml.AliasNode:
		at.depth++
		return d.value(n.Alias, target, at)
	case yaml.MappingNode:
		if kind := target.Kind(); target.IsValid() && kind != reflect.Struct && kind != reflect.Map {
			d.wrongType(verbatim("(a mapping)"), target, at)
			target = reflect.Value{}
		}
		d.mapping(n, target, at)
	case yaml.SequenceNode:
		if target.IsValid() && target.Kind() != reflect.Slice {
			d.wrongType(verbatim("(a list)"), target, at)
			target = reflect.Value{}
		}
		d.list(n, target, at)
	default:
		return d.scalar(n, target, at)
	}
	return true
}

func (d *decoder) mapping(n *yaml.Node, target reflect.Value, at place) {
	if target.Kind() == reflect.Map && target.IsNil() {
		target.Set(reflect.MakeMap(target.Type()))
	}
	for _, e := range d.entries(n, at) {
		below := at.below(e.name)
		if below.key == d.overridden {
			continue
		}
		var field reflect.Value
		switch target.Kind() {
		case reflect.Struct:
			if field = fieldOf(target, e.name); !field.IsValid() {
				d.faults.add(below.key, nil, "is not a known key%s", hint(e.name, target.Type()))
			}
		case reflect.Map:
			field = reflect.New(target.Type().Elem()).Elem()
		}
		if d.value(e.value, field, below) {
			d.lines[below.key] = e.line
		}
		if target.Kind() == reflect.Map {
			target.SetMapIndex(reflect.ValueOf(e.name), field)
		}
	}
}

func (d *decoder) list(n *yaml.Node, target reflect.Value, at place) {
	var items reflect.Value
	if target.IsValid() {
		items = reflect.MakeSlice(target.Type(), len(n.Content), len(n.Content))
	}
	complete := true
	for i, node := range n.Content {
		var item reflect.Value
		if items.IsValid() {
			item = items.Index(i)
		}
		complete = d.value(node, item, at.item(i)) && complete
	}
	switch {
	case !target.IsValid():
	case complete:
		target.Set(items)
	default:
		d.wrongType(verbatim("(a list)"), target, at)
	}
}

func (d *decoder) scalar(n *yaml.Node, target reflect.Value, at place) bool {
	var v any
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return false
	case "!!str", "!!timestamp":
		v = d.expand(n.Value, at)
	case "!!int", "!!float", "!!bool":
		if err := n.Decode(&v); err != nil {
			d.faults.add(at.key, nil, "line %d: the value does not fit its tag %s", n.Line, tag)
			return false
		}
	default:
		d.faults.add(at.key, nil, "line %d: the tag %s is unknown", n.Line, tag)
		return false
	}
	if target.IsValid() && !assign(target, v, len(d.faults.from[at.key]) > 0) {
		d.wrongType(v, target, at)
	}
	return true
}

// assign stores a scalar in target and reports whether their types match. A text that comes from
// variables may also be read as a number or a boolean.
func assign(target reflect.Value, v any, fromVariables bool) bool {
	text, isText := v.(string)
	trimmed := strings.TrimSpace(text)
	switch target.Kind() {
	case reflect.Pointer:
		pointed := reflect.New(target.Type().Elem())
		if !assign(pointed.Elem(), v, fromVariables) {
			return false
		}
		target.Set(pointed)
	case reflect.String:
		if !isText {
			return false
		}
		if target.Type() == reflect.TypeFor[Secret]() {
			text = trimmed // a copied secret often ends with a line break
		}
		target.SetString(text)
	case reflect.Int:
		if n, err := strconv.Atoi(trimmed); fromVariables && err == nil {
			v = n
		}
		switch x := v.(type) {
		case int:
			target.SetInt(int64(x))
		case float64: // such as 1e3
			if x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
				return false
			}
			target.SetInt(int64(x))
		default:
			return false
		}
	case reflect.Float64:
		if x, err := strconv.ParseFloat(trimmed, 64); fromVariables && err == nil {
			v = x
		}
		switch x := v.(type) {
		case int:
			target.SetFloat(float64(x))
		case float64:
			target.SetFloat(x)
		default:
			return false
		}
	case reflect.Bool:
		if b, err := strconv.ParseBool(trimmed); fromVariables && err == nil {
			v = b
		}
		b, isBool := v.(bool)
		if !isBool {
			return false
		}
		target.SetBool(b)
	case reflect.Slice, reflect.Struct:
		places, isPlaces := target.Addr().Interface().(*Places)
		bots, isBots := target.Addr().Interface().(*Bots)
		persona, isPersona := target.Addr().Interface().(*WorkspacePersona)
		switch {
		case isText && isPlaces:
			*places = Places{text}
		case isText && isBots:
			*bots = Bots{text}
		case isText && isPersona:
			persona.Added = text
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// wrongType adds a fault for a value that does not have its target's type.
func (d *decoder) wrongType(v any, target reflect.Value, at place) {
	if len(d.unset[at.key]) > 0 {
		return // the fault is that the variable is not set
	}
	t := target.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := "a mapping of keys to values"
	switch t.Kind() {
	case reflect.String:
		want = "text"
		if _, container := v.(verbatim); !container {
			want = "text; put it in quotes"
		}
	case reflect.Int:
		want = "a whole number"
	case reflect.Float64:
		want = "a number"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice:
		want = "a list of texts"
		if t.Elem().Kind() == reflect.Struct {
			want = "a list of mappings"
		}
		if t == reflect.TypeFor[Bots]() {
			want = botsAllowed
		}
	}
	if holdsSecret(t) {
		v = verbatim(hidden)
	}
	d.faults.add(at.key, v, "must be %s", want)
}
