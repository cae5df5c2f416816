package document

import (
	"context"
	"errors"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"myao/internal/answer/document/charset"
	"myao/internal/chat"
	"myao/internal/slack"
)

// vttBytes bounds what is downloaded of a transcript: with its times, that of several hours of speech.
const vttBytes = 1 << 20

// Transcript returns what Slack has of a recording's transcript now, at most chat.MaxTranscript characters. It returns
// an error of Slack's that should be tried again.
func (r *Reader) Transcript(ctx context.Context, f chat.File) (chat.Transcript, error) {
	info, err := r.slack.FileInfo(ctx, f.ID)
	if err == nil && !info.Deleted && !info.Denied {
		info.Transcript, err = r.transcript(ctx, info)
	}
	if err != nil {
		if _, refused := errors.AsType[*Refused](r.refusal(ctx, err, info, vttBytes)); refused {
			return chat.Transcript{}, nil
		}
		return chat.Transcript{}, err
	}
	t := info.Transcript
	t.Text, t.Cut = beginning(t.Text, chat.MaxTranscript, t.Cut)
	return t, nil
}

// transcript returns the transcript of a recording: what its record has, or all of it where that is only the beginning.
func (r *Reader) transcript(ctx context.Context, info slack.File) (chat.Transcript, error) {
	t := info.Transcript
	if !t.Cut || info.VTT == "" {
		return t, nil
	}
	release, err := r.Memory.Body(ctx, vttBytes)
	if err != nil {
		return t, err
	}
	defer release()
	body, err := r.slack.Download(ctx, slack.File{File: info.File, URL: info.VTT}, vttBytes)
	if err != nil {
		if _, refused := errors.AsType[*Refused](r.refusal(ctx, err, info, vttBytes)); refused {
			return t, nil // the beginning
		}
		return t, err
	}
	done, err := r.Memory.Scratch(ctx, int64(len(body))*textBytes)
	if err != nil {
		return t, err
	}
	defer done()
	if read, ok := charset.Read(body, "utf-8", true); ok {
		if said := spoken(read.Text); said != "" {
			return chat.Transcript{Text: said}, nil
		}
	}
	return t, nil
}

var (
	cueTimes = regexp.MustCompile(`^\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{3}\s+-->`)
	voice    = regexp.MustCompile(`<v(?:\.[^\s>]*)?\s+([^>]*)>`)
	cueTag   = regexp.MustCompile(`</?(?:c|i|b|u|v|ruby|rt|lang|\d)[^<>]*>`)
)

// spoken returns what is said in a file of WebVTT, without times and markup (w3.org/TR/webvtt1). What one speaker says
// is one line, which begins with the speaker's name where the file has it.
func spoken(vtt string) string {
	var out strings.Builder
	speaker, inCue, begun := "", false, false
	for line := range strings.Lines(vtt) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			inCue = false
			continue
		case cueTimes.MatchString(line):
			inCue = true
			continue
		case !inCue: // the head, a note, a style, or the name of a cue
			continue
		}
		now := speaker
		if m := voice.FindStringSubmatch(line); m != nil {
			now = strings.TrimSpace(html.UnescapeString(m[1]))
		}
		said := strings.Join(strings.Fields(html.UnescapeString(cueTag.ReplaceAllString(line, ""))), " ")
		if said == "" {
			continue
		}
		switch {
		case begun && now == speaker:
			out.WriteByte(' ')
		case begun:
			out.WriteByte('\n')
			fallthrough
		default:
			if now != "" {
				out.WriteString(now + ": ")
			}
		}
		out.WriteString(said)
		speaker, begun = now, true
	}
	return out.String()
}

// beginning returns at most a number of characters of a text, and whether that is only its beginning.
func beginning(text string, characters int, cut bool) (string, bool) {
	if utf8.RuneCountInString(text) <= characters {
		return text, cut
	}
	return string([]rune(text)[:characters]), true
}
