package activities

import (
	"strings"
	"testing"

	"myao/internal/answer/document"
	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/timeout"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

// withTranscripts gives activities a reader of the workspace's recordings.
func (b *bundle) withTranscripts() {
	files := document.New(b.Client, documents(), b.Agents.Prompts.Material, b.Logger)
	b.Agents.Files, b.Agents.Recall.Transcripts = files, files
}

const spokenVTT = "WEBVTT\n\n00:00.000 --> 00:02.000\n<v Alice>Who feeds the cat on Friday?\n"

// Who speaks and writes nothing is answered by what Slack has written down, also where that comes after the message.
func TestVoiceClip(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withTranscripts()
	long := spokenVTT + strings.Repeat("\n00:03.000 --> 00:04.000\n<v Alice>and on Saturday\n", 50)
	m := b.attached("", workspace.WithClip("note.m4a", "", []byte("x"), workspace.Clip{VTT: long, Looks: 1}))
	if got := b.reply(inThread(m), true); got != conversation.Done {
		t.Fatal(got)
	}
	system := b.call(0).System
	if want := "[audio: note.m4a] (transcript by Slack; words may be misheard)\nAlice: Who feeds the cat on Friday? and on Saturday"; !strings.Contains(system, want) ||
		strings.Contains(system, "-->") || strings.Contains(system, "cannot be read") {
		t.Errorf("the prompt lacks %q:\n%s", want, system)
	}
	kept, err := b.Store.Message(t.Context(), m.Team, m.Channel, m.TS)
	if err != nil || strings.Count(kept.Files[0].Transcript.Text, "Saturday") != 50 || kept.Files[0].Transcript.Unfinished() {
		t.Errorf("kept: %+v, %v", kept.Files, err)
	}
}

// So is it judged, and then Slack is not asked again.
func TestVoiceClipIsJudged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withTranscripts()
	m := b.attached("", workspace.WithClip("note.m4a", "", []byte("x"), workspace.Clip{VTT: spokenVTT}))
	b.judge(atTopLevel(m))
	b.reply(atTopLevel(m), false)
	for i := range 2 {
		if c := b.call(i); !strings.Contains(c.System, "\nWho feeds the cat") || i == 0 && !strings.Contains(c.System, "a question is among the new messages") {
			t.Errorf("asked with:\n%s", c.System)
		}
	}
	if n := len(b.Workspace.Calls("files.info")); n != 1 {
		t.Errorf("Slack was asked %d times", n)
	}
}

// Where there is no transcript, the model is told so, and whoever asked by a line of the program's.
func TestVoiceClipWithoutATranscript(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(func(llmtest.Call) llmtest.Reply { return llmtest.Text("I cannot tell.") }))
	b.withTranscripts()
	m := b.attached(b.Mention("what do you say?"), workspace.WithClip("note.m4a", "", []byte("x"), workspace.Clip{Failed: true}),
		workspace.WithClip("`talk.mp4", "video/mp4", []byte("x"), workspace.Clip{}))
	if got := b.reply(inThread(m), true); got != conversation.Done {
		t.Fatal(got)
	}
	for _, want := range []string{"[audio: note.m4a] (no transcript: nobody here knows what is said in it)", "[video: `talk.mp4] (no transcript"} {
		if !strings.Contains(b.call(0).System, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	if got, want := b.outbox(inThread(m))[0].Text, "I cannot tell.\n\n(I do not know what is said in `note.m4a`, `talk.mp4`: Slack has no transcript of it so far.)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is said in a recording is remembered.
func TestVoiceClipIsRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withTranscripts()
	m := b.attached("", workspace.WithClip("note.m4a", "", []byte("x"), workspace.Clip{VTT: spokenVTT, Looks: 1}))
	read, err := b.Agents.Recall.BuildForMemory(timeout.Extend(t.Context()), chat.Scope{Team: m.Team, Channel: m.Channel}, []chat.Message{m}, 0)
	if err != nil || read.Conversation.TopLevel[0].Spoken() != "Who feeds the cat on Friday?" {
		t.Errorf("%+v, %v", read.Conversation.TopLevel, err)
	}
}
