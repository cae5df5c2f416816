package activities

import (
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
)

func TestNextSpot(t *testing.T) {
	t.Parallel()
	thread, top, other := spot{"C1", "1.1"}, spot{"C1", ""}, spot{"D1", ""}
	for _, c := range []struct {
		home, at spot
		refused  slack.PlaceRefusal
		next     spot
		direct   bool
	}{
		{thread, thread, slack.ThreadRefused, top, false},
		{thread, thread, slack.ChannelRefused, spot{}, true},
		{thread, top, slack.TopLevelRefused, spot{}, true},
		{thread, top, slack.ChannelRefused, spot{}, true},
		{thread, other, slack.ChannelRefused, spot{}, false},
		{thread, thread, "", spot{}, false},
		{top, top, slack.TopLevelRefused, spot{"C1", "1.2"}, false},
		{top, top, slack.ChannelRefused, spot{}, true},
		{top, spot{"C1", "1.2"}, slack.ThreadRefused, spot{}, true},
	} {
		if next, direct := nextSpot(c.home, c.at, "1.2", c.refused); next != c.next || direct != c.direct {
			t.Errorf("from %v, of %v, %s: %v, %v", c.at, c.home, c.refused, next, direct)
		}
	}
}

// What Slack does not take in its place is posted once where whoever asked can read it, and names them.
func TestReplyGoesWhereItCanBeRead(t *testing.T) {
	t.Parallel()
	refuse := func(code string, match func(workspace.Call) bool) workspace.Fault {
		return workspace.Fault{Error: code, Match: match}
	}
	inThreads := func(c workspace.Call) bool { return c.Args.Get("thread_ts") != "" }
	above := func(c workspace.Call) bool { return c.Args.Get("thread_ts") == "" }
	inChannel := func(c workspace.Call) bool { return strings.HasPrefix(c.Args.Get("channel"), "C") }
	const thread, top, direct, nowhere = "thread", "top level", "direct message", ""
	for name, c := range map[string]struct {
		place  string
		faults []workspace.Fault
		want   string
		reason string
	}{
		"a message that takes no replies":   {thread, []workspace.Fault{refuse("cannot_reply_to_message", inThreads)}, top, movedUpReason},
		"a channel without threads":         {thread, []workspace.Fault{refuse("restricted_action_non_threadable_channel", inThreads)}, top, movedUpReason},
		"a locked thread":                   {thread, []workspace.Fault{refuse("restricted_action_thread_locked", inThreads)}, top, movedUpReason},
		"no thread":                         {thread, []workspace.Fault{refuse("thread_not_found", inThreads)}, top, movedUpReason},
		"a locked thread, and threads only": {thread, []workspace.Fault{refuse("restricted_action_thread_locked", inThreads), refuse("restricted_action_thread_only_channel", func(c workspace.Call) bool { return above(c) && inChannel(c) })}, direct, movedDirectReason},
		"a channel to read":                 {thread, []workspace.Fault{refuse("restricted_action_read_only_channel", inChannel)}, direct, movedDirectReason},
		"an old policy":                     {top, []workspace.Fault{refuse("restricted_action", inChannel)}, direct, movedDirectReason},
		"threads only":                      {top, []workspace.Fault{refuse("restricted_action_thread_only_channel", above)}, thread, movedDownReason},
		"nowhere":                           {thread, []workspace.Fault{refuse("restricted_action_read_only_channel", nil)}, nowhere, ""},
		"a connection that breaks there":    {thread, []workspace.Fault{refuse("restricted_action_thread_locked", inThreads), {Times: 1, LoseAnswer: true, AfterEffect: true, Match: above}}, top, movedUpReason},
	} {
		for _, first := range []string{"", "at once", "before a crash"} {
			t.Run(name+" "+first, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				asked := b.say(b.Mention("hello?"))
				task := inThread(asked)
				if c.place == top {
					task = atTopLevel(asked)
				}
				b.compose(task, "Hello.\n\n```\nx\n```")
				for _, fault := range c.faults {
					fault.Method = postMessage
					b.Workspace.Faults().Add(fault)
				}
				switch first {
				case "at once":
					if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task, Addressed: true}); err == nil {
						t.Errorf("at once: %+v", got)
					}
				case "before a crash": // the refusal is saved, and nothing more
					if got, err := runOnce[ReplyOutput](b.Post, PostInput{Task: task}); err == nil {
						t.Errorf("before the crash: %+v", got)
					}
				}
				in := PostInput{Task: task, Addressed: true}
				got, _ := runUntilDone[ReplyOutput](t, b.Post, in)
				posts := b.Workspace.Posts()
				if c.want == nowhere {
					if len(posts) != 0 {
						t.Errorf("posted %+v", posts)
					}
					return
				}
				if got.Result != conversation.Done || len(posts) != 1 {
					t.Fatalf("got %+v, posted %+v", got, posts)
				}
				p := posts[0]
				where := map[bool]string{true: top, false: thread}[p.ThreadTS == ""]
				if p.Channel != b.General {
					where = direct
				}
				if where != c.want || !strings.HasPrefix(p.Text, "<@"+b.Alice.ID+">") || strings.Count(p.Text, b.Alice.ID) != 1 || !strings.HasSuffix(p.Text, "\n\nHello.\n\n```\nx\n```") {
					t.Errorf("posted in the %s, want the %s: %q", where, c.want, p.Text)
				}
				if d := b.decision(task); d.Outcome != "posted" || !strings.HasPrefix(d.Reason, c.reason+": slack chat.postMessage: ") {
					t.Errorf("the ledger has %+v", d)
				}
				if row := b.outbox(task)[0]; row.State != store.Sent || row.SentTS != p.TS || row.Channel != p.Channel || row.Thread != p.ThreadTS {
					t.Errorf("the outbox has %+v", row)
				}
				if again, err := runOnce[ReplyOutput](b.Post, in); err != nil || again.Result != conversation.Done || len(b.Workspace.Posts()) != 1 {
					t.Errorf("again: %+v, %v", again, err)
				}
			})
		}
	}
}

// A mute between the refusal and the next place is one of the conversation.
func TestMutedReplyGoesNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := inThread(b.say(b.Mention("hello?")))
	b.compose(task, "Hello.")
	b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Error: "restricted_action_thread_locked", Match: func(c workspace.Call) bool { return c.Args.Get("thread_ts") != "" }})
	if got, err := runOnce[ReplyOutput](b.PostAtOnce, PostInput{Task: task, Addressed: true}); err == nil {
		t.Errorf("at once: %+v", got)
	}
	b.mute(task.Conversation, time.Hour)
	got, _ := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task, Addressed: true})
	if posts := b.Workspace.Posts(); got.Result != conversation.Silenced || len(posts) != 0 {
		t.Errorf("got %+v, posted %+v", got, posts)
	}
}

// Whoever asked for a promise long ago is not told what a model wrote with what is said in the channel.
func TestPromiseInADirectMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, want string
		direct     bool
	}{
		{"restricted_action_thread_locked", "The parcel came on Monday.", false},
		{"restricted_action_read_only_channel", "you asked me to remind you: the parcel", true},
	} {
		b := setup(t)
		task := inThread(b.say(b.Mention("remind me")))
		task.Occasion = conversation.Occasion{Promise: "p", Number: 1}
		if _, err := b.Store.AddPromise(t.Context(), store.Promise{
			Choice: store.Choice{ID: "p", TeamID: "T1", ChannelID: b.General, ThreadTS: task.Trigger, TriggerTS: task.Trigger, Asker: b.Alice.ID},
			What:   "the parcel",
			Zone:   "UTC",
			DueUS:  b.Clock().UnixMicro(),
		}, store.PromiseLimits{Conversation: 20}); err != nil {
			t.Fatal(err)
		}
		name := "<@" + b.Alice.ID + ">"
		b.compose(task, name+" The parcel came on Monday.", "And more.")
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Error: c.code, Match: func(call workspace.Call) bool {
			return call.Args.Get("channel") == b.General && (c.direct || call.Args.Get("thread_ts") != "")
		}})
		got, errs := runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task, Addressed: true})
		posts := b.Workspace.Posts()
		if got.Result != conversation.Done || len(posts) != map[bool]int{true: 1, false: 2}[c.direct] {
			t.Fatalf("%s: got %+v, %v, posted %+v", c.code, got, errs, posts)
		}
		if p := posts[0]; (p.Channel != b.General) != c.direct || !strings.HasPrefix(p.Text, name) || !strings.Contains(p.Text, c.want) {
			t.Errorf("%s: posted %+v", c.code, p)
		}
	}
}

// The rest of a reply follows its refused part. A reply that nobody waits for ends.
func TestRestOfAReplyGoesElsewhere(t *testing.T) {
	t.Parallel()
	for _, addressed := range []bool{true, false} {
		b := setup(t)
		task := inThread(b.say(b.Mention("hello?")))
		b.compose(task, "One.", "Two.", "Three.")
		b.Workspace.Faults().Add(workspace.Fault{Method: postMessage, Error: "restricted_action_thread_locked", Match: func(c workspace.Call) bool {
			return c.Args.Get("thread_ts") != "" && c.Args.Get("text") != "One."
		}})
		_, _ = runUntilDone[ReplyOutput](t, b.Post, PostInput{Task: task, Addressed: addressed})
		var got []string
		for _, p := range b.Workspace.Posts() {
			got = append(got, map[bool]string{true: "top: ", false: "thread: "}[p.ThreadTS == ""]+p.Text)
		}
		want := []string{"thread: One."}
		if addressed {
			want = append(want, "top: <@"+b.Alice.ID+"> "+notInThread+"\n\nTwo.", "top: Three.")
		}
		if !slices.Equal(got, want) {
			t.Errorf("addressed %v: posted %q", addressed, got)
		}
	}
}
