package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"myao/internal/conversation"
	"myao/internal/operate/operator"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// manyParts is an answer of 20 messages, which take 20 seconds to post.
var manyParts = strings.TrimSpace(strings.Repeat(strings.Repeat("A long paragraph. ", 200)+"\n\n", 20))

// One order stops everything: it needs no Temporal, it ends a long reply between two of its parts,
// it silences replies that wait, and it outlasts the programs.
func TestMuteEverywhere(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(1), maxDelay(600), modelAnswers(judgeAndAnswer(manyParts, llmtest.Yes("nobody answered", 0.8, 600))))
	attic := s.Workspace.AddChannel(workspace.Private, "attic", s.Workspace.Bot().UserID, s.alice.ID)
	s.Workspace.Say(attic, s.alice.ID, "where is the ladder?")
	s.awaitPhase(attic, conversation.Delaying)
	long := s.Workspace.Say(s.general, s.alice.ID, s.mention("tell me everything"))
	s.await("the first parts", func() bool { return len(s.posts()) >= 2 })
	goOn := s.holdPosts(s.general)

	env := s.Env
	s.Env = append(slices.Clone(env), "TEMPORAL_ADDRESS=127.0.0.1:1")
	if stdout, stderr, status := s.Command("mute", "--everywhere"); status != 0 || !strings.Contains(stdout, "mute: done everywhere, by cli:carol\n") {
		t.Fatalf("%d %q %q", status, stdout, stderr)
	}
	s.Env = env
	goOn()
	s.await("the rest to be given up", func() bool {
		return slices.Contains(s.outcomes("thread/T0E2E/"+s.general+"/"+long), "silent silenced")
	})
	posts := s.posts()
	if len(posts) == strings.Count(manyParts, "\n\n")+1 {
		t.Error("the long reply was posted to its end")
	}
	s.mustContain(s.told("why", s.general, long), "cli:carol ordered: mute everywhere", "silent after all, by rule silenced: the bot is muted everywhere")

	// The reply that waits is silenced when it is due, and so is a mention, with other processes.
	s.worker.Stop()
	s.starter.Stop()
	s.worker.Start()
	s.starter.Start()
	s.Ready()
	s.told("answer-now", attic)
	s.await("the silence of the reply that waited", func() bool {
		return slices.Equal(s.outcomes("channel/T0E2E/"+attic), []string{"silent silenced"})
	})
	mention := s.Workspace.Say(s.general, s.alice.ID, s.mention("hello?"))
	s.await("the silence", func() bool {
		rows := s.decisions("thread/T0E2E/" + s.general + "/" + mention)
		return len(rows) == 1 && rows[0].Rule == "silenced" && rows[0].Reason == conversation.ReasonMutedEverywhere
	})
	if n := len(s.posts()); n != len(posts) {
		t.Errorf("%d posts after the mute", n-len(posts))
	}
	s.mustContain(s.told("show", attic), "everywhere since", "by cli:carol, until: starter unmute --everywhere")
	s.mustContain(s.told("conversations"), "The bot is silent everywhere since")
	if out, _, _ := s.Command("doctor"); !strings.Contains(out, "the bot is muted everywhere, since") {
		t.Errorf("the doctor says %q", out)
	}
	s.mustContain(s.told("unmute", attic), "The bot stays silent everywhere")
	if got := s.metric("myao_muted_everywhere"); got != "1" {
		t.Errorf("the metric is %q", got)
	}

	s.told("unmute", "--everywhere")
	again := s.Workspace.Say(s.general, s.alice.ID, s.mention("and now?"))
	s.await("an answer", func() bool { return len(s.posts()) > len(posts) })
	if p := s.posts()[len(posts)]; p.ThreadTS != again {
		t.Errorf("after the unmute it posted in %s, want %s", p.ThreadTS, again)
	}
	if got := s.metric("myao_muted_everywhere"); got != "0" {
		t.Errorf("the metric is %q", got)
	}
}

// drop --all drops what waits in all conversations, and says where it could not.
func TestDropAll(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(1), maxDelay(600), modelAnswers(judgeAndAnswer(manyParts, llmtest.Yes("nobody answered", 0.8, 600))))
	attic := s.Workspace.AddChannel(workspace.Private, "attic", s.Workspace.Bot().UserID, s.alice.ID)
	cellar := s.Workspace.AddChannel(workspace.Public, "cellar", s.Workspace.Bot().UserID, s.alice.ID)
	for _, channel := range []string{attic, cellar} {
		s.Workspace.Say(channel, s.alice.ID, "where is the ladder?")
		s.awaitPhase(channel, conversation.Delaying)
	}
	mention := s.Workspace.Say(s.general, s.alice.ID, s.mention("tell me everything"))
	s.await("a reply under way", func() bool { return len(s.posts()) > 0 })
	goOn := s.holdPosts(s.general)

	s.commandFails("nothing was done", "drop", "--all")
	stdout, stderr, status := s.Command("drop", "--all", "--yes")
	s.mustContain(stdout, "dropped in 2 conversations; nothing waited in ", "not dropped in #general, thread "+mention+": its reply is being posted")
	goOn()
	s.mustContain(stderr, "conversations told\n", "not dropped in 1 of ")
	if status != 1 {
		t.Errorf("status %d", status)
	}
	for _, channel := range []string{attic, cellar} {
		s.await("the ledger", func() bool {
			return slices.Equal(s.outcomes("channel/T0E2E/"+channel), []string{"dropped cli:carol"})
		})
	}
}

// holdPosts has Slack put off what is posted in a channel, until goOn is called.
func (s *system) holdPosts(channel string) (goOn func()) {
	return s.faultPostsIn(channel, 0, workspace.Fault{Status: http.StatusTooManyRequests, RetryAfter: "1"})
}

// told runs a command that must succeed, and returns what it prints.
func (s *system) told(args ...string) string {
	s.t.Helper()
	stdout, stderr, status := s.Command(args...)
	if status != 0 {
		s.t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
	return stdout
}

// awaitPhase waits until the top level of a channel is in a phase.
func (s *system) awaitPhase(channel string, phase conversation.Phase) {
	s.t.Helper()
	s.await(string(phase), func() bool {
		var all []operator.Listed
		// which refuses a channel not yet listed
		stdout, _, status := s.Command("conversations", "--channel", channel, "--json")
		return status == 0 && json.Unmarshal([]byte(stdout), &all) == nil && len(all) == 1 && all[0].Phase == phase
	})
}

// metric returns a value of the starter's metrics.
func (s *system) metric(name string) string {
	s.t.Helper()
	for line := range strings.Lines(scrape(s.t, s.starter.Address)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
