package shipping

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// nobody is the account that the image runs the programs as, and its group.
	nobody = 65532
	// ending is how long a program may take to end in order.
	ending = 30 * time.Second
)

// ports are where the programs serve /livez, /readyz and /metrics unless the configuration
// says otherwise.
var ports = map[string]int{"starter": 8080, "worker": 8081}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// faults is what is wrong with a file.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// want adds a fault unless something holds.
func (f *faults) want(holds bool, format string, args ...any) {
	if !holds {
		f.add(format, args...)
	}
}

// spoiling is a change that a check has to find.
type spoiling struct {
	name string
	// from is replaced by to, wherever it stands.
	from, to string
	// found is a part of what the check says.
	found string
}

// spoil makes each change in turn, and fails the test for one that is not found: a check
// that finds nothing in anything would prove nothing.
func spoil(t *testing.T, text string, check func(t *testing.T, text string) faults, all []spoiling) {
	t.Helper()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(text, s.from) {
				t.Fatalf("there is no %q to be replaced", s.from)
			}
			found := check(t, strings.ReplaceAll(text, s.from, s.to))
			if !strings.Contains(strings.Join(found, "\n"), s.found) {
				t.Errorf("found %q, want %q", found, s.found)
			}
		})
	}
}
