package cli

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is the time between two lines about a long sweep.
const progressInterval = 3 * time.Second

// sweepProgress counts what a sweep changes, and prints how far a long one is.
type sweepProgress struct {
	w       io.Writer
	printed time.Time
	table   string
	seen    int // rows of the table
	changed map[string]int
}

// step implements store.SweepStep.
func (s *sweepProgress) step(table string, seen, changed int) error {
	if s.changed == nil {
		s.changed, s.printed = map[string]int{}, time.Now()
	}
	if table != s.table {
		s.table, s.seen = table, 0
	}
	s.seen += seen
	if changed > 0 {
		s.changed[table] += changed
	}
	if time.Since(s.printed) < progressInterval {
		return nil
	}
	s.printed = time.Now()
	_, err := fmt.Fprintf(s.w, "%s: %d rows looked at, %d changed …\n", table, s.seen, s.changed[table])
	return err
}

// total sums up the changed rows.
func (s *sweepProgress) total() string {
	n := 0
	for _, rows := range s.changed {
		n += rows
	}
	return fmt.Sprintf("%d rows changed or deleted", n)
}
