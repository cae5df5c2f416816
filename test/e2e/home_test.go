package e2e

import (
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// openHome opens the Home tab as a user, again and again until done holds for its blocks, and returns them.
func (s *system) openHome(user string, done func(blocks string) bool) (blocks string) {
	s.t.Helper()
	served := s.published(user)
	var opened time.Time
	s.await("the Home tab of "+user, func() bool {
		n := s.published(user)
		if n > served {
			if blocks = string(s.Workspace.Home(user)); done(blocks) {
				return true
			}
		}
		if n > served || time.Since(opened) > 10*time.Second { // what takes six seconds is given up
			served, opened = n, time.Now()
			s.Workspace.OpenHome(user, "home")
		}
		return false
	})
	return blocks
}

func (s *system) awaitHome(user string, done func(blocks string) bool) (blocks string) {
	s.t.Helper()
	s.await("the Home tab of "+user, func() bool {
		blocks = string(s.Workspace.Home(user))
		return blocks != "" && done(blocks)
	})
	return blocks
}

func (s *system) published(user string) (n int) {
	for _, c := range s.Workspace.Calls("views.publish") {
		if c.Args.Get("user_id") == user {
			n++
		}
	}
	return n
}

func anything(string) bool { return true }

func holding(part string) func(string) bool {
	return func(blocks string) bool { return strings.Contains(blocks, part) }
}

// The Home tab shows each person what they may see in Slack, and its buttons do what the slash command
// does.
func TestHomeTab(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"http": nil, "socket": {socketMode}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sqlite(t), append(options, longAckTimeout, quiet(300), maxWait(600), configured("channels: {kept: {remember: here}, elsewhere: {mode: off}}"))...)
			bot := s.Workspace.Bot().UserID
			secret := s.Workspace.AddChannel(workspace.Private, "a<b&c", bot, s.alice.ID)
			s.Workspace.AddChannel(workspace.Public, "kept", bot, s.alice.ID)
			s.Workspace.AddChannel(workspace.Public, "elsewhere", bot, s.alice.ID)
			s.Workspace.AddChannel(workspace.Public, "without-bot", s.alice.ID, s.bob.ID)
			gil := s.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true}).ID
			s.runWorkflow("ChannelSync", nil, nil)
			for _, channel := range []string{s.general, secret} {
				s.awaitStored(channel, s.Workspace.Say(channel, s.alice.ID, "who has the walrus?"))
			}
			testserver.Must(t, testserver.ErrOf(s.store.AddNote(t.Context(), "T0E2E", secret, "step", chat.Note{TS: "1.000001", Author: s.alice.ID, Text: "the key is under <@U1> & co"})))
			if _, err := s.store.AddPromise(t.Context(), store.Promise{
				Choice: store.Choice{ID: "p1", TeamID: "T0E2E", ChannelID: secret, TriggerTS: "1.000001", Decision: "d1", Asker: s.alice.ID},
				What:   "look at <the> vault",
				Zone:   "UTC",
				DueUS:  time.Now().Add(time.Hour).UnixMicro(),
			}, store.PromiseLimits{Conversation: 1}); err != nil {
				t.Fatal(err)
			}
			testserver.Must(t, testserver.ErrOf(s.store.ShowPromises(t.Context(), "d1", "1.000002")))

			alices := s.openHome(s.alice.ID, func(blocks string) bool { return strings.Count(blocks, "I wait for quiet") == 2 })
			s.mustContain(alices, secret, "a\\u0026lt;b\\u0026amp;c", "|general", "|kept", "the key is under \\u0026lt;@U1\\u0026gt; \\u0026amp; co", "look at \\u0026lt;the\\u0026gt; vault",
				`I am off in this channel`, slack.ActionHomeMute, "names no operators")
			bobs := s.openHome(s.bob.ID, holding("I wait for quiet"))
			s.mustContain(bobs, "|general", "|elsewhere")
			guests := s.openHome(gil, anything)
			s.mustContain(guests, "I am in no channel that you can see")
			for who, blocks := range map[string]string{"alice": alices, "bob": bobs, "the guest": guests} {
				for _, not := range []string{"walrus", "without-bot"} {
					if strings.Contains(blocks, not) {
						t.Errorf("%s sees %q in %s", who, not, blocks)
					}
				}
				if who != "alice" && (strings.Contains(blocks, secret) || strings.Contains(blocks, "the key is") || strings.Contains(blocks, "vault") || strings.Contains(blocks, "|kept")) {
					t.Errorf("%s sees what they are not in: %s", who, blocks)
				}
			}

			// A guest sees the channel, and not what was said there before.
			gina := s.Workspace.AddUserAs(workspace.User{Name: "gina", Guest: true}).ID
			s.Workspace.Join(secret, gina)
			if blocks := s.openHome(gina, holding(secret)); strings.Contains(blocks, "vault") || strings.Contains(blocks, "the key is") {
				t.Errorf("a guest sees what was said before: %s", blocks)
			}

			// A button does what the command does; nobody silences what they cannot see.
			s.pressHomeUntil(s.bob.ID, slack.ActionHomeMute, secret, holding("I no longer know of that channel"))
			s.pressHomeUntil(s.bob.ID, slack.ActionHomeMute, s.general, holding(slack.ActionHomeUnmute))
			for channel, want := range map[string]bool{s.general: true, secret: false} {
				until, err := s.store.SilencedUntil(t.Context(), chat.Conversation{Team: "T0E2E", Channel: channel})
				if err != nil || until.After(time.Now()) != want {
					t.Errorf("%s is silent until %s, %v; want %v", channel, until, err, want)
				}
			}
			s.pressHomeUntil(s.bob.ID, slack.ActionHomeUnmute, s.general, func(blocks string) bool {
				return !strings.Contains(blocks, slack.ActionHomeUnmute)
			})

			// While Slack does not say where alice is, only public channels are shown.
			carol := s.Workspace.AddUser("carol").ID
			s.Workspace.Join(secret, carol)
			s.Workspace.Faults().Add(workspace.Fault{Method: "users.conversations", Error: "internal_error"})
			if blocks := s.openHome(carol, holding("|general")); strings.Contains(blocks, secret) {
				t.Errorf("shown without knowing who is there: %s", blocks)
			}
		})
	}
}

// pressHome presses a button of the Home tab, which is acknowledged in time.
func (s *system) pressHome(user, action, value string) {
	s.t.Helper()
	s.taken(action, func() *workspace.Interaction { return s.Workspace.PressHome(user, action, value) })
}

// pressHomeUntil presses a button until the tab shows what it does. An order that no worker confirms within eight
// seconds has failed, as the tab says.
func (s *system) pressHomeUntil(user, action, value string, done func(blocks string) bool) {
	s.t.Helper()
	s.repeat(action, func() { s.pressHome(user, action, value) }, func() bool { return done(string(s.Workspace.Home(user))) })
}
