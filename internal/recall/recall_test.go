package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"myao/internal/channels"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/internal/store/storetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeSlack is a Slack that counts requests by id.
type fakeSlack struct {
	mu         sync.Mutex
	users      map[string]string
	channels   map[string]slack.Channel
	guests     map[string]bool
	members    map[string][]string // by channel
	err        error
	asked      map[string]int
	noDeadline bool // a request came without a deadline
}

func (d *fakeSlack) ask(ctx context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[id]++
	if _, ok := ctx.Deadline(); !ok {
		d.noDeadline = true
	}
	return d.err
}

func (d *fakeSlack) Identity(context.Context) (slack.Identity, error) {
	return slack.Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", Name: "slackname"}, nil
}

func (d *fakeSlack) User(ctx context.Context, id string) (slack.User, error) {
	if err := d.ask(ctx, id); err != nil {
		return slack.User{}, err
	}
	name, ok := d.users[id]
	if !ok {
		return slack.User{}, &slack.Error{Method: "users.info", Code: "user_not_found", Kind: slack.Final}
	}
	return slack.User{ID: id, Name: name, IsBot: name == "robot", Guest: d.guests[id]}, nil
}

func (d *fakeSlack) Members(ctx context.Context, channel, _ string) ([]string, string, error) {
	return d.members[channel], "", d.ask(ctx, "members of "+channel)
}

func (d *fakeSlack) Channel(ctx context.Context, id string) (slack.Channel, error) {
	if err := d.ask(ctx, id); err != nil {
		return slack.Channel{}, err
	}
	return d.channels[id], nil
}

// count returns the requests for an id since the last count.
func (d *fakeSlack) count(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer delete(d.asked, id)
	return d.asked[id]
}

type bundle struct {
	*testing.T
	*Builder
	directory *fakeSlack
	now       time.Time
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupIn(t, sqliteURL(t))
}

func sqliteURL(t *testing.T) string { return storetest.SQLite(t) }

func setupIn(t *testing.T, url string) *bundle {
	t.Helper()
	db := storetest.OpenURL(t, url)
	b := &bundle{T: t, now: noon, directory: &fakeSlack{
		users: map[string]string{"U1": "alice", "U2": "bob", "B2": "robot"},
		channels: map[string]slack.Channel{
			"C1": {ID: "C1", Name: "general", Member: true}, "G1": {ID: "G1", Name: "secret", Private: true, Member: true},
			"D1": {ID: "D1", Private: true, Direct: true, Member: true},
		},
		asked: map[string]int{},
	}}
	b.Builder = &Builder{
		Store: db, Users: b.directory, Persona: chat.Persona{Name: "myao", SystemPrompt: "p"}, MessagesLimit: 50,
		Clock: func() time.Time { return b.now }, Logger: slog.New(slog.DiscardHandler),
	}
	b.Directory = &channels.Directory{Store: db, Slack: b.directory, Config: config.Config{}, Clock: b.Clock, Logger: b.Logger}
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
		if _, err := b.Store.Record(b.Context(), m, func(store.Known) store.Entry { return store.Entry{Message: &m, Handled: true} }); err != nil {
			b.Fatal(err)
		}
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
		if r.Persona != b.Persona || r.TargetThread != "" {
			t.Errorf("%s: %+v", when, r.Context)
		}
		for _, id := range []string{"U1", "U2", "B2", "C1"} {
			if got := b.directory.count(id); got != asked {
				t.Errorf("%s: asked %d times for %s, want %d", when, got, id, asked)
			}
		}
		for _, id := range []string{"UBOT", ""} {
			if got := b.directory.count(id); got != 0 {
				t.Errorf("%s: asked for %q", when, id)
			}
		}
		kept, err := b.Store.Users(t.Context(), "T1", []string{"U1", "B2"})
		if err != nil || kept["U1"].Bot || !kept["B2"].Bot {
			t.Errorf("%s: kept as %+v, %v; want B2 alone to be a bot", when, kept, err)
		}
	}
	check("at first", 1)
	check("again", 0)
	b.now = noon.Add(24 * time.Hour)
	check("a day later", 0)
	b.now = noon.Add(24*time.Hour + time.Second)
	check("more than a day later", 1)
	check("again", 0)
	if b.directory.noDeadline {
		t.Error("Slack was asked for a name without a deadline")
	}
}

func TestNewNamesAfterADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(chat.Message{TS: at(1), UserID: "U1", Text: "hello"})
	b.build("C1", "")
	b.directory.users["U1"] = "alicia"
	b.directory.channels["C1"] = slack.Channel{ID: "C1", Name: "renamed"}
	if r := b.build("C1", ""); r.Names["U1"] != "alice" || r.Channels["C1"] != "general" {
		t.Errorf("at once: %v, %v", r.Names, r.Channels)
	}
	b.now = noon.Add(25 * time.Hour)
	if r := b.build("C1", ""); r.Names["U1"] != "alicia" || r.Channels["C1"] != "renamed" || r.Target()[0].Name != "alicia" {
		t.Errorf("a day later: %v, %v", r.Names, r.Channels)
	}
	// A name stays when Slack no longer knows the user.
	delete(b.directory.users, "U1")
	b.now = noon.Add(49*time.Hour + time.Minute + time.Second)
	if r := b.build("C1", ""); r.Names["U1"] != "alicia" || b.directory.count("U1") == 0 {
		t.Errorf("when she has left: %v", r.Names)
	}
	// If Slack fails, the old names stay.
	b.directory.err = errors.New("away")
	b.now = noon.Add(100 * time.Hour)
	if r := b.build("C1", ""); r.Names["U1"] != "alicia" || r.Channels["C1"] != "renamed" {
		t.Errorf("while Slack fails: %v, %v", r.Names, r.Channels)
	}
}

func TestIDsWhereSlackFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.directory.err = errors.New("away")
	b.say(chat.Message{TS: at(1), UserID: "U1", Text: "hello <@U2>"}, chat.Message{TS: at(2), UserID: "UBOT", Own: true, Text: "mine"})
	r := b.build("C1", "")
	if got := r.Target(); got[0].Name != "U1" || got[1].Name != "myao" {
		t.Errorf("said by %q and %q", got[0].Name, got[1].Name)
	}
	if want := map[string]string{"UBOT": "myao"}; !maps.Equal(r.Names, want) || len(r.Channels) != 0 {
		t.Errorf("names %v, channels %v", r.Names, r.Channels)
	}
	// A failure is not saved for a day.
	b.directory.err = nil
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
	total := func() (n int) {
		for id := range maps.Clone(b.directory.asked) {
			n += b.directory.count(id)
		}
		return n
	}
	if got := total(); got > maxNameRequests+1 {
		t.Errorf("Slack was asked %d times", got)
	}
	for range maxNames / maxNameRequests {
		b.build("C1", "")
	}
	total()
	if b.build("C1", ""); total() != 0 {
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
	if got := b.directory.count("C9"); got != 0 {
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
	b.Users = &noIdentity{b.directory}
	if _, err := b.Build(t.Context(), c, false, ""); !errors.Is(err, errNoIdentity) {
		t.Errorf("%v, want %v", err, errNoIdentity)
	}
	b.Users = b.directory
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(t.Context(), c, false, ""); err == nil {
		t.Error("a context without a database")
	}
}

var errNoIdentity = errors.New("nobody")

type noIdentity struct{ *fakeSlack }

func (n *noIdentity) Identity(context.Context) (slack.Identity, error) {
	return slack.Identity{}, errNoIdentity
}
