package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"myao/internal/chat"
)

// maxName is the longest name of a tool that every provider takes.
const maxName = 63

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// nameOf is the name of a server's tool for models. Where its own name does not fit, a hash of that tells
// it from others.
func nameOf(server, tool string) string {
	full := server + chat.ServerSeparator + unfit.ReplaceAllString(tool, "_")
	if full == server+chat.ServerSeparator+tool && len(full) <= maxName && tool != "" {
		return full
	}
	hash := sha256.Sum256([]byte(tool))
	end := "_" + hex.EncodeToString(hash[:4])
	return full[:min(len(full), maxName-len(end))] + end
}
