package config

import (
	"fmt"
	"regexp"
	"strings"
)

// expanded is a string that came out of ${…}. Variables are text, so it may
// stand where a number or a boolean is wanted.
type expanded string

// missing is a variable without a value.
type missing struct{ key, name string }

// expander replaces ${NAME} and ${NAME:-default} in the strings of a tree.
type expander struct {
	getenv  func(string) (string, bool)
	faults  *faults
	missing []missing
}

// tree expands every string below v, which has the key. Values that came out
// are not expanded again.
func (e *expander) tree(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = e.tree(item, join(key, k))
		}
	case []any:
		for i, item := range v {
			v[i] = e.tree(item, fmt.Sprintf("%s[%d]", key, i))
		}
	case string:
		return e.text(v, key)
	}
	return v
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// text expands one string. "$${" stands for "${"; any other "$" for itself.
func (e *expander) text(s, key string) any {
	var out strings.Builder
	variables := false
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		inside, rest, closed := strings.Cut(s[i+2:], "}")
		name, def, hasDefault := strings.Cut(inside, ":-")
		if !closed || !variableName.MatchString(name) || strings.Contains(def, "${") {
			e.faults.add(key, "", "has a ${ that begins neither ${NAME} nor ${NAME:-default}; $${ stands for a plain ${")
			return ""
		}
		variables = true
		e.faults.from[key] = append(e.faults.from[key], name)
		out.WriteString(e.variable(key, name, def, hasDefault))
		s = rest
	}
	if variables {
		return expanded(out.String())
	}
	return out.String()
}

// variable looks a name up. As in a shell, the default of ":-" also stands in
// for a variable that is set but empty.
func (e *expander) variable(key, name, def string, hasDefault bool) string {
	value, set := e.getenv(name)
	if secretName.MatchString(name) {
		e.faults.secrets = append(e.faults.secrets, value)
	}
	switch {
	case hasDefault && value == "":
		return def
	case !set:
		e.missing = append(e.missing, missing{key, name})
	}
	return value
}

// secretName recognises variables whose value must not be printed, whichever
// key it was put under by mistake.
var secretName = regexp.MustCompile(`(?i)token|secret|passw|key|credential`)
