package agents

import (
	"context"
	"slices"
	"strings"

	"myao/internal/answer/prompt"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
)

// Files reads the files of a message.
type Files interface {
	// Shown returns those that are small enough to be shown at once: pictures and documents as such, and
	// the text of others in text, which also has a line for each file that is not shown.
	Shown(ctx context.Context, c chat.Conversation, m chat.Message) (files []llm.File, text string)
}

// The limits of the files in one question. What is over them is left out, the oldest first, and the
// model is told so.
const (
	maxFiles     = 5
	maxFileBytes = 8 << 20
)

// shownOf returns the files of a message, where somebody addressed the bot with it, or where it is nothing
// but a picture.
func (ag *Agents) shownOf(ctx context.Context, s config.ChannelSettings, c chat.Conversation, said chat.Message,
	addressed bool) (files []llm.File, text string) {
	if ag.Files == nil || said.Deleted || !addressed && !pictureAlone(said) ||
		len(tools.WithoutFiles(s.Tools)) == len(s.Tools) {
		return nil, ""
	}
	return ag.Files.Shown(ctx, c, said)
}

// showPicture shows the judge the newest of the pending messages if that is nothing but a picture. If it is not to
// be shown, the judge is told that there is one.
func (j *Judgment) showPicture(ctx context.Context, s config.ChannelSettings, c chat.Conversation, shows bool) {
	for _, said := range j.read.Target() {
		if len(j.pending) == 0 || said.TS != j.pending[len(j.pending)-1] || said.Deleted || !pictureAlone(said) {
			continue
		}
		if j.pictureAlone = true; !shows {
			continue
		}
		files, _ := j.agents.shownOf(ctx, s, c, said, false)
		j.files = slices.DeleteFunc(files, func(f llm.File) bool { return f.MIME == llm.PDF })
	}
}

// pictureAlone reports whether a message is a picture without words.
func pictureAlone(m chat.Message) bool {
	return !prompt.Visible(m.Text) &&
		slices.ContainsFunc(m.Files, func(f chat.File) bool { return strings.HasPrefix(f.MIME, "image/") })
}

// unheardIn names those recordings of a message that have no transcript.
func unheardIn(m chat.Message) (names []string) {
	for _, f := range m.Files {
		if f.Recording() && f.Transcript.Text == "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// fitFiles leaves out what is over the limits of one question. Files of later results are newer than
// those of earlier ones, and all of them newer than the message's.
func fitFiles(r llm.Request) llm.Request {
	kept, count, bytes := map[*byte]bool{}, 0, 0
	keep := func(files []llm.File) {
		for _, f := range files {
			if f.Showable() && count < maxFiles && bytes+len(f.Data) <= maxFileBytes {
				kept[&f.Data[0]], count, bytes = true, count+1, bytes+len(f.Data)
			}
		}
	}
	for _, t := range slices.Backward(r.Turns) {
		for _, result := range slices.Backward(t.Results) {
			keep(result.Files)
		}
	}
	keep(r.Files)
	r, _ = r.LeaveOut(func(f llm.File) string {
		switch {
		case !f.Showable():
			return "no model takes such a file"
		case kept[&f.Data[0]]:
			return ""
		}
		return "no more than 5 files and 8 MiB are shown at once"
	})
	return r
}

// withoutFiles is a question whose files the provider refuses, and their names. It stays without them
// when it is asked with fewer messages.
func (q Question) withoutFiles() (Question, []string) {
	refused := func(llm.File) string { return "the provider refuses it" }
	if limited := q.limited; limited != nil {
		q.limited = func(characters int) (llm.Request, error) {
			r, err := limited(characters)
			r, _ = r.LeaveOut(refused)
			return r, err
		}
	}
	var names []string
	q.Request, names = q.LeaveOut(refused)
	return q, names
}

// resultFiles are the files that results of turns show, the newest first.
func resultFiles(turns []llm.Turn) []llm.File {
	var files []llm.File
	for _, t := range slices.Backward(turns) {
		for _, r := range slices.Backward(t.Results) {
			files = append(files, r.Files...)
		}
	}
	return files
}
