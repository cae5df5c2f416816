package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/llm"
	"myao/internal/slack"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
)

// sayIn matches a wish to say something elsewhere.
var sayIn = regexp.MustCompile(`say in (\S+) “(.*?)”`)

// markup is what the model makes of words: prompts have no markup of Slack.
var markup = strings.NewReplacer("everybody", "<!channel>", "call:", "<@", ":now", ">")

// saysIn is a model that proposes what the newest such wish in its prompt asks for, if it has the tool. Then it repeats
// what it was told.
func saysIn(c llmtest.Call) llmtest.Reply {
	wishes := sayIn.FindAllStringSubmatch(c.System, -1)
	if c.Judgment() || len(wishes) == 0 {
		return llmtest.Text("nothing to say")
	}
	if n := len(c.Turns); n > 0 {
		return llmtest.Text("told: " + c.Turns[n-1].Results[0].Text)
	}
	for _, tool := range c.Tools {
		if wish := wishes[len(wishes)-1]; tool.Name == "post_message" {
			input, err := json.Marshal(map[string]string{"to": wish[1], "text": markup.Replace(wish[2])})
			if err != nil {
				return llmtest.Fail(500)
			}
			return llmtest.Reply{Calls: []llm.Call{{Name: tool.Name, Input: input}}}
		}
	}
	return llmtest.Text("told: no tool")
}

// asksToSay asks in a channel, and returns the answer.
func (s *system) asksToSay(channel, user, to, text string) workspace.Post {
	s.t.Helper()
	ts := s.Workspace.Say(channel, user, s.mention("say in "+to+" “"+text+"”"))
	var answer workspace.Post
	s.await("the answer to "+to+" "+text, func() bool {
		for _, p := range s.postsIn(channel) {
			if p.ThreadTS == ts || p.Channel[0] == 'D' && p.TS > ts {
				answer = p
			}
		}
		return answer.TS != ""
	})
	return answer
}

// proposalUnder waits for the proposal under an answer.
func (s *system) proposalUnder(answer workspace.Post) (p store.Proposal) {
	s.t.Helper()
	s.await("the proposal under "+answer.Text, func() bool {
		found, err := s.store.Proposals(s.t.Context(), store.ChoiceFilter{Team: "T0E2E", Channel: answer.Channel, All: true, Limit: 50})
		for _, f := range found {
			if f.ShownTS == answer.TS {
				p = f
			}
		}
		return err == nil && p.ID != ""
	})
	return p
}

// What whoever asked has approved is posted once in the other place and told with its link. Nobody else approves it, and
// it is refused where whoever asks is not.
func TestSaysSomethingElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite(t), longAckTimeout, quiet(300), maxWait(600), configured("tools: {post_to: [members]}"),
		configured("slack: {everyone_may: [approve]}"), modelAnswers(saysIn))
	plans := s.Workspace.AddChannel(workspace.Private, "plans", s.Workspace.Bot().UserID, s.alice.ID)
	away := s.Workspace.AddChannel(workspace.Public, "away", s.alice.ID, s.bob.ID)
	shut := s.Workspace.AddChannel(workspace.Public, "shut", s.Workspace.Bot().UserID, s.alice.ID)
	off := string(config.ModeOff)
	testserver.Must(t, s.store.SetInChannel(t.Context(), chat.Conversation{Team: "T0E2E", Channel: shut}, "off",
		"slack:"+s.alice.ID, map[string]*string{"mode": &off}))
	s.runWorkflow("ChannelSync", nil, nil)

	answer := s.asksToSay(s.general, s.alice.ID, "#plans", "The *demo* is at three, everybody. Ask call:"+s.bob.ID+":now.")
	p := s.proposalUnder(answer)
	s.mustContain(string(answer.Blocks), "Post in #plans, below a line that says who asked for it:",
		"The *demo* is at three, @channel. Ask @bob ("+s.bob.ID+").")
	refused, _ := s.interact("bob's click", func() *workspace.Interaction {
		return s.Workspace.Press(s.general, s.bob.ID, answer.TS, slack.ActionApprove, p.ID)
	})
	s.mustContain(refused, "Only <@"+s.alice.ID+">, who asked, and my operators")
	for range 2 {
		s.click(s.general, s.alice.ID, answer.TS, slack.ActionApprove, p.ID)
	}
	told := func(p store.Proposal) (text string) {
		t.Helper()
		s.await("what came of it to be told", func() bool {
			for _, post := range s.postsIn(p.ChannelID) {
				if post.ThreadTS == p.TriggerTS && post.TS > p.ShownTS {
					text = post.Text
				}
			}
			return text != ""
		})
		return text
	}
	text := told(p)
	posts := s.postsIn(plans)
	if want := "<@" + s.alice.ID + "> asked me to say this:"; len(posts) != 1 || !strings.HasPrefix(posts[0].Text, want) ||
		strings.Contains(posts[0].Text, "<!") || !strings.HasSuffix(string(posts[0].Blocks), `Ask \u003c@`+s.bob.ID+`\u003e."}]`) {
		t.Fatalf("posted %+v", posts)
	}
	s.mustContain(text, "Posted in #plans: http", "/archives/"+plans+"/p"+strings.ReplaceAll(posts[0].TS, ".", ""))
	if m, err := s.store.Message(t.Context(), "T0E2E", plans, posts[0].TS); err != nil || !m.Own {
		t.Errorf("recorded as %+v, %v", m, err)
	}

	direct := s.proposalUnder(s.asksToSay(s.general, s.alice.ID, "@bob", "the door is open"))
	s.click(s.general, s.alice.ID, direct.ShownTS, slack.ActionApprove, direct.ID)
	s.mustContain(told(direct), "Posted in @bob ("+s.bob.ID+"): http")

	alone := s.Workspace.AddChannel(workspace.DM, "", s.alice.ID)
	s.mustContain(string(s.asksToSay(alone, s.alice.ID, "#plans", "said among us").Blocks), "Post in #plans", "said among us")

	unknown := s.asksToSay(s.general, s.bob.ID, "#nowhere", "hello").Text
	s.mustContain(unknown, "told: Whoever asks for it, whoever approves it and I have to be in the channel")
	if got := s.asksToSay(s.general, s.bob.ID, "#plans", "hello").Text; got != unknown {
		t.Errorf("of a private channel bob is told %q, of none %q", got, unknown)
	}
	s.mustContain(s.asksToSay(s.general, s.bob.ID, away, "hello").Text, "I am not in that channel")
	s.mustContain(s.asksToSay(s.general, s.alice.ID, "#shut", "hello").Text, "I am muted or switched off there")
	s.mustContain(s.asksToSay(s.general, s.alice.ID, "#plans", "the token is xoxb-1234567890-abcdefgh").Text, "This was refused: its input holds")
	s.mustContain(s.asksToSay(s.general, s.alice.ID, "#plans", strings.Repeat("long ", 400)).Text, "a message has at most 1500")

	left := s.proposalUnder(s.asksToSay(s.general, s.alice.ID, "#plans", "and this"))
	s.Workspace.Leave(plans, s.alice.ID)
	s.click(s.general, s.alice.ID, left.ShownTS, slack.ActionApprove, left.ID)
	s.mustContain(told(left), "I did not post it in #plans. Whoever asks for it", "(`tools.post_to`).")
	if p, err := s.store.Proposal(t.Context(), left.ID); err != nil || p.State != store.ProposalFailed {
		t.Errorf("%+v, %v", p, err)
	}

	guest := s.Workspace.AddUserAs(workspace.User{Name: "gil", Guest: true}).ID
	s.Workspace.Join(s.general, guest)
	s.await("the guest to be known", func() bool {
		in, err := s.store.OutsidersIn(t.Context(), "T0E2E")
		return err == nil && in[s.general] == 1
	})
	s.mustContain(s.asksToSay(s.general, s.alice.ID, "#general", "with a guest").Text, "told: no tool")
	s.never("anything else to be posted", time.Second, func() bool {
		return len(s.postsIn(plans)) != 1 || s.phase("channel/T0E2E/"+plans) == conversation.Replying
	})
}
