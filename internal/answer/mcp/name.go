package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// Separator stands between the names of a server and of its tool.
const Separator = "__"

// maxName is the longest name of a tool that every provider takes.
const maxName = 63

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// nameOf is the name of a server's tool for models. Where its own name does not fit, a hash of that tells
// it from others.
func nameOf(server, tool string) string {
	full := server + Separator + unfit.ReplaceAllString(tool, "_")
	if full == server+Separator+tool && len(full) <= maxName && tool != "" {
		return full
	}
	hash := sha256.Sum256([]byte(tool))
	end := "_" + hex.EncodeToString(hash[:4])
	return full[:min(len(full), maxName-len(end))] + end
}
