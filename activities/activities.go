// Package activities holds the activities of all workflows. Conversations judge, compose, look,
// post, settle and order. Memory finds scopes and remembers them. Catch-up syncs channels and reads
// missed messages. Retention prunes. Hindsight labels. Shadow asks other judges. Each activity may be attempted any
// number of times, by several workers at once, and takes effect once. Inputs and outputs carry
// ids: texts stay in the database.
package activities

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/answer/budget"
	"myao/internal/answer/tools"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/intake/catchup"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/store"
)

// Slack is the part of Slack's API that activities call themselves.
type Slack interface {
	Post(ctx context.Context, p slack.Post) (ts string, err error)
	React(ctx context.Context, channel, ts, name string) error
	Update(ctx context.Context, u slack.Update) (existed bool, err error)
	FindPost(ctx context.Context, channel, threadTS, oldest, key string, own slack.Identity) (ts string, found bool,
		err error)
	Permalink(ctx context.Context, channel, ts string) (string, error)
	// OpenDirect returns the id of the direct message with a user.
	OpenDirect(ctx context.Context, user string) (string, error)
}

// Directory knows the settings of channels.
type Directory interface {
	agents.Directory
	// StoredSettings returns settings by channel id. It takes the names from the database.
	StoredSettings(ctx context.Context, team string, ids ...string) (map[string]config.ChannelSettings, error)
	// Refresh reads a channel from Slack and saves it. It gives up after within.
	Refresh(ctx context.Context, team, channel string, within time.Duration) (store.Channel, error)
}

// Tools offers what a model may look up for a reply, and carries it out.
type Tools interface {
	Offered(ctx context.Context, p tools.Place) ([]tools.Offer, error)
	// Run returns what the model is told. An err is tried again. step identifies the call however often
	// it is tried.
	// Refuses says why a call that acts is not even proposed; "" if nothing speaks against it.
	Refuses(input json.RawMessage) string
	// Prepare returns the input of a call of our own as it is proposed, or why it is not.
	Prepare(ctx context.Context, p tools.Place, name string, input json.RawMessage) (prepared, refused string,
		err error)
	Run(ctx context.Context, p tools.Place, step, name string, input json.RawMessage) (tools.Result, error)
}

// Activities holds what the activities of one workspace need. Create it with New.
type Activities struct {
	Store *store.Store
	// Own is who the bot is.
	Own       slack.Identity
	Slack     Slack
	Directory Directory
	Agents    *agents.Agents
	// Bot returns the bot's user id in another workspace; "" if it is in none. Nil: there is one workspace.
	Bot func(ctx context.Context, team string) (string, error) `nil:"ok"`
	// Missed reads the messages that did not come as events.
	Missed *catchup.Reader
	// Tools are what a model may call; nil offers nothing. Limits bounds that.
	Tools  Tools `nil:"ok"`
	Limits config.Tools
	// Budget is that of the workspace; nil has no limit.
	Budget *budget.Workspace `nil:"ok"`
	// Retention says how long rows are kept. The zero value keeps them for ever.
	Retention config.Retention
	// Installable says that workspaces install the app, and leave again.
	Installable bool
	// SecondLook says which judged replies the judge reads again before they are posted. The zero
	// value is config.SecondLookOff.
	SecondLook config.SecondLook
	// Shadow says which judgments the judges of Agents.Shadow are asked about; the zero value is none.
	// StartOfDay returns the start of the day that its limit is for; nil where it has none.
	Shadow     config.Shadow
	StartOfDay func(now time.Time) time.Time `nil:"ok"`
	// Feedback says which replies have buttons to rate them. The zero value is none.
	Feedback config.Feedback
	// Statuses shows people in their threads that the bot works for them. The zero value shows nothing.
	Statuses Statuses
	// Language is what people are told in. The zero value is English.
	Language chat.Language
	// AtOnce says whether replies are posted within the tasks of workflows; nil: they are.
	AtOnce *AtOnce `nil:"ok"`
	// Promises is where promises that are due take turns; nil lets each begin at once.
	Promises *Turnstile `nil:"ok"`
	Clock    func() time.Time
	Logger   *slog.Logger
	// Metrics counts results; nil counts nothing.
	Metrics *Metrics `nil:"ok"`
}

// New returns activities that have all they need. It panics with the name of a field that is missing.
func New(a *Activities) *Activities { return required.Fields(a) }
