package recall

import (
	"errors"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/slack"
)

// wantAlone checks whether nothing of other channels is in a context.
func (b *bundle) wantAlone(when, channel string, alone bool) {
	b.Helper()
	r := b.build(channel, "")
	own := len(r.Context.Channels) == 1 && r.Context.Channels[0].ChannelID == channel && r.WorkspaceLongTerm+r.WorkspaceShortTerm == "" && r.ChannelsUnlisted == 0
	others := len(r.Context.Channels) > 1 && r.WorkspaceLongTerm != ""
	if r.Alone != alone || own != alone || others == alone {
		b.Errorf("%s: alone %v, want %v; channels %+v, of the workspace %q", when, r.Alone, alone, r.Context.Channels, r.WorkspaceLongTerm)
	}
	for _, m := range r.Target() {
		if shown := r.Channels["C0"] != "" || strings.Contains(m.Text, "|zoo>"); strings.Contains(m.Text, "C0") && shown == alone {
			b.Errorf("%s: %q, with the names %v", when, m.Text, r.Channels)
		}
	}
}

// named counts the messages that are shown in a channel of one from each of some channels.
func (b *bundle) named(here string, channels ...string) int {
	b.Helper()
	var found []chat.Found
	for i, id := range channels {
		found = append(found, chat.Found{Message: chat.Message{Team: "T1", Channel: id, TS: at(i), UserID: "U1", Text: "x"}})
	}
	r, err := b.Name(b.Context(), chat.Conversation(channel(here)), found)
	if err != nil {
		b.Fatal(err)
	}
	return len(r.Found)
}

// A guest may join no public channel, so where one reads, nothing of other channels is shown.
func TestGuestsSeeTheirChannelAlone(t *testing.T) { eachDatabase(t, testGuestsSeeTheirChannelAlone) }

func testGuestsSeeTheirChannelAlone(t *testing.T, b *bundle) {
	b.slack.Names["U9"], b.slack.Guests = "gil", map[string]bool{"U9": true}
	b.slack.Channels["D9"] = slack.Channel{ID: "D9", Private: true, Direct: true, Member: true}
	b.saveChannel(b.slack.Channels["D9"])
	b.SaveMemories(channel("D9"), noon, "long of D9", "")
	b.wantAlone("among colleagues", "C1", false)
	if n := b.slack.Asked("members of C1"); n != 0 {
		t.Errorf("asked %d times for members in a workspace without a guest", n)
	}

	b.say(chat.Message{Channel: "D9", TS: at(10), UserID: "U9", Text: "what is in <#C0|zoo>?"})
	b.wantAlone("a guest's first direct message", "D9", true)
	b.wantAlone("the next", "D9", true)
	b.Time.Set(noon.Add(11 * time.Second))
	b.slack.In = map[string][]string{"C1": {"UBOT", "U1"}, "G1": {"UBOT", "U1", "U9"}}
	b.wantAlone("a channel without guests", "C1", false)
	b.wantAlone("a channel that a guest only reads", "G1", true)
	b.wantAlone("the same later", "G1", true)
	for _, id := range []string{"C1", "G1"} {
		if n := b.slack.Asked("members of " + id); n != 1 {
			t.Errorf("asked %d times for the members of %s, want once", n, id)
		}
	}

	b.Time.Set(noon.Add(time.Minute))
	b.say(chat.Message{TS: at(20), UserID: "U9", Text: "hello from <#C0|zoo>"})
	b.wantAlone("a guest writes whom no event announced", "C1", true)
	b.say(chat.Message{TS: at(21), UserID: "U1", Text: "and I"})
	b.wantAlone("a colleague after that", "C1", true)
	if err := b.Database.LeaveChannel(t.Context(), "T1", "C1", "U9", noon.Add(22*time.Second)); err != nil {
		t.Fatal(err)
	}
	b.wantAlone("the guest has left", "C1", false)
	b.say(chat.Message{TS: at(23), UserID: "U9", Text: "back"})
	b.wantAlone("the guest is back", "C1", true)

	b.Time.Set(noon.Add(25 * time.Hour))
	b.slack.Guests = nil
	b.build("C1", "") // Slack is asked who U9 is
	b.wantAlone("the guest is a colleague", "C1", false)
	b.wantAlone("as in the direct message", "D9", false)
}

// Until Slack has said who an author is, nothing of other channels is shown, wherever they write.
func TestUnknownAuthorsSeeTheirChannelAlone(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	b.wantAlone("known authors", "C1", false)
	b.slack.Names["U7"], b.slack.Err = "new", errors.New("away")
	b.say(chat.Message{Channel: "D1", TS: at(10), UserID: "U7", Text: "hello"}, chat.Message{TS: at(10), UserID: "U7", Text: "hello"})
	b.wantAlone("in a direct message", "D1", true)
	b.wantAlone("in a channel", "C1", true)
	b.wantAlone("not in another", "G1", false)
	b.slack.Err = nil
	for _, id := range []string{"C1", "D1"} {
		b.build(id, "") // Slack is asked
		b.wantAlone("told to be a colleague", id, false)
	}
	b.say(chat.Message{TS: at(11), UserID: "U8", Text: "hello"})
	b.wantAlone("whom Slack does not know", "C1", true)

	b.slack.Err = errors.New("away")
	b.Time.Set(noon.Add(3 * 24 * time.Hour))
	b.wantAlone("known for less than a week", "D1", false)
	b.Time.Set(noon.Add(8 * 24 * time.Hour))
	b.say(chat.Message{Channel: "C0", TS: at(8 * 24 * 3600), UserID: "U1", Text: "hello"})
	if r := b.build("D1", ""); !r.Alone {
		t.Error("authors known for longer than a week are trusted while Slack is away")
	}
}

// That an author is a stranger is saved before a tool may search for them, or nothing is searched.
func TestUnsavedStrangersStopTheReply(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	b.slack.Err = errors.New("away")
	b.say(chat.Message{Channel: "D1", TS: at(10), UserID: "U7", Text: "hello"})
	b.FillTable("outsiders")
	if _, err := b.Build(b.Context(), chat.Conversation(channel("D1")), true, at(10)); err == nil || !strings.Contains(err.Error(), "save outsiders in D1") {
		t.Errorf("error %v", err)
	}
}

// In a workspace with guests, who reads a channel is unknown until Slack has listed its members.
func TestUnlistedMembersSeeTheirChannelAlone(t *testing.T) {
	t.Parallel()
	b := setupMemories(t)
	b.slack.Names["U9"], b.slack.Guests = "gil", map[string]bool{"U9": true}
	b.build("C1", "") // Slack is asked about those who write there
	b.say(chat.Message{Channel: "D1", TS: at(10), UserID: "U9", Text: "hello"})
	b.wantAlone("a direct message", "D1", true)
	b.Time.Set(noon.Add(time.Minute))
	b.slack.Err = errors.New("away")
	b.wantAlone("a channel whose members Slack does not list", "C1", true)
	if n := b.named("C1", "C0", "C1"); n != 1 {
		t.Errorf("%d of the messages that a tool found are shown, want that of the channel itself", n)
	}
	b.slack.Err = nil
	b.wantAlone("once it does", "C1", false)
	if n := b.named("C1", "C0", "C1"); n != 2 {
		t.Errorf("%d of the messages that a tool found are shown, want both", n)
	}
}
