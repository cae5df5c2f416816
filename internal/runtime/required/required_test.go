package required_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"myao/internal/runtime/required"
)

type Part struct{ Name string }

type whole struct {
	*Part
	Writer io.Writer
	Clock  func() time.Time
	Tracer io.Writer `nil:"ok"`
	Words  []string
	Limit  int
	cache  *Part
}

func TestFieldsNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	full := whole{Part: &Part{}, Writer: io.Discard, Clock: time.Now}
	for _, tc := range []struct {
		name string
		lack func(*whole)
		want string
	}{
		{"nothing", func(*whole) {}, ""},
		{"an embedded pointer", func(w *whole) { w.Part = nil }, "required_test.whole: field Part is required"},
		{"an interface", func(w *whole) { w.Writer = nil }, "required_test.whole: field Writer is required"},
		{"a function", func(w *whole) { w.Clock = nil }, "required_test.whole: field Clock is required"},
		{"the first of several", func(w *whole) { w.Clock, w.Writer = nil, nil }, "required_test.whole: field Writer is required"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, w := "", full
			tc.lack(&w)
			func() {
				defer func() {
					if said := recover(); said != nil {
						got = fmt.Sprint(said)
					}
				}()
				if required.Fields(&w) != &w || w.cache != nil {
					t.Error("it is another struct")
				}
			}()
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
