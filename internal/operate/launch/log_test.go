package launch

import (
	"bytes"
	"strings"
	"testing"

	"myao/internal/config"
)

func TestLogFormatAndLevel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config config.Log
		want   []string // a part of each line
	}{
		{config.Log{}, []string{`"level":"INFO"`, `"level":"WARN"`}},
		{config.Log{Format: "json", Level: "debug"}, []string{`"level":"DEBUG"`, `"level":"INFO"`, `"level":"WARN"`}},
		{config.Log{Format: "text", Level: "warn"}, []string{`level=WARN`}},
		{config.Log{Format: "text", Level: "error"}, nil},
	} {
		var b bytes.Buffer
		l := newLogger(test.config, &b)
		l.Debug("a")
		l.Info("b")
		l.Warn("c")
		lines := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' })
		if len(lines) != len(test.want) {
			t.Errorf("%+v: %q, want %d lines", test.config, lines, len(test.want))
			continue
		}
		for i, want := range test.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%+v: %s, want %s", test.config, lines[i], want)
			}
		}
	}
}
