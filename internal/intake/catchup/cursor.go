package catchup

import "errors"

var (
	errCursorLoop = errors.New("slack's cursors repeat")
	errEndless    = errors.New("slack returns too many pages")
)

// cursor walks through the pages of a listing. The zero cursor is at the first page.
type cursor struct {
	at   string
	seen map[string]bool
}

// next moves to the page with the cursor at. It returns false if there is none.
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
