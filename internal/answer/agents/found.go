package agents

import (
	"context"
	"slices"
	"time"

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

// Permalinks tells the addresses of messages.
type Permalinks interface {
	Permalink(ctx context.Context, channel, ts string) (string, error)
}

// Tools are what the model of replies may call. Those of remote get none of the secrets,
// and nothing of the instructions.
func (ag *Agents) Tools(slack Permalinks, directory Directory, pages tools.Pages, files tools.Files,
	remote tools.Remote, secrets []string) *tools.Registry {
	return tools.New(tools.Sources{
		Store: ag.Store, Render: ag.RenderFound, Permalink: slack.Permalink,
		Pages: pages, Files: files, Shown: ag.Recall.Shown, Around: ag.Recall.Around, Material: ag.Prompts.Material,
		Remote: remote, Secrets: secrets, Instructions: slices.Concat(ag.Prompts.Instructions(), ag.Instructions),
		Promises:  ag.Promises,
		Workspace: ag.Own.URL,
		Zone: func(ctx context.Context, c chat.Conversation) (*time.Location, error) {
			known, err := ag.Store.Channels(ctx, c.Team, []string{c.Channel})
			here := known[c.Channel]
			here.ID = c.Channel // where the database does not know it
			return directory.SettingsOf(channels.SettingsFacts(here)).Zone, err
		},
	})
}
