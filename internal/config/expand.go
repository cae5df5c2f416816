package config

import (
	"regexp"
	"strings"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secretName matches the names of variables whose values must not be printed, even if a wrong
// key uses them.
var secretName = regexp.MustCompile(`(?i)token|secret|passw|key|credential`)

// expand replaces ${NAME} and ${NAME:-default} in a text. The result is not expanded again.
// "$${" is a literal "${"; any other "$" is literal too.
func (d *decoder) expand(s string, at place) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			break
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(escaped + "${")
			s = after
			continue
		}
		inside, rest, closed := strings.Cut(after, "}")
		name, def, hasDefault := strings.Cut(inside, ":-")
		if !closed || !variableName.MatchString(name) || strings.Contains(def, "${") {
			d.faults.add(at.key, nil, "has a ${ that is neither ${NAME} nor ${NAME:-default}; write $${ for a "+
				"literal ${")
			return ""
		}
		d.faults.from[at.key] = append(d.faults.from[at.key], name)
		out.WriteString(before + d.variable(name, def, hasDefault, at))
		s = rest
	}
	out.WriteString(s)
	if at.secret {
		d.faults.secrets = append(d.faults.secrets, strings.TrimSpace(out.String()))
	}
	return out.String()
}

// fileSuffix ends the name of a variable whose value is the path of a file with the value.
const fileSuffix = "_FILE"

// variable returns the value of a variable. If it is missing or empty, NAME_FILE may name a file
// with the value, such as a secret of Docker. As in a shell, the default after ":-" also replaces
// a variable that is set but empty.
func (d *decoder) variable(name, def string, hasDefault bool, at place) string {
	value, set := d.getenv(name)
	if path, _ := d.getenv(name + fileSuffix); value == "" && path != "" {
		content, err := read(path)
		if err != nil {
			d.faults.add(at.key, nil, "%s%s cannot be read: %v", name, fileSuffix, err)
		}
		value, set = strings.TrimRight(string(content), "\r\n"), true
	}
	if secretName.MatchString(name) {
		d.faults.secrets = append(d.faults.secrets, value)
	}
	switch {
	case hasDefault && value == "":
		return def
	case !set:
		d.unset[at.key] = append(d.unset[at.key], name)
	}
	return value
}
