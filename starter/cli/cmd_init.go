package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"myao/internal/operate/setup"
	"myao/internal/slack/manifest"
)

// initCommand makes the configuration of a new installation.
type initCommand struct {
	Events      string `enum:"socket,http," default:"" placeholder:"HOW" help:"How Slack's events arrive: socket or http."`
	URL         string `name:"url" placeholder:"URL" help:"For http: the public https:// address of the starter."`
	Provider    string `enum:"gemini,openai,anthropic,demo," default:"" placeholder:"NAME" help:"The models' provider: gemini, openai, anthropic or demo."`
	Model       string `placeholder:"NAME" help:"The provider's name of the model, for all uses."`
	ModelURL    string `name:"model-url" placeholder:"URL" help:"The address of the models' server, where it is not the provider's own."`
	Language    string `enum:"en,ja," default:"" placeholder:"LANGUAGE" help:"The workspace's language: en or ja."`
	TimeZone    string `placeholder:"ZONE" help:"The zone of its times, as Asia/Tokyo."`
	MentionOnly string `placeholder:"CHANNELS" help:"Channels in which the bot answers only mentions: names or ids, with commas."`
	SlackAPI    string `name:"slack-api" placeholder:"URL" help:"The root of Slack's Web API, where it is not Slack's own, such as that of a sandbox."`
	Yes         bool   `help:"Do not ask: take these flags, the environment's secrets, and otherwise the defaults."`
	Overwrite   bool   `help:"Replace existing files without asking. The old ones are kept, as config.yaml.old."`
}

// Help implements kong's Help.
func (*initCommand) Help() string {
	return `It asks five questions, checks each answer against Slack and the model, and writes config.yaml, .env
(the secrets, for you alone) and manifest.yaml (the Slack app, to be pasted at api.slack.com). What the
flags and the environment have is what Enter takes; secrets come from SLACK_BOT_TOKEN, SLACK_APP_TOKEN,
SLACK_SIGNING_SECRET, GEMINI_API_KEY, OPENAI_API_KEY and ANTHROPIC_API_KEY.

  starter init
  starter init --url https://myao.example.com --language ja
  starter init --yes --provider anthropic --config /etc/myao/config.yaml`
}

// Validate implements kong's Validate.
func (c *initCommand) Validate() error {
	if c.URL == "" {
		return nil
	}
	if c.Events == "socket" {
		return fmt.Errorf("--url has no use with --events socket")
	}
	if _, err := manifest.Base(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

func (c *initCommand) run(ctx context.Context, p *program) error {
	err := setup.Setup{
		Path: p.path,
		Defaults: setup.Defaults{
			Events: c.Events, URL: c.URL, Provider: c.Provider, Model: c.Model, ModelURL: c.ModelURL,
			Language: c.Language, TimeZone: c.TimeZone, MentionOnly: c.MentionOnly,
		},
		SlackAPI: c.SlackAPI, Yes: c.Yes, Overwrite: c.Overwrite, Getenv: os.LookupEnv, In: p.stdin, Out: p.stdout,
	}.Run(ctx)
	if err != nil { // what servers say may have lines
		return errors.New(strings.Join(strings.FieldsFunc(err.Error(), unicode.IsControl), " "))
	}
	return nil
}
