package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/slack"
	"myao/internal/slack/manifest"
	"myao/sandbox/workspace"
	"myao/test/testserver"
	"myao/test/world"
	"myao/workflows"
)

// catchUp reads what may have been missed, as the schedule does, and catchUpAll all channels.
func (s *system) catchUp() (out workflows.CatchUpOutput) {
	s.t.Helper()
	s.runWorkflow("CatchUp", workflows.CatchUpInput{}, &out)
	return out
}

func (s *system) catchUpAll() (out workflows.CatchUpOutput) {
	s.t.Helper()
	s.runWorkflow("CatchUpAll", workflows.CatchUpAllInput{}, &out)
	return out
}

// postsInThread counts the bot's posts in a thread; "" means at the top level.
func (s *system) postsInThread(thread string) int {
	n := 0
	for _, p := range s.posts() {
		if p.ThreadTS == thread {
			n++
		}
	}
	return n
}

// Messages sent while both programs were down are answered once they are back, in every kind
// of conversation, if they are young enough.
func TestSaidWhileDown(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600))
	now := time.Now()
	// Two old threads: one that the bot knows, and one without replies yet.
	known := s.Workspace.Say(s.general, s.alice.ID, "an old matter", workspace.At(now.Add(-72*time.Hour)))
	first := s.Workspace.Say(s.general, s.bob.ID, "I had a look", workspace.InThread(known), workspace.At(now.Add(-71*time.Hour)))
	untouched := s.Workspace.Say(s.general, s.bob.ID, "nobody said anything to this", workspace.At(now.Add(-70*time.Hour)))
	s.awaitStored(s.general, known, first, untouched)
	s.starter.Stop()
	s.worker.Stop()

	top := s.Workspace.Say(s.general, s.alice.ID, s.mention("at the top level?"), workspace.WithoutEvent())
	s.Workspace.Say(s.general, s.alice.ID, s.mention("in an old thread?"), workspace.InThread(known), workspace.WithoutEvent())
	s.Workspace.Say(s.general, s.alice.ID, s.mention("under an old message?"), workspace.InThread(untouched), workspace.WithoutEvent())
	direct := s.Workspace.AddChannel(workspace.DM, "", s.alice.ID)
	s.Workspace.Say(direct, s.alice.ID, "in a direct message?", workspace.WithoutEvent()) // the first message there
	later := s.Workspace.Say(s.general, s.bob.ID, "and nothing of interest", workspace.WithoutEvent())

	s.worker.Start()
	s.starter.Start()
	s.Ready()
	s.await("the answers", func() bool {
		return s.postsInThread(top) == 1 && s.postsInThread(known) == 1 && s.postsInThread(untouched) == 1 && s.postsInThread("") == 1
	})
	s.awaitStored(s.general, later)
	s.catchUpAll()
	s.never("an answer more", 5*time.Second, func() bool { return len(s.posts()) > 4 })
	for _, c := range s.replies() {
		if !regexp.MustCompile(`at the top level\?|in an old thread\?|under an old message\?|in a direct message\?`).MatchString(c.System) {
			t.Errorf("a reply to none of the questions:\n%s", c.System)
		}
	}
}

// When Slack says that it drops events, the next run of the schedule reads what they were, also what is older
// than a delivered message. Without a gap a run reads nothing.
func TestDroppedEventsAreCaughtUp(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600))
	s.Workspace.Faults().SuppressEvents(true)
	missed := s.Workspace.Say(s.general, s.alice.ID, s.mention("can you hear me?"))
	s.Workspace.Faults().SuppressEvents(false)
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.bob.ID, "the line is back"))
	calls := len(s.Workspace.Calls("conversations.history"))
	if out := s.catchUp(); out != (workflows.CatchUpOutput{}) || len(s.Workspace.Calls("conversations.history")) != calls {
		t.Errorf("without a gap: %+v, and calls of Slack", out)
	}
	notice := fmt.Sprintf(`{"type":"app_rate_limited","team_id":%q,"minute_rate_limited":%d}`, s.Workspace.Team(), time.Now().Unix())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.starter.Address+manifest.EventsPath, strings.NewReader(notice))
	testserver.Must(t, err)
	req.Header = slack.Sign([]byte(notice), world.SigningSecret, time.Now())
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal("the notice was not taken:", resp, err)
	}
	_ = resp.Body.Close()
	s.await("the gap", func() bool {
		gaps, err := s.store.Gaps(t.Context(), s.Workspace.Team())
		return err == nil && gaps.Due
	})
	if out := s.catchUp(); out.Taken != 1 || out.New != 1 || out.Failed != 0 {
		t.Errorf("after the notice: %+v; want one message that was not known, and taken", out)
	}
	s.await("the answer", func() bool { return s.postsInThread(missed) == 1 })
	if out := s.catchUpAll(); out.Taken != 0 || out.Failed != 0 {
		t.Errorf("caught up again: %+v; want nothing", out)
	}
	s.never("a second answer", 4*time.Second, func() bool { return len(s.posts()) > 1 })
}

// A mention may be stored from its thread's history before its own event comes. It is answered
// once, even if the event never comes.
func TestStoredIsNotHandled(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600))
	never, late := s.room(), s.room()
	s.runWorkflow("ChannelSync", nil, nil)
	for room, fault := range map[string]workspace.EventFault{never: {Drop: true}, late: {Hold: 1000}} {
		root := s.Workspace.Say(room, s.bob.ID, "a thread", workspace.WithoutEvent())
		fault.Match = func(e workspace.Event) bool { return e.Channel == room && e.User == s.alice.ID }
		s.Workspace.Faults().AddEvent(fault)
		alices := s.Workspace.Say(room, s.alice.ID, s.mention("and me?"), workspace.InThread(root))
		s.Workspace.Say(room, s.bob.ID, s.mention("can you help?"), workspace.InThread(root))
		s.await("bob's answer", func() bool { return len(s.postsIn(room)) > 0 })
		s.awaitStored(room, alices) // from the thread's history
	}
	s.Workspace.ReleaseHeld()
	s.await("alice's answer after the late event", func() bool { return len(s.postsIn(late)) == 2 })
	s.catchUpAll()
	s.await("alice's answer without an event", func() bool { return len(s.postsIn(never)) == 2 })
	s.catchUpAll()
	s.never("a third answer", 5*time.Second, func() bool { return len(s.posts()) > 4 })
}

// A message that is too old, or from before the bot joined, is stored and not answered.
func TestOldIsStoredAndNotAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), quiet(300), maxWait(600), configured("channels: {general: {max_message_age_seconds: 3600}}"))
	now := time.Now()
	old := s.Workspace.Say(s.general, s.alice.ID, s.mention("two hours ago?"), workspace.At(now.Add(-2*time.Hour)), workspace.WithoutEvent())
	random := s.Workspace.AddChannel(workspace.Public, "random", s.alice.ID, s.bob.ID)
	before := s.Workspace.Say(random, s.alice.ID, s.mention("are you in here?"))
	s.Workspace.Join(random, s.Workspace.Bot().UserID)
	if out := s.catchUpAll(); out.Channels != 2 || out.New < 2 || out.Taken != 0 || out.Failed != 0 {
		t.Errorf("caught up: %+v; want two channels, and nothing taken", out)
	}
	s.awaitStored(s.general, old)
	s.awaitStored(random, before)
	missed := s.Workspace.Say(random, s.alice.ID, s.mention("and now?"), workspace.WithoutEvent())
	s.catchUpAll()
	s.await("the answer, and the introduction", func() bool { return s.postsInThread(missed) == 1 && s.postsInThread("") == 1 })
	s.never("an answer to what is old", 4*time.Second, func() bool { return len(s.posts()) > 2 })
}
