package slack

import (
	"slices"
	"strings"

	"myao/internal/chat"
)

// fileType returns the media type of a file. Slack's voice clips have that of a video
// (seen in github.com/mautrix/slack, pkg/msgconv/from-slack.go).
func fileType(file object) string {
	mime := file.text("mimetype")
	rest, video := strings.CutPrefix(mime, "video/")
	if video && (file.text("subtype") == "slack_audio" || file.text("media_display_type") == "audio") {
		return "audio/" + rest
	}
	return mime
}

// transcriptIn returns what a file's record has of its transcript: the beginning. Slack makes it within the minute
// after the message, in the languages that it knows, and says processing meanwhile. In the end its status is complete,
// none or failed.
func transcriptIn(file object) chat.Transcript {
	made, ok := file.object("transcription")
	if !ok {
		return chat.Transcript{}
	}
	preview, _ := made.object("preview")
	status := made.text("status")
	t := chat.Transcript{
		Text:    strings.TrimSpace(preview.text("content")),
		Cut:     preview.flag("has_more"),
		Pending: !slices.Contains([]string{"", "complete", "none", "failed"}, status),
	}
	t.Cut = t.Cut || t.Text == "" && status == "complete" && file.text("vtt") != ""
	return t
}
