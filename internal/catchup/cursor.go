package catchup

import "errors"

var (
	errCursorLoop = errors.New("slack's cursors go round in a circle")
	errEndless    = errors.New("slack's pages do not end")
)

// cursor goes through the pages of a listing. The zero cursor is at the first.
type cursor struct {
	at   string
	seen map[string]bool
}

// next goes on to the page that this one names, and reports whether there is one.
func (c *cursor) next(at string) (bool, error) {
	switch {
	case at == "":
		return false, nil
	case c.seen[at]:
		return false, errCursorLoop
	case c.seen == nil:
		c.seen = map[string]bool{}
	}
	c.at, c.seen[at] = at, true
	return true, nil
}
