package store

import "strings"

// Clean returns a text as both databases take it: Postgres refuses NUL characters and what is not UTF-8.
func Clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "") }
