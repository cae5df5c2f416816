package agents

import (
	"context"
	"slices"
	"time"

	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
)

// RenderFound writes messages found for a conversation as material for the model that answers there.
// Each carries the marker of its reference.
func (m *Mind) RenderFound(ctx context.Context, c chat.Conversation, found []chat.Found) (string, error) {
	r, err := m.Recall.Name(ctx, c, found)
	if err != nil {
		return "", err
	}
	return m.Prompts.Found(r.Found, r.Persona, m.options(m.Agents.Response, r), func(said chat.Message) string {
		return tools.Reference{Channel: said.Channel, TS: said.TS}.Mark()
	}), nil
}

// Permalinks tells the addresses of messages.
type Permalinks interface {
	Permalink(ctx context.Context, channel, ts string) (string, error)
}

// Tools are what the model of replies may call. Those of remote get none of the secrets,
// and nothing of the instructions.
func (m *Mind) Tools(slack Permalinks, directory Directory, pages tools.Pages, files tools.Files, remote tools.Remote, secrets []string) *tools.Registry {
	return tools.New(tools.Sources{
		Store: m.Store, Render: m.RenderFound, Permalink: slack.Permalink,
		Pages: pages, Files: files, Shown: m.Recall.Shown, Around: m.Recall.Around, Material: m.Prompts.Material,
		Remote: remote, Secrets: secrets, Instructions: slices.Concat(m.Prompts.Instructions(), m.Instructions), Promises: m.Promises,
		Workspace: func(ctx context.Context) (string, error) {
			own, err := m.Slack.Identity(ctx)
			return own.URL, err
		},
		Zone: func(ctx context.Context, c chat.Conversation) (*time.Location, error) {
			known, err := m.Store.Channels(ctx, c.Team, []string{c.Channel})
			return directory.SettingsOf(config.ChannelFacts{ID: c.Channel, Name: known[c.Channel].Name}).Zone, err
		},
	})
}
