package workspace

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// page returns the requested page of found and the message after it. forward says that
// found is in order of time, else it is in reverse order. The cursor names the next
// message, so that new messages between two calls do not shift the pages.
func (c *call) page(found []*Message, normal, most int, forward bool) (page []*Message, next *Message, err error) {
	limit, cursor, err := c.limitAndCursor(normal, most)
	if err != nil {
		return nil, nil, err
	}
	start := 0
	if cursor != "" {
		start = slices.IndexFunc(found, func(m *Message) bool {
			if forward {
				return m.TS >= cursor
			}
			return m.TS <= cursor
		})
	}
	page, next = takePage(found, start, limit)
	return page, next, nil
}

// takePage returns the page that begins at start and the item after it.
func takePage[T any](items []T, start, limit int) (page []T, next T) {
	if start < 0 || start > len(items) {
		start = len(items)
	}
	end := min(start+limit, len(items))
	if end < len(items) {
		next = items[end]
	}
	return slices.Clone(items[start:end]), next
}

// limitAndCursor returns the page's size and where it begins.
func (c *call) limitAndCursor(normal, most int) (limit int, cursor string, err error) {
	if limit, err = c.limit(normal, most); err != nil {
		return 0, "", err
	}
	cursor, err = c.cursor()
	return limit, cursor, err
}

func (c *call) limit(normal, most int) (int, error) {
	n := normal
	if s := c.Get("limit"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 0 || n > most {
			return 0, apiError("invalid_limit")
		}
		if n == 0 {
			n = normal
		}
	}
	if c.cfg.PageSize > 0 {
		n = min(n, c.cfg.PageSize)
	}
	return n, nil
}

// encodeCursor makes a cursor. Slack's are base64, and opaque to callers
// (docs.slack.dev/apis/web-api/pagination).
func encodeCursor(at string) string { return base64.StdEncoding.EncodeToString([]byte("next:" + at)) }

func (c *call) cursor() (string, error) {
	raw, err := base64.StdEncoding.DecodeString(c.Get("cursor"))
	at, ok := strings.CutPrefix(string(raw), "next:")
	if err != nil || !ok && len(raw) > 0 {
		return "", apiError("invalid_cursor")
	}
	return at, nil
}

// list answers with a page of items in a fixed order.
func list[T any](c *call, key string, items []T) (reply, error) {
	limit, cursor, err := c.limitAndCursor(100, 1000)
	if err != nil {
		return nil, err
	}
	start, _ := strconv.Atoi(cursor)
	page := []T{}
	next := ""
	if start < len(items) {
		end := min(start+limit, len(items))
		page = items[start:end]
		if end < len(items) {
			next = encodeCursor(strconv.Itoa(end))
		}
	}
	return reply{key: page, "response_metadata": reply{"next_cursor": next}}, nil
}
