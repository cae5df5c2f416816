package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// undoOf returns the value of the Undo button under an answer.
func undoOf(t *testing.T, answers []workspace.Response) string {
	t.Helper()
	for _, a := range answers {
		var blocks []struct {
			Elements []struct {
				ActionID string `json:"action_id"`
				Value    string `json:"value"`
			} `json:"elements"`
		}
		if json.Unmarshal(a.Blocks, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			for _, e := range b.Elements {
				if e.ActionID == slack.ActionUndoSettings {
					return e.Value
				}
			}
		}
	}
	t.Fatalf("no button to undo it: %+v", answers)
	return ""
}

// Who may sets how the bot behaves in a channel, in Slack: it holds from the next message on, is explained, and is
// undone by a click. Others are refused, and where the file locks the channel everybody is.
func TestSettingsInSlack(t *testing.T) {
	t.Parallel()
	s := build(t, sqlite(t), longAckTimeout, quiet(600), maxWait(1200), configured("channels: {fixed: {locked: true}}"),
		modelAnswers(judgeAndAnswer("It is in the drawer.", slices.Repeat([]llmtest.Reply{llmtest.Yes("nobody answered", 1, 0)}, 9)...)))
	s.Configure("slack: {operators: [" + s.alice.ID + "]}")
	fixed := s.Workspace.AddChannel(workspace.Public, "fixed", s.Workspace.Bot().UserID, s.alice.ID)
	gil := s.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true}).ID
	s.Workspace.Join(s.general, gil)
	s.Start()
	db, err := store.Open(t.Context(), s.Database)
	testserver.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	s.store = db
	s.pauseSchedules()
	s.runWorkflow("ChannelSync", nil, nil)
	set := func(text string, parts ...string) (undo string) {
		t.Helper()
		var asked *workspace.Interaction
		said, _ := s.interact(text, func() *workspace.Interaction {
			asked = s.Workspace.Command(s.general, s.alice.ID, "/myao settings "+text)
			return asked
		})
		s.mustContain(said, parts...)
		return undoOf(t, s.Workspace.Responses(asked))
	}
	undo := func(user, value string) string {
		t.Helper()
		said, _ := s.interact("undo", func() *workspace.Interaction {
			return s.Workspace.Press(s.general, user, "1.000001", slack.ActionUndoSettings, value)
		})
		return said
	}
	explained := func(key string) (found config.Setting) {
		t.Helper()
		var report struct{ Settings []config.Setting }
		s.commandJSON(&report, "channels", s.general)
		for _, e := range report.Settings {
			if e.Key == key {
				found = e
			}
		}
		return found
	}

	for _, user := range []string{s.bob.ID, gil} {
		s.mustContain(s.typeCommand(s.general, user, "settings mode mention"), "You may not change my settings here")
	}
	s.mustContain(s.typeCommand(fixed, s.alice.ID, "settings mode mention"), "fixes how I behave in this channel (`locked`)")
	s.mustContain(s.typeCommand(s.general, s.alice.ID, "settings mode loud"), "must be one of judge, mention, all, off")

	// A conversation that is open goes by it from the next message on.
	s.Workspace.Say(s.general, s.bob.ID, "where is the ladder?")
	s.awaitPhase(s.general, conversation.Waiting)
	set("min_wait_seconds 1", "`min_wait_seconds` is `1` here from now on. It was `600`.")
	s.Workspace.Say(s.general, s.bob.ID, "does anybody know?")
	s.await("the answer", func() bool { return len(s.postsIn(s.general)) == 1 })

	mention := set("mode mention", "`mode` is `mention` here from now on. It was `judge`.")
	quiet := s.Workspace.Say(s.general, s.bob.ID, "and where is the hammer?")
	s.awaitStored(s.general, quiet)
	s.mustContain(s.told("why", s.general, quiet), conversation.ReasonModeMentionInSlack)
	s.mustContain(s.typeCommand(s.general, s.bob.ID, "settings"), "`mode`: `mention` – set in Slack by <@"+s.alice.ID+">", "before: `judge`", "`quiet_hours`: `none` – as I come")
	if e := explained("mode"); e.From != "slack" || e.Value != "mention" || e.By != "slack:"+s.alice.ID || e.At.IsZero() || e.Before == nil || *e.Before != "judge" {
		t.Errorf("explained as %+v", e)
	}
	s.mustContain(undo(s.bob.ID, mention), "You may not change my settings here")
	s.mustContain(undo(s.alice.ID, mention), "`mode` is `judge` here again.")
	s.mustContain(undo(s.alice.ID, mention), "This is undone already.")
	s.Workspace.Say(s.general, s.bob.ID, "and where is the saw?")
	s.await("the answer", func() bool { return len(s.postsIn(s.general)) == 2 })

	first := set("tone Short.", "`tone` is `Short.` here from now on. It was `none`.")
	set("tone \"Short, and no emoji.\"", "`tone` is `Short, and no emoji.` here")
	s.mustContain(undo(s.alice.ID, first), "This was set again since")
	set("language ja", "`language`", "`ja`")
	asked := s.Workspace.Say(s.general, s.bob.ID, s.mention("and the nails?"))
	s.await("the answer", func() bool {
		return slices.ContainsFunc(s.postsIn(s.general), func(p workspace.Post) bool { return p.ThreadTS == asked })
	})
	replies := s.replies()
	if last := replies[len(replies)-1].System; !strings.Contains(last, "「Short, and no emoji.」") || !strings.Contains(last, "ここから") {
		t.Errorf("the prompt is not in the channel's language and tone:\n%s", last)
	}
	s.awaitSlackStatus("ここで待っていることはありません。")

	// The form of the Home tab does the same. The tab of who may not has no button.
	if blocks := s.openHome(s.bob.ID, holding("|general")); strings.Contains(blocks, slack.ActionHomeSettings) {
		t.Error("a colleague is shown the button")
	}
	blocks := s.openHome(s.alice.ID, holding(slack.ActionHomeSettings))
	if n := strings.Count(blocks, slack.ActionHomeSettings); n != 1 {
		t.Errorf("%d buttons, want that of the channel that is not locked", n)
	}
	s.repeat("the form", func() { // Slack opens none three seconds after the click
		s.pressHome(s.alice.ID, slack.ActionHomeSettings, s.general)
	}, func() bool { return len(s.Workspace.Modals()) > 0 })
	form := s.Workspace.Modals()[0]
	s.mustContain(string(form.View), `"initial_value":"Short, and no emoji."`, "quiet_hours", "static_select")
	submit := func(quietHours string) (wrong map[string]string) {
		entered := map[string]map[string]string{}
		for key, value := range map[string]string{"mode": "default", "min_wait_seconds": "1", "quiet_hours": quietHours, "remember": "default",
			"language": "ja", "tone": "Short, and no emoji."} {
			entered[key] = map[string]string{key: value}
		}
		return s.taken("the form", func() *workspace.Interaction { return s.Workspace.Submit(form.ID, entered) }).Wrong
	}
	if wrong := submit("late"); len(wrong) != 1 || !strings.Contains(wrong["quiet_hours"], "must be HH:MM-HH:MM") {
		t.Errorf("what is wrong: %v", wrong)
	}
	if wrong := submit("00:00-23:59"); len(wrong) != 0 {
		t.Errorf("what is right is wrong: %v", wrong)
	}
	blocks = s.awaitHome(s.alice.ID, holding("`quiet_hours` is `00:00-23:59` here from now on"))
	if e := explained("quiet_hours"); e.From != "slack" || e.Value != "00:00-23:59" {
		t.Errorf("explained as %+v", e)
	}
	s.pressHome(s.alice.ID, slack.ActionUndoSettings, undoOf(t, []workspace.Response{{Blocks: json.RawMessage(blocks)}}))
	s.awaitHome(s.alice.ID, holding("`quiet_hours` is `none` here again"))

	// What the file fixes from now on counts no more.
	s.Configure("slack: {operators: [" + s.alice.ID + "]}\nlocked: true")
	s.restart()
	if e := explained("tone"); e.From == "slack" {
		t.Errorf("locked, it is explained as %+v", e)
	}
	s.mustContain(s.typeCommand(s.general, s.alice.ID, "settings"), "`tone`: `none`", "`locked`")
}
