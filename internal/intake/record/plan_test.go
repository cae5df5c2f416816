package record

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
)

const (
	ts     = "100.000001"
	parent = "50.000001"
	rev    = "110.000001"
	newer  = "120.000001"
)

var cat = []chat.File{{ID: "F1", Name: "cat.png", MIME: "image/png"}}

// top is a person's message at the top level of a channel.
func top(change ...func(*chat.Message)) chat.Message {
	m := chat.Message{Team: "T1", Channel: "C1", TS: ts, UserID: "U1", Text: "hello"}
	for _, c := range change {
		c(&m)
	}
	return m
}

func inThread(m *chat.Message)   { m.ThreadTS = parent }
func inDM(m *chat.Message)       { m.Channel = "D1" }
func byOwn(m *chat.Message)      { m.UserID, m.BotID, m.Own = "UBOT", "BBOT", true }
func byBot(m *chat.Message)      { m.UserID, m.BotID = "", "B2" }
func withFile(m *chat.Message)   { m.Files = cat }
func deletedM(m *chat.Message)   { m.Deleted, m.Text, m.Files = true, "", nil }
func mentioning(m *chat.Message) { m.Text = "<@UBOT> hello" }
func at(revision string) func(*chat.Message) {
	return func(m *chat.Message) { m.Revision = revision }
}
func text(s string) func(*chat.Message) { return func(m *chat.Message) { m.Text = s } }

// posted, edited and removed are events as slack.Decode makes them.
func posted(change ...func(*chat.Message)) slack.MessageEvent {
	m := top(change...)
	return slack.MessageEvent{Kind: slack.Posted, Message: m, Mention: chat.Mentions(m.Text, "UBOT")}
}

func edited(before string, change ...func(*chat.Message)) slack.MessageEvent {
	m := top(append([]func(*chat.Message){at(rev), text("changed")}, change...)...)
	return slack.MessageEvent{
		Kind: slack.Edited, Message: m, Mention: chat.Mentions(m.Text, "UBOT"),
		Previous: before, HasPrevious: true, PreviousMention: chat.Mentions(before, "UBOT"),
	}
}

// preview reports that Slack has added the preview of a linked message.
func preview(before string) slack.MessageEvent {
	e := edited(before, text(before+"\n[linked message]\nx"))
	e.Previewed = true
	return e
}

// clip attaches a recording.
func clip(of chat.Transcript) func(*chat.Message) {
	return func(m *chat.Message) { m.Files = []chat.File{{ID: "F1", MIME: "audio/mp4", Transcript: of}} }
}

// transcribed reports that Slack has made a transcript.
func transcribed() slack.MessageEvent {
	e := edited("", text(""), clip(chat.Transcript{Text: "hello"}))
	e.Previewed = true
	return e
}

// blind returns an event without the text before.
func blind(e slack.MessageEvent) slack.MessageEvent {
	e.Previous, e.HasPrevious, e.PreviousMention = "", false, false
	return e
}

// partial returns an app_mention: it has no files.
func partial(e slack.MessageEvent) slack.MessageEvent {
	e.Partial, e.Message.Files = true, nil
	return e
}

func removed(before string, change ...func(*chat.Message)) slack.MessageEvent {
	m := top(append(change, deletedM)...)
	return slack.MessageEvent{Kind: slack.Deleted, Message: m, Previous: before, HasPrevious: before != "", PreviousMention: chat.Mentions(before, "UBOT")}
}

// stored is known from Slack's history. heard has a recorded event. addressed was relayed as addressing
// the bot.
func stored(change ...func(*chat.Message)) store.Known {
	m := top(change...)
	return store.Known{Message: &m}
}

func heard(change ...func(*chat.Message)) store.Known {
	k := stored(change...)
	k.Handled = true
	return k
}

func addressed(change ...func(*chat.Message)) store.Known {
	k := heard(change...)
	k.Addressed = true
	return k
}

// answering is known if the outbox knows whom the bot answered last.
func answering(user string, before ...chat.Message) store.Known {
	return store.Known{Before: before, Answered: user}
}

func asking(k store.Known, before ...chat.Message) store.Known {
	k.Before = before
	return k
}

const (
	channelC1 = "channel/T1/C1"
	channelD1 = "channel/T1/D1"
	answered  = "thread/T1/C1/" + ts
	thread    = "thread/T1/C1/" + parent
)

func TestPlan(t *testing.T) {
	t.Parallel()
	names := []string{"myao", "みゃお"}
	normal := config.ChannelSettings{Mode: config.ModeJudge, Bots: config.BotsIgnore, Names: names}
	mode := func(m config.Mode) config.ChannelSettings {
		return config.ChannelSettings{Mode: m, Bots: config.BotsIgnore}
	}
	bots := config.ChannelSettings{Mode: config.ModeJudge, Bots: config.BotsJudge, Names: names}
	nothing := store.Known{}
	u := func(user string) chat.Message { return chat.Message{UserID: user} }
	bot := chat.Message{UserID: "UBOT", BotID: "BBOT", Own: true}

	keep := func(change ...func(*chat.Message)) *chat.Message { m := top(change...); return &m }
	for _, test := range []struct {
		name     string
		event    slack.MessageEvent
		known    store.Known
		settings config.ChannelSettings
		message  *chat.Message // what is stored; nil: nothing changes
		handled  bool
		changes  []string
	}{
		// A message comes.
		{"said at the top level", posted(), nothing, normal, keep(), true, []string{channelC1 + " said "}},
		{"said in a thread", posted(inThread), nothing, normal, keep(inThread), true, []string{thread + " said "}},
		{"mention at the top level", posted(mentioning), nothing, normal, keep(mentioning), true,
			[]string{answered + " addressed ", channelC1 + " addressed "}},
		{"mention in a thread", posted(mentioning, inThread), nothing, normal, keep(mentioning, inThread), true, []string{thread + " addressed "}},
		{"in a DM", posted(inDM), nothing, normal, keep(inDM), true, []string{channelD1 + " addressed "}},
		{"mention in a DM", posted(inDM, mentioning), nothing, normal, keep(inDM, mentioning), true, []string{channelD1 + " addressed "}},
		{"in a thread of a DM", posted(inDM, inThread), nothing, normal, keep(inDM, inThread), true, []string{"thread/T1/D1/" + parent + " addressed "}},
		{"mode all, top level", posted(), nothing, mode(config.ModeAll), keep(), true, []string{answered + " addressed ", channelC1 + " addressed "}},
		{"mode all, thread", posted(inThread), nothing, mode(config.ModeAll), keep(inThread), true, []string{thread + " addressed "}},
		{"mode mention", posted(), nothing, mode(config.ModeMention), keep(), true, nil},
		{"mode mention, a follow-up", posted(inThread), asking(nothing, u("U1"), bot), mode(config.ModeMention), keep(inThread), true, nil},
		{"mode mention, a mention", posted(mentioning), nothing, mode(config.ModeMention), keep(mentioning), true,
			[]string{answered + " addressed ", channelC1 + " addressed "}},
		{"mode mention, a mention in a thread", posted(mentioning, inThread), nothing, mode(config.ModeMention), keep(mentioning, inThread), true, []string{thread + " addressed "}},
		{"mode mention, in a DM", posted(inDM), nothing, mode(config.ModeMention), keep(inDM), true, []string{channelD1 + " addressed "}},
		{"mode mention, another bot, judged", posted(byBot), nothing, config.ChannelSettings{Mode: config.ModeMention, Bots: config.BotsJudge}, keep(byBot), true, nil},
		{"mode off", posted(), nothing, mode(config.ModeOff), keep(), true, nil},
		{"mode off, a mention", posted(mentioning), nothing, mode(config.ModeOff), keep(mentioning), true, nil},
		{"mode off, in a DM", posted(inDM), nothing, mode(config.ModeOff), keep(inDM), true, nil},
		{"mode mention, edit", edited("hello"), heard(), mode(config.ModeMention), keep(at(rev), text("changed")), true, nil},
		{"mode mention, edit adds a mention", edited("hello", mentioning), heard(), mode(config.ModeMention), keep(at(rev), mentioning), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"mode mention, edit takes a mention away", edited("<@UBOT> hello"), addressed(mentioning), mode(config.ModeMention), keep(at(rev), text("changed")), true,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"mode mention, edit keeps a mention from mode off", edited("<@UBOT> 2", text("<@UBOT> changed")), heard(text("<@UBOT> 2")), mode(config.ModeMention),
			keep(at(rev), text("<@UBOT> changed")), true, nil},
		{"mode off, edit adds a mention", edited("hello", mentioning), heard(), mode(config.ModeOff), keep(at(rev), mentioning), true, nil},
		{"mode mention, deletion", removed("hello"), heard(), mode(config.ModeMention), keep(deletedM), true, nil},
		{"mode mention, deletion of an addressed message", removed("<@UBOT> hello"), addressed(mentioning), mode(config.ModeMention), keep(deletedM), true,
			[]string{answered + " deleted ", channelC1 + " deleted "}},
		{"mode off, deletion of an addressed message", removed("<@UBOT> hello"), addressed(mentioning), mode(config.ModeOff), keep(deletedM), true, nil},
		{"a preview is no edit", preview("<@UBOT> see"), addressed(text("<@UBOT> see")), normal, keep(text("<@UBOT> see\n[linked message]\nx")), true, nil},
		{"a transcript is no edit", transcribed(), addressed(text(""), clip(chat.Transcript{Pending: true})), normal,
			keep(text(""), clip(chat.Transcript{Text: "hello"})), true, nil},
		{"a preview of an older text", preview("<@UBOT> see"), addressed(text("<@UBOT> look"), at(rev)), normal, nil, false, nil},
		{"a preview of an unknown message", preview("see"), nothing, normal, nil, false, nil},
		{"the bot's own", posted(byOwn), nothing, mode(config.ModeAll), keep(byOwn), true, nil},
		{"the bot mentions itself", posted(byOwn, mentioning), nothing, bots, keep(byOwn, mentioning), true, nil},
		{"the bot's own in a DM", posted(byOwn, inDM), nothing, normal, keep(byOwn, inDM), true, nil},
		{"another bot, ignored", posted(byBot, mentioning), nothing, normal, keep(byBot, mentioning), true, nil},
		{"another bot, mode all, ignored", posted(byBot), nothing, mode(config.ModeAll), keep(byBot), true, nil},
		{"another bot, judged", posted(byBot), nothing, bots, keep(byBot), true, []string{channelC1 + " said "}},
		{"another bot's mention is judged, not answered", posted(byBot, mentioning), nothing, bots, keep(byBot, mentioning), true, []string{channelC1 + " said "}},
		{"with a file and no text", posted(withFile, text("")), nothing, normal, keep(withFile, text("")), true, []string{channelC1 + " said "}},

		// It comes again, or its twin does.
		{"again", posted(), heard(), normal, nil, false, nil},
		{"twin after the mention", posted(mentioning), addressed(mentioning), normal, nil, false, nil},
		{"twin with the files", posted(mentioning, withFile), addressed(mentioning), normal, keep(mentioning, withFile), true, nil},
		{"mention after its twin with files", partial(posted(mentioning)), addressed(mentioning, withFile), normal, nil, false, nil},
		{"late twin of a message that was edited", posted(withFile), heard(at(rev)), normal, nil, false, nil},
		{"after its deletion", posted(mentioning), heard(deletedM), normal, nil, false, nil},
		{"after it was read from history", posted(), stored(), normal, keep(), true, []string{channelC1 + " said "}},
		{"mention after it was read from history", posted(mentioning), stored(mentioning), normal, keep(mentioning), true,
			[]string{answered + " addressed ", channelC1 + " addressed "}},
		{"app_mention keeps the files from history", partial(posted(mentioning)), stored(mentioning, withFile), normal, keep(mentioning, withFile), true,
			[]string{answered + " addressed ", channelC1 + " addressed "}},
		{"with files that history did not know", posted(withFile), stored(), normal, keep(withFile), true, []string{channelC1 + " said "}},
		{"without text, history knows it", posted(text("")), stored(), normal, keep(), true, []string{channelC1 + " said "}},

		// An edit comes.
		{"edit", edited("hello"), heard(), normal, keep(at(rev), text("changed")), true, []string{channelC1 + " edited " + rev}},
		{"edit in a thread that the event does not name", edited("hello"), heard(inThread), normal, keep(at(rev), text("changed"), inThread), true,
			[]string{thread + " edited " + rev}},
		{"edit adds a mention", edited("hello", mentioning), heard(), normal, keep(at(rev), mentioning), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"edit adds a mention in a thread", edited("hello", mentioning), heard(inThread), normal, keep(at(rev), mentioning, inThread), true,
			[]string{thread + " addressed " + rev}},
		{"app_mention of an edit", partial(blind(edited("", mentioning))), heard(withFile), normal, keep(at(rev), mentioning, withFile), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"its twin", edited("hello", mentioning, withFile), addressed(at(rev), mentioning, withFile), normal, nil, false, nil},
		{"its twin knows of files", edited("hello", mentioning, withFile), addressed(at(rev), mentioning), normal, keep(at(rev), mentioning, withFile), true, nil},
		{"its twin has no file any more", edited("hello", mentioning), addressed(at(rev), mentioning, withFile), normal, keep(at(rev), mentioning), true, nil},
		{"app_mention after its twin", partial(blind(edited("", mentioning))), addressed(at(rev), mentioning, withFile), normal, nil, false, nil},
		{"edit keeps a mention", edited("<@UBOT> hello", text("<@UBOT> changed")), addressed(mentioning), normal, keep(at(rev), text("<@UBOT> changed")), true,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"edit takes a mention away", edited("<@UBOT> hello"), addressed(mentioning), normal, keep(at(rev), text("changed")), true,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"edit brings a mention back", edited("changed", mentioning, at(newer)), addressed(at(rev), text("changed")), normal, keep(at(newer), mentioning), true,
			[]string{answered + " addressed " + newer, channelC1 + " addressed " + newer}},
		{"edit adds a mention to what somebody had answered", edited("hello", mentioning), addressed(), normal, keep(at(rev), mentioning), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"app_mention of that edit", partial(blind(edited("", mentioning))), addressed(), normal, keep(at(rev), mentioning), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"edit brings back a mention whose removal has no event", edited("changed", text("<@UBOT> again"), at(newer)), addressed(mentioning), normal, keep(at(newer), text("<@UBOT> again")), true,
			[]string{answered + " addressed " + newer, channelC1 + " addressed " + newer}},
		{"edit keeps a mention from no known event", edited("<@UBOT> 2", mentioning), heard(), normal, keep(at(rev), mentioning), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"app_mention of an edit that keeps a mention", partial(blind(edited("", text("<@UBOT> changed")))), addressed(mentioning), normal, keep(at(rev), text("<@UBOT> changed")), true,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"edit keeps a mention that was too old to be answered", edited("<@UBOT> 2", mentioning), heard(text("<@UBOT> 2")), normal, keep(at(rev), mentioning), true,
			[]string{channelC1 + " edited " + rev}},
		{"edit of what was addressed in mode all", edited("hello"), addressed(), mode(config.ModeAll), keep(at(rev), text("changed")), true,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"edit of what was said before mode all", edited("hello"), heard(), mode(config.ModeAll), keep(at(rev), text("changed")), true,
			[]string{channelC1 + " edited " + rev}},
		{"edit in a DM", edited("hello", inDM), addressed(inDM), normal, keep(at(rev), text("changed"), inDM), true, []string{channelD1 + " edited " + rev}},
		{"edit in a DM adds a mention", edited("hello", inDM, mentioning), addressed(inDM), normal, keep(at(rev), mentioning, inDM), true,
			[]string{channelD1 + " edited " + rev}},
		{"edit in a DM keeps a mention", edited("<@UBOT> hello", inDM, text("<@UBOT> changed")), addressed(inDM, mentioning), normal, keep(at(rev), text("<@UBOT> changed"), inDM), true,
			[]string{channelD1 + " edited " + rev}},
		{"edit in mode all adds a mention", edited("hello", mentioning), addressed(), mode(config.ModeAll), keep(at(rev), mentioning), true,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"edit adds a mention to what was said before mode all", edited("hello", mentioning), heard(), mode(config.ModeAll), keep(at(rev), mentioning), true,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"edit of a file", edited("hello", text("hello"), withFile), heard(), normal, keep(at(rev), withFile), true, []string{channelC1 + " edited " + rev}},
		{"unfurl", edited("hello", text("hello")), heard(), normal, keep(at(rev)), true, nil},
		{"unfurl without the text before", blind(edited("", text("hello"))), heard(), normal, keep(at(rev)), true, nil},
		{"stale edit", edited("hello", mentioning), heard(at(newer), text("newest")), normal, nil, false, nil},
		{"edit again", edited("hello"), heard(at(rev), text("changed")), normal, nil, false, nil},
		{"edit of a deleted message", edited("hello", mentioning), heard(deletedM), normal, nil, false, nil},
		{"edit by the bot", edited("hello", byOwn, mentioning), heard(byOwn), normal, keep(at(rev), byOwn, mentioning), true, nil},
		{"edit by a bot, ignored", edited("hello", byBot, mentioning), heard(byBot), normal, keep(at(rev), byBot, mentioning), true, nil},
		{"edit by a bot, judged", edited("hello", byBot, mentioning), heard(byBot), bots, keep(at(rev), byBot, mentioning), true,
			[]string{channelC1 + " edited " + rev}},
		{"edit keeps the name", edited("hello", byBot), heard(byBot, func(m *chat.Message) { m.Name = "robot" }), normal,
			keep(at(rev), text("changed"), byBot, func(m *chat.Message) { m.Name = "robot" }), true, nil},

		// An edit comes before its message.
		{"edit first", edited("hello"), nothing, normal, keep(at(rev), text("changed")), false, []string{channelC1 + " edited " + rev}},
		{"then the message", posted(), stored(at(rev), text("changed")), normal, keep(at(rev), text("changed")), true, []string{channelC1 + " said "}},
		{"edit with an old mention first", edited("<@UBOT> hello", text("<@UBOT> 2")), nothing, normal, keep(at(rev), text("<@UBOT> 2")), false,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"then the mention", posted(mentioning), stored(at(rev), text("<@UBOT> 2")), normal, keep(at(rev), text("<@UBOT> 2")), true,
			[]string{answered + " addressed ", channelC1 + " addressed "}},
		{"edit adds a mention first", edited("hello", mentioning), nothing, normal, keep(at(rev), mentioning), false,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"then the message, which is answered already", posted(), notHeard(addressed(at(rev), mentioning)), normal, keep(at(rev), mentioning), true, nil},
		{"or then the mention, which is answered already", posted(mentioning), notHeard(addressed(at(rev), mentioning)), normal, keep(at(rev), mentioning), true, nil},
		{"or a second edit, answered already", partial(blind(edited("", mentioning, at(newer), text("<@UBOT> 2")))), notHeard(addressed(at(rev), mentioning)), normal,
			keep(at(newer), text("<@UBOT> 2")), false, []string{answered + " edited " + newer, channelC1 + " edited " + newer}},
		{"or a second edit, which brings the mention back", edited("changed", mentioning, at(newer)), notHeard(addressed(at(rev), text("changed"))), normal,
			keep(at(newer), mentioning), false, []string{answered + " addressed " + newer, channelC1 + " addressed " + newer}},
		{"no edit, and first", edited("hello", text("hello")), nothing, normal, keep(at(rev)), false, nil},
		{"edit of a message from history", edited("hello", mentioning), stored(), normal, keep(at(rev), mentioning), false,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"app_mention of an edit that history knew of", partial(blind(edited("", mentioning))), stored(mentioning), normal, keep(at(rev), mentioning), false,
			[]string{answered + " addressed " + rev, channelC1 + " addressed " + rev}},
		{"edit with an old mention of a message from history", edited("<@UBOT> hello", text("<@UBOT> 2")), stored(mentioning), normal, keep(at(rev), text("<@UBOT> 2")), false,
			[]string{answered + " edited " + rev, channelC1 + " edited " + rev}},
		{"edit without a mention of a message from history", edited("hello"), stored(), normal, keep(at(rev), text("changed")), false, []string{channelC1 + " edited " + rev}},

		// A message is deleted.
		{"deletion", removed("hello"), heard(), normal, keep(deletedM), true, []string{channelC1 + " deleted "}},
		{"deletion of an edited message", removed("hello"), heard(at(rev)), normal, keep(deletedM), true, []string{channelC1 + " deleted "}},
		{"deletion in a thread that the event does not name", removed(""), heard(inThread, withFile), normal, keep(deletedM, inThread), true,
			[]string{thread + " deleted "}},
		{"deletion of an addressed message", removed("<@UBOT> hello"), addressed(mentioning), normal, keep(deletedM), true,
			[]string{answered + " deleted ", channelC1 + " deleted "}},
		{"deletion of what once was a mention", removed("hello"), addressed(at(rev)), normal, keep(deletedM), true,
			[]string{answered + " deleted ", channelC1 + " deleted "}},
		{"deletion in a DM", removed("hello", inDM), addressed(inDM), normal, keep(deletedM, inDM), true, []string{channelD1 + " deleted "}},
		{"deletion first", removed("<@UBOT> hello"), nothing, normal, keep(deletedM), true, nil},
		{"deletion again", removed("hello"), heard(deletedM), normal, nil, false, nil},
		{"deletion of the bot's own", removed("hello", byOwn), heard(byOwn), bots, keep(deletedM, byOwn), true, nil},
		{"deletion of a bot's, ignored", removed("hello", byBot), heard(byBot), normal, keep(deletedM, byBot), true, nil},
		{"deletion of a bot's, judged", removed("hello", byBot), heard(byBot), bots, keep(deletedM, byBot), true, []string{channelC1 + " deleted "}},

		// Somebody calls the bot by its name.
		{"called by name", posted(text("みゃお、どう？")), nothing, normal, keep(text("みゃお、どう？")), true, []string{channelC1 + " said named "}},
		{"called by name and mentioned", posted(mentioning, text("<@UBOT> myao?")), nothing, normal, keep(text("<@UBOT> myao?")), true,
			[]string{answered + " addressed ", channelC1 + " addressed "}},
		{"a bot's call", posted(byBot, text("myao?")), nothing, bots, keep(byBot, text("myao?")), true, []string{channelC1 + " said "}},
		{"an edit that calls", edited("hello", text("myao?")), heard(), normal, keep(at(rev), text("myao?")), true,
			[]string{channelC1 + " edited named " + rev}},
		{"a deletion", removed("myao?"), heard(text("myao?")), normal, keep(deletedM), true, []string{channelC1 + " deleted "}},

		// Somebody goes on talking with the bot.
		{"follow-up", posted(inThread), asking(nothing, u("U1"), bot), normal, keep(inThread), true, []string{thread + " said follow-up "}},
		{"follow-up in several messages", posted(inThread), asking(nothing, u("U1"), bot, u("U1"), u("U1")), normal, keep(inThread), true, []string{thread + " said follow-up "}},
		{"follow-up on a long answer", posted(inThread), asking(nothing, u("U1"), bot, bot, bot), normal, keep(inThread), true, []string{thread + " said follow-up "}},
		{"follow-up long after others spoke", posted(inThread), asking(nothing, u("U2"), u("U1"), bot), normal, keep(inThread), true, []string{thread + " said follow-up "}},
		{"somebody else spoke since", posted(inThread), asking(nothing, u("U1"), bot, u("U2")), normal, keep(inThread), true, []string{thread + " said "}},
		{"somebody else spoke between", posted(inThread), asking(nothing, u("U1"), bot, u("U1"), u("U2"), u("U1")), normal, keep(inThread), true, []string{thread + " said "}},
		{"another spoke before the bot", posted(inThread), asking(nothing, u("U1"), u("U2"), bot), normal, keep(inThread), true, []string{thread + " said "}},
		{"somebody spoke while the bot composed", posted(inThread), answering("U1", u("U1"), u("U2"), bot), normal, keep(inThread), true, []string{thread + " said follow-up "}},
		{"another was answered, somebody spoke while the bot composed", posted(inThread), answering("U2", u("U2"), u("U1"), bot), normal, keep(inThread), true, []string{thread + " said "}},
		{"somebody else spoke since the answer", posted(inThread), answering("U1", u("U1"), bot, u("U2")), normal, keep(inThread), true, []string{thread + " said "}},
		{"under what the bot answered at the top level", posted(inThread), answering("U1", bot), normal, keep(inThread), true, []string{thread + " said follow-up "}},
		{"the bot began", posted(inThread), asking(nothing, bot), normal, keep(inThread), true, []string{thread + " said "}},
		{"the bot never spoke", posted(inThread), asking(nothing, u("U1"), u("U1")), normal, keep(inThread), true, []string{thread + " said "}},
		{"another bot spoke last", posted(inThread), asking(nothing, u("U1"), chat.Message{BotID: "B2"}), normal, keep(inThread), true, []string{thread + " said "}},
		{"a mention is none", posted(inThread, mentioning), asking(nothing, u("U1"), bot), normal, keep(inThread, mentioning), true, []string{thread + " addressed "}},
		{"a bot's is none", posted(inThread, byBot), asking(nothing, chat.Message{BotID: "B2"}, bot), bots, keep(inThread, byBot), true, []string{thread + " said "}},
		{"an edit is none", edited("hello", inThread), asking(heard(inThread), u("U1"), bot), normal, keep(at(rev), text("changed"), inThread), true, []string{thread + " edited " + rev}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprintf("%+v", test.known.Message)
			got := plan(test.event, test.known, test.settings, siblings{own: "UBOT"})
			var changes []string
			for _, c := range got.Changes {
				if c.TS != ts {
					t.Errorf("a change of the message %s", c.TS)
				}
				name := string(c.Kind)
				if c.FollowUp {
					name += " follow-up"
				}
				if c.Named {
					name += " named"
				}
				changes = append(changes, fmt.Sprintf("%s %s %s", c.Conversation.ID(), name, c.Revision))
			}
			if !slices.Equal(changes, test.changes) {
				t.Errorf("changes\n%q, want\n%q", changes, test.changes)
			}
			if !reflect.DeepEqual(got.Message, test.message) || got.Handled != test.handled {
				t.Errorf("keeps %+v, handled %v\nwant  %+v, handled %v", got.Message, got.Handled, test.message, test.handled)
			}
			if fmt.Sprintf("%+v", test.known.Message) != before {
				t.Error("it changed what is known")
			}
			if again := plan(test.event, test.known, test.settings, siblings{own: "UBOT"}); !reflect.DeepEqual(again, got) {
				t.Errorf("asked again, it says %+v", again)
			}
		})
	}
}

func notHeard(k store.Known) store.Known {
	k.Handled = false
	return k
}

// Slack's history may have an edit before its event comes. The event is new all the same.
func TestEditAlreadyInHistory(t *testing.T) {
	t.Parallel()
	text := "<@UBOT> can you help?"
	e := slack.MessageEvent{
		Kind: slack.Edited, Mention: true, HasPrevious: true, Previous: "can you help?",
		Message: chat.Message{Team: "T1", Channel: "C1", TS: "1700000000.000100", UserID: "U1", Text: text, Revision: "1700000009.000000"},
	}
	read := e.Message
	read.Revision = ""
	entry := plan(e, store.Known{Message: &read}, config.Config{}.Channel(config.ChannelFacts{ID: "C1"}), siblings{own: "UBOT"})
	if len(entry.Changes) != 2 || entry.Changes[0].Kind != conversation.Addressed || entry.Message == nil || entry.Message.Revision != e.Message.Revision {
		t.Errorf("got %+v, want the mention to be relayed", entry)
	}
}

// What is stored of an unknown message is decided before it is known who hushed it and what came
// before, as Store.Record demands.
func TestPlanOfAnUnknownMessageIgnoresWhatCameBefore(t *testing.T) {
	t.Parallel()
	before := store.Known{Hushed: "slack:U2", Before: []chat.Message{{UserID: "U1"}, {UserID: "UBOT", Own: true}}, Answered: "U1"}
	for _, e := range []slack.MessageEvent{
		posted(), posted(inThread), posted(mentioning), posted(inDM), posted(byOwn), posted(byBot), posted(withFile), partial(posted(mentioning)),
		edited("hello"), edited("hello", mentioning), blind(edited("", inThread)), removed("hello"), removed("", inThread), removed("<@UBOT> hello"),
	} {
		for _, bots := range []config.Bots{config.BotsIgnore, config.BotsJudge} {
			settings := config.ChannelSettings{Mode: config.ModeJudge, Bots: bots}
			first, later := plan(e, store.Known{}, settings, siblings{own: "UBOT"}), plan(e, before, settings, siblings{own: "UBOT"})
			if !reflect.DeepEqual(first.Message, later.Message) || first.Handled != later.Handled || first.Message == nil {
				t.Errorf("%+v: keeps %+v, handled %v; then %+v, handled %v", e, first.Message, first.Handled, later.Message, later.Handled)
			}
		}
	}
}

// A hush is kept where nothing waits, and no conversation is started to hear of it.
func TestHushByMode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode  config.Mode
		known store.Known
		want  int
	}{
		{config.ModeJudge, heard(), 1},
		{config.ModeMention, heard(), 0},
		{config.ModeMention, addressed(mentioning), 2},
		{config.ModeOff, addressed(mentioning), 0},
	} {
		if entry, _ := hush(top(), test.known, test.mode, "slack:U2"); len(entry.Changes) != test.want || entry.Order == nil {
			t.Errorf("mode %s: %+v, want %d changes and the order", test.mode, entry, test.want)
		}
	}
}
