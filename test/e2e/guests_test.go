package e2e

import (
	"strings"
	"testing"

	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// promptBy is promptFor for another author.
func (s *system) promptBy(user, channel, text string) string {
	s.t.Helper()
	before := len(s.replies())
	s.Workspace.Say(channel, user, s.mention(text))
	s.await("the model to be asked for an answer", func() bool { return len(s.replies()) > before })
	return s.replies()[before].System
}

// A guest may join no public channel. Their direct messages show them nothing of those, nor does a
// channel while they are in it. The same holds for people of another company, from the first message on: its
// event says that the channel is shared.
func TestGuestsAndStrangers(t *testing.T) {
	t.Parallel()
	s := start(t, testserver.Postgres(t), quiet(300), maxWait(600), modelAnswers(rememberLinesWith("harbour", "walrus")))
	random := s.Workspace.AddChannel(workspace.Public, "random", s.Workspace.Bot().UserID, s.alice.ID, s.bob.ID)
	gil := s.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true}).ID
	direct := s.Workspace.AddChannel(workspace.DM, "", gil)
	s.runWorkflow("ChannelSync", nil, nil)
	s.awaitStored(s.general, s.Workspace.Say(s.general, s.alice.ID, "the party is at the harbour"))
	s.awaitStored(random, s.Workspace.Say(random, s.alice.ID, "the codename is walrus"))
	s.runMemory()
	check := func(when, prompt string, others bool) {
		t.Helper()
		if shown := strings.Contains(prompt, "harbour") || strings.Contains(prompt, "#general"); shown != others {
			t.Errorf("%s: other channels are shown %v, want %v:\n%s", when, shown, others, prompt)
		}
	}
	outsiders := func(want int) {
		t.Helper()
		s.await("the door to know who is there", func() bool {
			in, err := s.store.OutsidersIn(t.Context(), "T0E2E")
			return err == nil && in[random] == want
		})
	}
	check("a guest's direct message", s.promptBy(gil, direct, "where is it?"), false)
	check("among colleagues", s.promptFor(random, "where?"), true)
	s.Workspace.Join(random, gil)
	outsiders(1)
	checkOwn := func(when, prompt string) {
		t.Helper()
		check(when, prompt, false)
		if !strings.Contains(prompt, "- 2026-01-01 the codename is walrus") {
			t.Errorf("%s the channel does not know its own memory:\n%s", when, prompt)
		}
	}
	checkOwn("with a guest", s.promptFor(random, "where, with the guest?"))
	check("asked by the guest", s.promptBy(gil, random, "where?"), false)
	check("elsewhere meanwhile", s.promptFor(s.general, "what is it called?"), true)
	s.Workspace.Leave(random, gil)
	outsiders(0)
	check("without the guest", s.promptFor(random, "and now?"), true)

	s.Workspace.SetGuest(s.bob.ID, true)
	s.await("the door to know who is a guest", func() bool {
		known, err := s.store.Users(t.Context(), "T0E2E", []string{s.bob.ID})
		return err == nil && known[s.bob.ID].Guest
	})
	check("a colleague became a guest", s.promptFor(random, "and what now?"), false)
	s.Workspace.SetGuest(s.bob.ID, false)
	outsiders(0)
	check("and is one no longer", s.promptFor(random, "once more?"), true)

	stranger := s.Workspace.AddUserAs(workspace.User{Name: "mallory", Team: "T0OTHER"})
	s.Workspace.Join(random, stranger.ID)
	for _, when := range []string{"before the next listing", "after it"} {
		checkOwn("with a stranger, "+when, s.promptFor(random, "where, "+when+"?"))
		s.runWorkflow("ChannelSync", nil, nil)
	}
	if prompt := s.promptFor(s.general, "what is it now?"); !strings.Contains(prompt, "walrus") {
		t.Errorf("colleagues are not told of the shared channel:\n%s", prompt)
	}
	s.Workspace.Leave(random, stranger.ID)
	s.runWorkflow("ChannelSync", nil, nil)
	check("among colleagues again", s.promptFor(random, "among us?"), true)
}
