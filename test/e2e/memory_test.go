package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"myao/internal/chat"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
	"myao/workflows"
)

// rememberLinesWith is a memory model that keeps the prompt's lines with one of these words. It
// answers all other calls with a text.
func rememberLinesWith(words ...string) llmtest.Handler {
	keep := regexp.MustCompile(strings.Join(words, "|"))
	return func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.Judgment():
			return llmtest.No("nobody asked")
		case c.Model != world.MemoryModel:
			return llmtest.Text("I see.")
		}
		lines := []string{"- 2026-01-01 The memory begins."}
		for _, line := range strings.Split(c.System, "\n") {
			if keep.MatchString(line) {
				lines = append(lines, "- 2026-01-01 "+strings.TrimPrefix(line, "- 2026-01-01 "))
			}
		}
		return llmtest.Text(strings.Join(lines, "\n"))
	}
}

// runMemory runs the memory workflow now.
func (s *system) runMemory() workflows.MemoryOutput {
	s.t.Helper()
	var out workflows.MemoryOutput
	s.runWorkflow("Memory", workflows.MemoryInput{}, &out)
	return out
}

func (s *system) runWorkflow(workflow string, in, out any) {
	s.t.Helper()
	run, err := s.Client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
		ID: "test-" + uuid.NewString(), TaskQueue: "myao", WorkflowExecutionTimeout: 2 * time.Minute,
	}, workflow, in)
	if err == nil {
		err = run.Get(s.t.Context(), out)
	}
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", workflow, err, s.report())
	}
}

// awaitStored waits until the database has these messages.
func (s *system) awaitStored(channel string, ts ...string) {
	s.t.Helper()
	for _, ts := range ts {
		s.await("the database to have "+ts, func() bool {
			_, err := s.store.Message(s.t.Context(), "T0E2E", channel, ts)
			return err == nil
		})
	}
}

// promptFor mentions the bot and returns the prompt for its reply.
func (s *system) promptFor(channel, text string, options ...workspace.SayOption) string {
	s.t.Helper()
	before := len(s.replies())
	s.Workspace.Say(channel, s.alice.ID, s.mention(text), options...)
	s.await("the model to be asked for an answer", func() bool { return len(s.replies()) > before })
	return s.replies()[before].System
}

// The bot knows in one channel what was said in a public thread of another, and does not know
// there what was said in private.
func TestMemory(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(300), maxWait(600), modelAnswers(rememberLinesWith("launch", "hush")))
	bot := s.Workspace.Bot().UserID
	random := s.Workspace.AddChannel(workspace.Public, "random", bot, s.alice.ID, s.bob.ID)
	secret := s.Workspace.AddChannel(workspace.Private, "hush-plans", bot, s.alice.ID)
	direct := s.Workspace.AddChannel(workspace.DM, "", s.bob.ID)
	s.runWorkflow("ChannelSync", nil, nil)

	root := s.Workspace.Say(s.general, s.alice.ID, "plans for friday?")
	party := s.Workspace.Say(s.general, s.bob.ID, "the launch party is at the harbour", workspace.InThread(root))
	hush := s.Workspace.Say(secret, s.alice.ID, "hush: the merger is on")
	own := s.Workspace.Say(direct, s.bob.ID, "hush: I am leaving")
	s.awaitStored(s.general, root, party)
	s.awaitStored(secret, hush)
	s.awaitStored(direct, own)
	s.await("the answer to the direct message", func() bool { return len(s.posts()) == 1 })
	s.awaitStored(direct, s.posts()[0].TS)

	got := s.runMemory()
	// A thread; short-term and long-term memory of three channels; the workspace.
	if want := (workflows.MemoryOutput{Threads: 1, Channels: 3, Workspace: true, Calls: 1 + 3*2 + 2}); got != want {
		t.Errorf("remembered %+v, want %+v", got, want)
	}
	calls := len(s.memories())
	for _, c := range s.memories() {
		if strings.Contains(c.System, "You are myao.") {
			t.Errorf("the prompt for a memory holds the persona:\n%s", c.System)
		}
	}

	prompt := s.promptFor(random, "when is the party?")
	if !strings.Contains(prompt, "harbour") || !strings.Contains(prompt, "#general") {
		t.Errorf("told in a thread of general, not known in random:\n%s", prompt)
	}
	if strings.Contains(prompt, "hush") || strings.Contains(prompt, "merger") || strings.Contains(prompt, "leaving") {
		t.Errorf("told in private, known in random:\n%s", prompt)
	}
	if prompt := s.promptFor(secret, "what is on?"); !strings.Contains(prompt, "hush: the merger is on") || !strings.Contains(prompt, "harbour") {
		t.Errorf("the private channel does not know its own memory, or that of the workspace:\n%s", prompt)
	}
	if n := len(s.memories()); n != calls {
		t.Errorf("%d calls for memories, want the %d of the one run", n, calls)
	}

	// Now only the bot's answers are new; after the next run nothing is.
	s.await("the answers", func() bool { return len(s.posts()) == 3 })
	for _, p := range s.posts()[1:] {
		s.awaitStored(p.Channel, p.TS)
	}
	if got := s.runMemory(); got.Channels != 2 || got.Threads != 2 || got.Failed != 0 {
		t.Errorf("after two answers in threads of their own: %+v", got)
	}
	calls = len(s.memories())
	if got, want := s.runMemory(), (workflows.MemoryOutput{}); got != want || len(s.memories()) != calls {
		t.Errorf("with nothing new: %+v and %d more calls; want nothing", got, len(s.memories())-calls)
	}
	versions, err := s.store.MemoryVersions(t.Context(), chat.Scope{Team: "T0E2E", Channel: s.general}, chat.LongTerm, 10)
	if err != nil || len(versions) != 1 || versions[0].Model != world.MemoryModel || len(versions[0].Sources) != 2 {
		t.Errorf("versions of general's long-term memory: %+v, %v; want one, of two messages", versions, err)
	}
}

// When Slack says that a channel has become private, its memory stays there at once: before the
// next message and before the next listing.
func TestChannelMadePrivate(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), modelAnswers(rememberLinesWith("harbour", "walrus")))
	random := s.Workspace.AddChannel(workspace.Public, "random", s.Workspace.Bot().UserID, s.alice.ID)
	s.runWorkflow("ChannelSync", nil, nil)
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.alice.ID, "the party is at the harbour"))
	s.runMemory()
	if prompt := s.promptFor(random, "where?"); !strings.Contains(prompt, "harbour") {
		t.Fatalf("not known while it was public:\n%s", prompt)
	}
	s.Workspace.SetPrivate(s.general, true)
	s.await("the channel to be closed", func() bool {
		known, err := s.store.Channels(t.Context(), "T0E2E", []string{s.general})
		return err == nil && known[s.general].Private
	})
	if prompt := s.promptFor(random, "where now?"); strings.Contains(prompt, "harbour") || strings.Contains(prompt, "#general") {
		t.Errorf("told of a channel that has just been made private:\n%s", prompt)
	}
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.alice.ID, "the codename is walrus"))
	for _, when := range []string{"before the next run", "after it"} {
		if prompt := s.promptFor(random, when+"?"); strings.Contains(prompt, "walrus") || strings.Contains(prompt, "harbour") || strings.Contains(prompt, "#general") {
			t.Errorf("%s the prompt holds a channel that is now private:\n%s", when, prompt)
		}
		s.runMemory()
	}
	if prompt := s.promptFor(s.general, "what is it?"); !strings.Contains(prompt, "- 2026-01-01 the codename is walrus") {
		t.Errorf("the channel does not know its own memory:\n%s", prompt)
	}
}

// What is remembered of a channel is known everywhere, until its settings keep it inside or forbid
// it. Then the workspace's memory is made anew without it.
func TestMemoryStaysHere(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), modelAnswers(rememberLinesWith("harbour", "walrus", "salary")))
	bot := s.Workspace.Bot().UserID
	board, pay := s.Workspace.AddChannel(workspace.Public, "board", bot, s.alice.ID), s.Workspace.AddChannel(workspace.Public, "pay", bot, s.alice.ID)
	s.runWorkflow("ChannelSync", nil, nil)
	for channel, text := range map[string]string{s.general: "the party is at the harbour", board: "the codename is walrus", pay: "the salary is 7"} {
		s.awaitStored(channel, s.Workspace.Say(channel, s.alice.ID, text))
	}
	s.runMemory()
	knows := func(when, channel, want string, lacks ...string) {
		t.Helper()
		prompt := s.promptFor(channel, "what is on, "+when+"?")
		for _, word := range append(lacks, want) {
			if strings.Contains(prompt, word) != (word == want) {
				t.Errorf("%s, about %q in the prompt of %s:\n%s", when, word, channel, prompt)
			}
		}
	}
	knows("at first", s.general, "walrus")
	knows("at first", s.general, "salary")

	s.worker.Stop()
	s.Configure("channels: {board: {remember: here}, " + pay + ": {remember: nowhere}}")
	s.worker.Start()
	knows("before the next run", s.general, "harbour", "walrus", "salary")
	before := len(s.memories())
	if got := s.runMemory(); !got.Workspace || got.Failed != 0 {
		t.Errorf("the next run: %+v", got)
	}
	for _, c := range s.memories()[before:] {
		if strings.Contains(c.System, "salary") || strings.Contains(c.System, "walrus") && strings.Contains(c.System, "harbour") {
			t.Errorf("the next run was shown\n%s", c.System)
		}
	}
	long, short, err := s.store.WorkspaceMemories(t.Context(), "T0E2E", "")
	if err != nil || long == nil || !strings.Contains(long.Text, "harbour") || strings.Contains(long.Text+short.Text, "walrus") || strings.Contains(long.Text+short.Text, "salary") {
		t.Errorf("the workspace remembers %+v and %+v, %v", long, short, err)
	}
	knows("after it", s.general, "harbour", "walrus", "salary")
	knows("after it", board, "- 2026-01-01 the codename is walrus", "salary")
	knows("after it", pay, "harbour", "- 2026-01-01 the salary", "walrus")
}

// The schedule starts the run, and the worker is killed during it.
func TestKilledWhileRemembering(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	s := start(t, sqlite(t), quiet(300), maxWait(600), modelAnswers(func(c llmtest.Call) llmtest.Reply {
		if c.Model == world.MemoryModel && c.N == 4 {
			close(slow)
			return llmtest.Reply{Text: "too late", Delay: time.Minute}
		}
		return llmtest.Text(fmt.Sprintf("- 2026-01-01 memory %d", c.N))
	}))
	var channels []string
	for i := range 3 {
		channel := s.Workspace.AddChannel(workspace.Public, fmt.Sprint("channel-", i), s.Workspace.Bot().UserID, s.alice.ID)
		channels = append(channels, channel)
		s.awaitStored(channel, s.Workspace.Say(channel, s.alice.ID, "something to remember"))
	}
	s.runWorkflow("ChannelSync", nil, nil)
	handle := s.Client.ScheduleClient().GetHandle(t.Context(), "memory")
	testserver.Must(t, handle.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	s.await("the model to be asked", closed(slow))
	s.worker.Kill()
	s.worker.Start()
	var out workflows.MemoryOutput
	s.await("the run", func() bool {
		d, err := handle.Describe(t.Context())
		if err != nil || len(d.Info.RecentActions) == 0 {
			return false
		}
		id := d.Info.RecentActions[0].StartWorkflowResult
		return s.Client.GetWorkflow(t.Context(), id.WorkflowID, id.FirstExecutionRunID).Get(t.Context(), &out) == nil
	})
	// If the worker was killed between storing and reporting a channel's memories, the second attempt
	// finds nothing new there. So check the database rather than the run's count.
	if !out.Workspace || out.Failed != 0 {
		t.Errorf("remembered %+v", out)
	}
	for _, channel := range append(channels, "") {
		scope := chat.Scope{Team: "T0E2E", Channel: channel}
		for _, term := range []chat.Term{chat.ShortTerm, chat.LongTerm} {
			if versions, err := s.store.MemoryVersions(t.Context(), scope, term, 10); err != nil || len(versions) != 1 {
				t.Errorf("%d versions of the %v memory of %q, %v; want one", len(versions), term, channel, err)
			}
		}
	}
	// Three channels and the workspace need two calls each. Only calls under way at the kill are repeated.
	if n := len(s.memories()); n < 9 || n > 8+4 {
		t.Errorf("%d calls, want 8 plus those that the kill interrupted", n)
	}
}

func TestPromptCommand(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), modelAnswers(rememberLinesWith("harbour")))
	root := s.Workspace.Say(s.general, s.alice.ID, "plans for friday?")
	reply := s.Workspace.Say(s.general, s.bob.ID, "the harbour", workspace.InThread(root))
	s.awaitStored(s.general, root, reply)
	command := func(args ...string) (out string, status int) {
		stdout, stderr, status := s.Command(append([]string{"prompt"}, args...)...)
		return stdout + stderr, status
	}
	for _, c := range []struct {
		args  []string
		calls int
		has   []string
	}{
		{[]string{"--for", "response", "--channel", s.general, "--thread", root}, 0, []string{"You are myao.", "plans for friday?", "the harbour"}},
		{[]string{"--for", "judgment", "--channel", s.general}, 0, []string{"should_respond", "plans for friday?"}},
		{[]string{"--for", "memory", "--channel", s.general, "--thread", root}, 0, []string{"short-term memory of thread", "the harbour"}},
		{[]string{"--for", "memory", "--channel", s.general}, 0, []string{"short-term memory of channel", "long-term memory of channel"}},
		{[]string{"--for", "memory", "--channel", s.general, "--ask"}, 2, []string{"answer of " + world.MemoryModel, "- 2026-01-01 the harbour"}},
		{[]string{"--for", "response", "--channel", s.general, "--thread", root, "--ask"}, 1, []string{"I see."}},
		{[]string{"--for", "judgment", "--channel", s.general, "--json"}, 0, []string{`"for": "judgment"`, `"system": "`, `plans for friday?\n`}},
	} {
		before := len(s.Model.Calls())
		out, status := command(c.args...)
		if status != 0 {
			t.Fatalf("prompt %v: %d\n%s", c.args, status, out)
		}
		for _, want := range c.has {
			if !strings.Contains(out, want) {
				t.Errorf("prompt %v lacks %q:\n%s", c.args, want, out)
			}
		}
		if calls := len(s.Model.Calls()) - before; calls != c.calls {
			t.Errorf("prompt %v: %d calls of the model, want %d", c.args, calls, c.calls)
		}
	}
	if out, status := command("--for", "memory"); status == 0 || !strings.Contains(out, "nothing new to remember of workspace") {
		t.Errorf("of a workspace without memories: %d, %s", status, out)
	}
	if out, status := command("--for", "dreams"); status == 0 || !strings.Contains(out, "response") {
		t.Errorf("for dreams: %d, %s", status, out)
	}
	if n := len(s.posts()); n != 0 {
		t.Errorf("%d posts, want none", n)
	}
	// The command prints the prompt that the model got for the newest message, with the same tools.
	// It shows a line in place of a picture.
	var cat bytes.Buffer
	testserver.Must(t, png.Encode(&cat, image.NewGray(image.Rect(0, 0, 8, 6))))
	sent := s.promptFor(s.general, "", workspace.InThread(root), workspace.WithFile("cat.png", "image/png", cat.Bytes()))
	printed, status := command("--for", "response", "--channel", s.general, "--thread", root)
	if status != 0 {
		t.Fatal(printed)
	}
	for _, line := range strings.Split(sent, "\n") {
		if asked := line == "@myao" || strings.HasPrefix(line, "**") || strings.HasPrefix(line, "Current time"); !asked && !strings.Contains(printed, line) {
			t.Errorf("sent and not printed: %q", line)
		}
	}
	replies := s.replies()
	answered := replies[len(replies)-1]
	if files := answered.Files; len(files) != 1 || !strings.Contains(printed, "\n"+files[0].String()+"\n") {
		t.Errorf("sent %v and printed\n%s", files, printed)
	}
	clock := regexp.MustCompile(` \d\d:\d\d\b`)
	for _, tool := range answered.Tools {
		if offered := "\n" + tool.Name + ": " + tool.Description + "\n"; !strings.Contains(clock.ReplaceAllString(printed, ""), clock.ReplaceAllString(offered, "")) {
			t.Errorf("offered and not printed: %s", offered)
		}
	}
	if len(answered.Tools) == 0 {
		t.Error("no tools were offered")
	}
}
