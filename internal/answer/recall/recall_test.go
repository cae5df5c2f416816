package recall

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/test/inprocess"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bundle is a Builder in a world without a workspace, at noon.
type bundle struct {
	*inprocess.World
	*Builder
	slack *inprocess.Slack
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupIn(t, inprocess.NewWithoutWorkspace(t, inprocess.Options{At: noon}))
}

func setupIn(t *testing.T, w *inprocess.World) *bundle {
	t.Helper()
	b := &bundle{World: w, slack: inprocess.NewSlack(
		slack.Channel{ID: "C1", Name: "general"}, slack.Channel{ID: "G1", Name: "secret", Private: true}, slack.Channel{ID: "D1", Private: true, Direct: true},
	)}
	b.slack.Names, b.slack.In = map[string]string{"U1": "alice", "U2": "bob", "B2": "robot"}, map[string][]string{}
	b.Builder = &Builder{
		Store: w.Database, Own: b.slack.Own, Users: b.slack, Directory: w.NewDirectory(b.slack, config.Config{}), Persona: chat.Persona{Name: "myao", SystemPrompt: "p"},
		MessagesLimit: 50, Clock: w.Time.Now, Logger: inprocess.Silent,
	}
	return b
}

func at(n int) string { return chat.TS(noon.Add(time.Duration(n) * time.Second)) }

func (b *bundle) say(messages ...chat.Message) {
	b.Helper()
	for _, m := range messages {
		m.Team = "T1"
		if m.Channel == "" {
			m.Channel = "C1"
		}
		b.Record(m)
	}
}

func (b *bundle) build(channel, thread string) Recollection {
	b.Helper()
	r, err := b.Build(b.Context(), chat.Conversation{Team: "T1", Channel: channel, Thread: thread}, false, "")
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func TestNamesAreSavedForADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(
		chat.Message{TS: at(1), UserID: "U1", Text: "hello <@U2|old label> and <@UBOT>"},
		chat.Message{TS: at(2), BotID: "B9", UserID: "B2", Text: "beep"},
		chat.Message{TS: at(3), BotID: "B9", Name: "its own name", Text: "beep"},
		chat.Message{TS: at(4), BotID: "B9", Text: "beep"},
		chat.Message{TS: at(5), UserID: "UBOT", BotID: "BBOT", Own: true, Name: "slackname", Text: "mine"},
	)
	check := func(when string, asked int) {
		t.Helper()
		r := b.build("C1", "")
		var names []string
		for _, m := range r.Target() {
			names = append(names, m.Name)
		}
		if got, want := strings.Join(names, ", "), "alice, robot, its own name, B9, myao"; got != want {
			t.Errorf("%s: said by %s, want %s", when, got, want)
		}
		if want := map[string]string{"U1": "alice", "U2": "bob", "B2": "robot", "UBOT": "myao"}; !maps.Equal(r.Names, want) {
			t.Errorf("%s: names %v, want %v", when, r.Names, want)
		}
		if want := map[string]string{"C1": "general"}; !maps.Equal(r.Channels, want) || r.Conversation.ChannelName != "general" {
			t.Errorf("%s: channels %v, of %q", when, r.Channels, r.Conversation.ChannelName)
		}
		if !reflect.DeepEqual(r.Persona, b.Persona) || r.TargetThread != "" {
			t.Errorf("%s: %+v", when, r.Context)
		}
		for _, id := range []string{"U1", "U2", "B2", "C1"} {
			if got := b.slack.Asked(id); got != asked {
				t.Errorf("%s: asked %d times for %s, want %d", when, got, id, asked)
			}
		}
		for _, id := range []string{"UBOT", ""} {
			if got := b.slack.Asked(id); got != 0 {
				t.Errorf("%s: asked for %q", when, id)
			}
		}
		kept, err := b.Database.Users(t.Context(), "T1", []string{"U1", "B2"})
		if err != nil || kept["U1"].Bot || !kept["B2"].Bot {
			t.Errorf("%s: kept as %+v, %v; want B2 alone to be a bot", when, kept, err)
		}
	}
	check("at first", 1)
	check("again", 0)
	b.Time.Set(noon.Add(24 * time.Hour))
	check("a day later", 0)
	b.Time.Set(noon.Add(24*time.Hour + time.Second))
	check("more than a day later", 1)
	check("again", 0)
	if b.slack.NoDeadline() {
		t.Error("Slack was asked for a name without a deadline")
	}
}

func TestNewNamesAfterADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(chat.Message{TS: at(1), UserID: "U1", Text: "hello"})
	b.build("C1", "")
	b.slack.Names["U1"] = "alicia"
	b.slack.Channels["C1"] = slack.Channel{ID: "C1", Name: "renamed"}
	if r := b.build("C1", ""); r.Names["U1"] != "alice" || r.Channels["C1"] != "general" {
		t.Errorf("at once: %v, %v", r.Names, r.Channels)
	}
	b.Time.Set(noon.Add(25 * time.Hour))
	if r := b.build("C1", ""); r.Names["U1"] != "alicia" || r.Channels["C1"] != "renamed" || r.Target()[0].Name != "alicia" {
		t.Errorf("a day later: %v, %v", r.Names, r.Channels)
	}
	// A name stays when Slack no longer knows the user.
	delete(b.slack.Names, "U1")
	b.Time.Set(noon.Add(49*time.Hour + time.Minute + time.Second))
	if r := b.build("C1", ""); r.Names["U1"] != "alicia" || b.slack.Asked("U1") == 0 {
		t.Errorf("when she has left: %v", r.Names)
	}
	// If Slack fails, the old names stay.
	b.slack.Err = errors.New("away")
	b.Time.Set(noon.Add(100 * time.Hour))
	if r := b.build("C1", ""); r.Names["U1"] != "alicia" || r.Channels["C1"] != "renamed" {
		t.Errorf("while Slack fails: %v, %v", r.Names, r.Channels)
	}
}

func TestIDsWhereSlackFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.slack.Err = errors.New("away")
	b.say(chat.Message{TS: at(1), UserID: "U1", Text: "hello <@U2>"}, chat.Message{TS: at(2), UserID: "UBOT", Own: true, Text: "mine"})
	r := b.build("C1", "")
	if got := r.Target(); got[0].Name != "U1" || got[1].Name != "myao" {
		t.Errorf("said by %q and %q", got[0].Name, got[1].Name)
	}
	if want := map[string]string{"UBOT": "myao"}; !maps.Equal(r.Names, want) || len(r.Channels) != 0 {
		t.Errorf("names %v, channels %v", r.Names, r.Channels)
	}
	// A failure is not saved for a day.
	b.slack.Err = nil
	if r := b.build("C1", ""); r.Names["U1"] != "alice" || r.Names["U2"] != "bob" || r.Channels["C1"] != "general" {
		t.Errorf("names %v, channels %v", r.Names, r.Channels)
	}
}

// Many mentions of unknown users neither crowd out the names of authors nor make the bot ask
// Slack again and again.
func TestManyMentionsDoNotHideAuthors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var crowd strings.Builder
	for n := range 2 * maxNames {
		fmt.Fprintf(&crowd, "<@X%d> <#X%d>", n, n)
	}
	b.say(chat.Message{TS: at(1), UserID: "U1", Text: "hello"}, chat.Message{TS: at(2), UserID: "U2", Text: crowd.String()})
	r := b.build("C1", "")
	if r.Names["U1"] != "alice" || r.Names["U2"] != "bob" || r.Channels["C1"] != "general" {
		t.Errorf("names %v, channels %v", r.Names, r.Channels)
	}
	if got := b.slack.AskedForAll(); got > maxNameRequests+1 {
		t.Errorf("Slack was asked %d times", got)
	}
	for range maxNames / maxNameRequests {
		b.build("C1", "")
	}
	b.slack.AskedForAll()
	if b.build("C1", ""); b.slack.AskedForAll() != 0 {
		t.Error("Slack is asked again for those it does not know")
	}
	if r := b.build("C1", ""); r.Names["X1"] != "" {
		t.Errorf("a stranger is called %q", r.Names["X1"])
	}
}

func TestPrivateChannelNamesStayThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(
		chat.Message{Channel: "G1", TS: at(1), UserID: "U1", Text: "see <#C1> and <#G1>"},
		chat.Message{Channel: "C1", TS: at(1), UserID: "U1", Text: "see <#G1|> and <#C9> and <#D1>"},
		chat.Message{Channel: "D1", TS: at(1), UserID: "U1", Text: "see <#G1>"},
	)
	if r := b.build("G1", ""); !maps.Equal(r.Channels, map[string]string{"G1": "secret"}) {
		t.Errorf("in the private channel: %v", r.Channels)
	}
	if r := b.build("C1", ""); !maps.Equal(r.Channels, map[string]string{"C1": "general"}) {
		t.Errorf("in public: %v", r.Channels)
	}
	if r := b.build("D1", ""); len(r.Channels) != 0 || r.Conversation.ChannelName != "" {
		t.Errorf("in a DM: %v", r.Channels)
	}
	if r := b.build("G1", ""); !maps.Equal(r.Channels, map[string]string{"G1": "secret", "C1": "general"}) {
		t.Errorf("in the private channel, which sees the public one: %v", r.Channels)
	}
	if got := b.slack.Asked("C9"); got != 0 {
		t.Error("Slack was asked for a channel that is only spoken of")
	}
}

func TestSaw(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(
		chat.Message{TS: at(1), UserID: "U1", Text: "parent"},
		chat.Message{TS: at(3), ThreadTS: at(1), UserID: "U1", Text: "reply"},
		chat.Message{TS: at(4), ThreadTS: at(1), UserID: "U1", Deleted: true},
		chat.Message{TS: at(5), UserID: "U1", Text: "top"},
		chat.Message{TS: at(7), ThreadTS: at(6), UserID: "U1", Text: "elsewhere"},
	)
	for thread, want := range map[string]time.Time{"": noon.Add(5 * time.Second), at(1): noon.Add(3 * time.Second), at(99): {}} {
		if r := b.build("C1", thread); !r.Saw.Equal(want) {
			t.Errorf("thread %q: saw %v, want %v", thread, r.Saw, want)
		}
	}
	if r := b.build("C7", ""); !r.Saw.IsZero() || len(r.Conversation.All()) != 0 {
		t.Errorf("of an empty channel: %+v", r)
	}
}

func TestMessagesLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.MessagesLimit = 3
	b.say(chat.Message{TS: at(0), UserID: "U1", Text: "parent"})
	for n := range 10 {
		b.say(chat.Message{TS: at(n + 1), ThreadTS: at(0), UserID: "U1", Text: "reply"})
	}
	for _, when := range []string{"at its end", "with more said elsewhere"} {
		r := b.build("C1", at(0))
		if got := r.Target(); len(got) != 4 || got[0].TS != at(0) || got[1].TS != at(8) || r.Conversation.Omitted != 7 {
			t.Errorf("%s: target %+v, %d left out", when, got, r.Conversation.Omitted)
		}
		for n := range b.MessagesLimit {
			b.say(chat.Message{TS: at(n + 11), UserID: "U1", Text: "elsewhere"})
		}
	}
}

func TestEarlierMessagesAround(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.MessagesLimit = 3
	b.say(chat.Message{TS: at(0), UserID: "U1", Text: "parent"}, chat.Message{TS: at(1), UserID: "U1", Text: "not shown"})
	for n := range 3 {
		b.say(chat.Message{TS: at(n + 2), ThreadTS: at(0), UserID: "U1", Text: "reply"})
	}
	b.say(chat.Message{TS: at(5), UserID: "U1", Text: "question"})
	for thread, want := range map[string][]string{"": {at(0)}, at(5): {"", at(0)}} {
		c := b.build("C1", thread).Conversation
		if !slices.Equal(c.Earlier, want) || !c.Since.Equal(noon.Add(3*time.Second)) {
			t.Errorf("thread %q: earlier messages in %q, before %v; want %q, before 12:00:03", thread, c.Earlier, c.Since, want)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := chat.Conversation{Team: "T1", Channel: "C1"}
	if err := b.Database.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(b.Context(), c, false, ""); err == nil {
		t.Error("a context without a database")
	}
}
