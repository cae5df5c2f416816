package slack

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// FindCode returns the places of code in Markdown that is posted: fences, and spans within a line
// (spec.commonmark.org/0.31.2/#fenced-code-blocks, #code-spans).
func FindCode(s string) (places [][]int) {
	var open fence
	for at := 0; at < len(s); {
		end := len(s)
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			end = at + i
		}
		line := s[at:end]
		next, changed := open.after(line, math.MaxInt)
		switch {
		case open.marker != "":
			places[len(places)-1][1] = end
		case changed:
			places = append(places, []int{at, end})
		default:
			places = append(places, findSpans(line, at)...)
		}
		open, at = next, end+1
	}
	return places
}

// findSpans returns the places of code in a line that begins at an offset.
func findSpans(line string, offset int) (places [][]int) {
	absent := map[int]bool{} // lengths of runs of backticks that do not occur again
	for at := 0; at < len(line); {
		switch line[at] {
		case '\\':
			at += 2
			continue
		case '`':
		default:
			at++
			continue
		}
		length := countBackticks(line[at:])
		end := -1
		for i := at + length; i < len(line) && !absent[length]; {
			if n := countBackticks(line[i:]); n == length {
				end = i + n
				break
			} else {
				i += max(n, 1)
			}
		}
		if end < 0 {
			absent[length] = true
			at += length
			continue
		}
		places = append(places, []int{offset + at, offset + end})
		at = end
	}
	return places
}

// countBackticks returns how many backticks a text begins with.
func countBackticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// within reports whether an offset is in one of the places, which are in order.
func within(places [][]int, at int) bool {
	i, found := slices.BinarySearchFunc(places, at, func(p []int, at int) int { return cmp.Compare(p[0], at) })
	return found || i > 0 && at < places[i-1][1]
}
