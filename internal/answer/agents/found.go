package agents

import (
	"context"
	"slices"
	"time"

	"myao/internal/answer/prompt"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/slack/channels"
)

// RenderFound writes messages found for a conversation as material for the model that answers there.
// Each carries the marker of its reference.
func (ag *Agents) RenderFound(ctx context.Context, c chat.Conversation, found []chat.Found) (string, error) {
	r, err := ag.Recall.Name(ctx, c, found)
	if err != nil {
		return "", err
	}
	return ag.Prompts.Found(r.Found, r.Persona, ag.options(ag.ByUse.Response, r), func(said chat.Message) string {
		return tools.Reference{Channel: said.Channel, TS: said.TS}.Mark()
	}), nil
}

// Slack tells tools the addresses of messages, and who is where.
type Slack interface {
	Permalink(ctx context.Context, channel, ts string) (string, error)
	tools.People
}

// ToolDirectory knows the settings of channels, and the channels themselves.
type ToolDirectory interface {
	Directory
	tools.Places
}

// Tools are what the model of replies may call. Those of remote get none of the secrets,
// and nothing of the instructions.
func (ag *Agents) Tools(slack Slack, directory ToolDirectory, pages tools.Pages, files tools.Files,
	remote tools.Remote, secrets []string) *tools.Registry {
	return tools.New(tools.Sources{
		Store: ag.Store, Render: ag.RenderFound, Permalink: slack.Permalink,
		Pages: pages, Files: files, Playbooks: ag.Playbooks, Shown: ag.Recall.Shown, Around: ag.Recall.Around,
		Places: directory, People: slack,
		Safe:     func(text string) string { return prompt.SafeReply(text, "", prompt.Unwritten, ag.Recall.Persona) },
		Material: ag.Prompts.Material, Remote: remote, Secrets: secrets,
		Instructions: slices.Concat(ag.Prompts.Instructions(), ag.Instructions),
		Promises:     ag.Promises,
		Workspace:    ag.Own.URL,
		Zone: func(ctx context.Context, c chat.Conversation) (*time.Location, error) {
			known, err := ag.Store.Channels(ctx, c.Team, []string{c.Channel})
			here := known[c.Channel]
			here.ID = c.Channel // where the database does not know it
			return directory.SettingsOf(channels.SettingsFacts(here)).Zone, err
		},
	})
}
