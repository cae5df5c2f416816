package doctor

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"myao/internal/config"
)

func ok(format string, args ...any) Finding {
	return Finding{Status: OK, Message: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) Finding {
	return Finding{Status: Skip, Message: fmt.Sprintf(format, args...)}
}

func warn(fix, format string, args ...any) Finding {
	return Finding{Status: Warn, Message: fmt.Sprintf(format, args...), Fix: fix}
}

func fail(fix, format string, args ...any) Finding {
	return Finding{Status: Fail, Message: fmt.Sprintf(format, args...), Fix: fix}
}

// maxMessage bounds a message, in characters.
const maxMessage = 400

// redact hides secrets in findings, wherever they came from, and makes each text one line.
// Longer secrets go first, since one may be part of another.
func redact(findings []Finding, c config.Config) []Finding {
	known := secrets(c)
	for i, f := range findings {
		findings[i].Message, findings[i].Fix = redactedLine(f.Message, known), redactedLine(f.Fix, known)
	}
	return findings
}

func redactedLine(s string, secrets []string) string {
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "(hidden)")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' ||
			r == '\u2029'
	}), " ")
	if r := []rune(s); len(r) > maxMessage {
		s = string(r[:maxMessage]) + "…"
	}
	return s
}

// secrets returns the configuration's secrets and Temporal's API key from the environment.
// Values below six bytes are left out: replacing them would garble ordinary words.
func secrets(c config.Config) []string {
	all := append(c.Secrets(), os.Getenv("TEMPORAL_API_KEY"))
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < 6 })
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}
