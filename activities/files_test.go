package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"

	"myao/internal/answer/document"
	"myao/internal/answer/document/pdf"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
)

func pngOf(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 6))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// documents are read by one reader, which compiles for seconds.
var documents = sync.OnceValue(pdf.NewReader)

// withFiles gives activities a reader of the workspace's files.
func (b *bundle) withFiles() {
	b.Agents.Files = document.New(b.Client, documents(), b.Agents.Prompts.Material, b.Logger)
	b.settings.Tools = config.Default().Tools.Enabled
}

// attached says something with files.
func (b *bundle) attached(text string, options ...workspace.SayOption) chat.Message {
	b.Helper()
	m := chat.Message{Team: "T1", Channel: b.General, UserID: b.Alice.ID, Text: text}
	m.TS = b.Workspace.Say(b.General, b.Alice.ID, text, options...)
	for _, held := range b.Workspace.Messages(b.General) {
		if held.TS == m.TS {
			for _, f := range held.Files {
				m.Files = append(m.Files, chat.File{ID: f.ID, Name: f.Name, MIME: f.Mimetype})
			}
		}
	}
	return b.record(m)
}

func (b *bundle) call(n int) llmtest.Call {
	b.Helper()
	calls := b.Model.Calls()
	if len(calls) <= n {
		b.Fatalf("%d calls of the model", len(calls))
	}
	return calls[n]
}

func namesOf(files []llm.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// The files of the message that addresses the bot are shown at once: pictures as such, texts as material.
func TestFilesOfTheMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withFiles()
	cat := pngOf(t, 8)
	m := b.attached(b.Mention("what is this?"), workspace.WithFile("cat.png", "image/png", cat),
		workspace.WithFile("a.txt", "text/plain", []byte("# Heading\nthe cat is called Momo")), workspace.WithFile("b.zip", "application/zip", []byte("PK\x03\x04")))
	if got := b.reply(inThread(m), true); got != conversation.Done {
		t.Fatal(got)
	}
	c := b.call(0)
	if len(c.Files) != 1 || c.Files[0].Name != "cat.png" || !bytes.Equal(c.Files[0].Data, cat) {
		t.Errorf("shown %v", c.Files)
	}
	for _, want := range []string{"the cat is called Momo", `The file "b.zip" cannot be read`, "its name does not tell"} {
		if !strings.Contains(c.System, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	if strings.Contains(c.System, "\n# Heading") {
		t.Error("a file's text looks like a heading of the prompt")
	}
	// A judged reply, and a channel where no files are read.
	if got := b.reply(atTopLevel(m), false); got != conversation.Done || len(b.call(1).Files) != 0 {
		t.Errorf("judged: %s, shown %v", got, b.call(1).Files)
	}
	b.settings.Tools = tools.WithoutFiles(b.settings.Tools)
	again := inThread(m)
	again.Decision, again.Revision = "run/2", "8.000000"
	if got := b.reply(again, true); got != conversation.Done || len(b.call(2).Files) != 0 {
		t.Errorf("without read_file: %s, shown %v", got, b.call(2).Files)
	}
}

// The event of a mention has no files. In a thread, the reading of that brings them, in time.
func TestFilesOfAMentionInAThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withFiles()
	root := b.say("shall we?")
	text := b.Mention("what is this?")
	ts := b.Workspace.Say(b.General, b.Alice.ID, text, workspace.InThread(root.TS), workspace.WithFile("cat.png", "image/png", pngOf(t, 8)))
	task := inThread(root)
	task.Trigger = b.record(chat.Message{Team: "T1", Channel: b.General, TS: ts, UserID: b.Alice.ID, Text: text}).TS
	if got := b.reply(task, true); got != conversation.Done || !slices.Equal(namesOf(b.call(0).Files), []string{"cat.png"}) {
		t.Errorf("%s, shown %v", got, b.call(0).Files)
	}
}

// A file that a step's result shows stays with it in every round, and goes with the question in the last.
func TestFilesOfResults(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url option) {
		b := setup(t, url, withModel(llmtest.Script(search("a"), search("b"), llmtest.Text("A cat."))))
		f := b.withTools()
		b.Tools = showing{f, llm.File{Name: "cat.png", MIME: "image/png", Data: pngOf(t, 8)}}
		b.Limits.MaxRounds = 2
		task := inThread(b.say(b.Mention("what is in cat.png?")))
		if rounds, out := b.play(ComposeInput{Task: task, Addressed: true}); rounds != 2 || out.Result != conversation.Done {
			t.Fatalf("%d rounds, %+v", rounds, out)
		}
		second, last := b.call(1), b.call(2)
		if len(second.Files) != 0 || len(second.Turns) != 1 || !slices.Equal(namesOf(second.Turns[0].Results[0].Files), []string{"cat.png"}) {
			t.Errorf("the second round shows %v and %+v", second.Files, second.Turns)
		}
		if len(last.Turns) != 0 || !slices.Equal(namesOf(last.Files), []string{"cat.png", "cat.png"}) || !strings.Contains(last.System, "found") {
			t.Errorf("the last round shows %v with %d turns", last.Files, len(last.Turns))
		}
	})
}

// showing is fakeTools whose results show a file.
type showing struct {
	*fakeTools
	file llm.File
}

func (s showing) Run(ctx context.Context, p tools.Place, step, name string, input json.RawMessage) (tools.Result, error) {
	r, err := s.fakeTools.Run(ctx, p, step, name, input)
	r.Files = []llm.File{s.file}
	return r, err
}

// More than a question may have is left out, the oldest first, and said.
func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(llmtest.Script(search("1", "2", "3", "4"), llmtest.Text("Cats."))))
	f := b.withTools()
	b.withFiles()
	b.Tools = showing{f, llm.File{Name: "found.png", MIME: "image/png", Data: pngOf(t, 8)}}
	var attached []workspace.SayOption
	for i := range 3 {
		attached = append(attached, workspace.WithFile(fmt.Sprint(i, ".png"), "image/png", pngOf(t, 10+i)))
	}
	m := b.attached(b.Mention("which?"), attached...)
	if _, out := b.play(ComposeInput{Task: inThread(m), Addressed: true}); out.Result != conversation.Done {
		t.Fatal(out.Result)
	}
	c := b.call(1)
	if !slices.Equal(namesOf(c.Files), []string{"0.png"}) || !strings.Contains(c.User, `The file "1.png" was not shown to you: no more than 5 files`) || !strings.Contains(c.User, `"2.png"`) {
		t.Errorf("shown %v, told %q", namesOf(c.Files), c.User)
	}
	if text := b.outbox(inThread(m))[0].Text; text != "Cats." {
		t.Errorf("the reply is %q", text)
	}
}

// Whoever asked is told what the model could not look at, by a line of the program's.
func TestModelWithoutEyes(t *testing.T) {
	for name, refusal := range map[string]string{
		"sees nothing": "Image input modality is not enabled for models/gemma-3-1b-it",
		"too large":    "image exceeds 5 MB maximum",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withModel(func(c llmtest.Call) llmtest.Reply {
				if len(c.Files) > 0 {
					return llmtest.Reply{Status: 400, Message: refusal}
				}
				return llmtest.Text("I cannot tell.")
			}))
			b.withFiles()
			m := b.attached(b.Mention("what is this?"), workspace.WithFile("<!here>`cat.png", "image/png", pngOf(t, 8)))
			if got := b.reply(inThread(m), true); got != conversation.Done {
				t.Fatal(got)
			}
			if got, want := b.outbox(inThread(m))[0].Text, "I cannot tell.\n\n(I could not look at `!here cat.png`: the model that I use does not take such files.)"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if c := b.call(1); !strings.Contains(c.User, "Do not guess what is in it.") {
				t.Errorf("the model is told %q", c.User)
			}
		})
	}
}

// A judged message that is nothing but a picture is judged with it.
func TestJudgeOfAPicture(t *testing.T) {
	t.Parallel()
	blind := false
	b := setup(t, withModel(func(c llmtest.Call) llmtest.Reply {
		if blind && len(c.Files) > 0 {
			return llmtest.Reply{Status: 400, Message: "this model does not support image input"}
		}
		return llmtest.No("a cat")
	}))
	b.withFiles()
	cat := workspace.WithFile("cat.png", "image/png", pngOf(t, 8))
	judged := func(m chat.Message) llmtest.Call {
		t.Helper()
		b.judge(atTopLevel(m))
		calls := b.Model.Calls()
		return calls[len(calls)-1]
	}
	if c := judged(b.attached("", cat)); len(c.Files) != 1 || !strings.Contains(c.System, "[image: cat.png]") || !strings.Contains(c.System, "it comes with this question") {
		t.Errorf("shown %v", c.Files)
	}
	if c := judged(b.attached("look!", cat)); len(c.Files) != 0 || strings.Contains(c.System, "picture without words") {
		t.Errorf("with words: shown %v", c.Files)
	}
	blind = true
	if c := judged(b.attached(" ", cat)); len(c.Files) != 0 || !strings.Contains(c.User, `"cat.png" was not shown to you: this model sees no pictures`) {
		t.Errorf("blind: shown %v, told %q", c.Files, c.User)
	}
	b.Agents.Files = nil
	if c := judged(b.attached("", cat)); len(c.Files) != 0 || !strings.Contains(c.System, "which you cannot see") {
		t.Errorf("nobody reads files: shown %v", c.Files)
	}
}
