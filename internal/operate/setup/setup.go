// Package setup makes the configuration of a new installation. It asks five questions, checks each answer
// against Slack and the model, and writes config.yaml, .env and the manifest of the Slack app.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/runtime/required"
	"myao/internal/slack/manifest"
)

// The names of the files beside the configuration.
const (
	envFile      = ".env"
	manifestFile = "manifest.yaml"
)

// Defaults are the answers that Enter takes. Each may be empty. Secrets come from the environment, by the
// names of config.example.yaml.
type Defaults struct {
	// Events is how Slack's events arrive: socket or http. URL is the public address for http.
	Events, URL string
	// Provider is the provider of the models, Model the provider's name of one model for all uses, and
	// ModelURL the address of another server than the provider's own.
	Provider, Model, ModelURL string
	Language, TimeZone        string
	// MentionOnly are the channels in which the bot answers only mentions, with commas: names or ids.
	MentionOnly string
}

// Setup is one run.
type Setup struct {
	// Path is that of config.yaml. The other files are in the same directory.
	Path     string
	Defaults Defaults
	// SlackAPI is the root of Slack's Web API; empty is Slack's own.
	SlackAPI string
	// Yes takes the default of each question. An answer that fails its check is an error then.
	Yes bool
	// Overwrite replaces existing files without asking.
	Overwrite bool
	Getenv    func(string) (string, bool)
	In        io.Reader
	Out       io.Writer
}

// run is a Setup under way.
type run struct {
	Setup
	*console
	answers
}

// Run asks, checks and writes. The manifest is written after the first question, because the app, which has
// the tokens, is made from it; the other files are written at the end.
func (s Setup) Run(ctx context.Context) error {
	required.Fields(&s)
	r := &run{Setup: s, console: newConsole(s.In, s.Out, s.Yes), answers: answers{
		provider: config.ProviderDemo, slackAPI: s.SlackAPI, botName: config.Default().Persona.Name,
	}}
	if err := r.mayWrite(ctx, r.path(filepath.Base(s.Path)), r.path(envFile)); err != nil {
		return err
	}
	r.say("Five questions; each answer is checked. Enter takes what stands in brackets, Ctrl-C ends.")
	for _, question := range []func(context.Context) error{r.askEvents, r.askWorkspace, r.askModel, r.askLanguage,
		r.askChannels} {
		r.say("")
		if err := question(ctx); err != nil {
			return fmt.Errorf("%w. %s and %s were not written", err, s.Path, r.path(envFile))
		}
	}
	text, err := r.yaml()
	if err != nil {
		return err
	}
	if err := write(file{s.Path, text, 0o644}, file{r.path(envFile), r.env(), 0o600}); err != nil {
		return err
	}
	r.next()
	return nil
}

// path returns the path of a file beside the configuration.
func (r *run) path(name string) string { return filepath.Join(filepath.Dir(r.Path), name) }

// mostTries is how often a question is asked.
const mostTries = 20

// refusal is why an answer is asked for again; empty where the findings of checks are printed already.
type refusal string

func (r refusal) Error() string {
	return cmp.Or(string(r), "a check failed")
}

// refuse makes a refusal.
func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// until asks until the answer is accepted.
func (r *run) until(ctx context.Context, ask func() error) error {
	for range mostTries {
		err := ask()
		refused, ok := errors.AsType[refusal](err)
		if !ok || r.yes {
			return err
		}
		if refused != "" {
			r.say("   no    %s", refused)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.say("         Please answer again.")
	}
	return fmt.Errorf("no valid answer in %d attempts", mostTries)
}

// oneOf returns a refusal unless the answer is allowed.
func oneOf(answer string, allowed ...string) error {
	if slices.Contains(allowed, answer) {
		return nil
	}
	return refuse("want one of %s", strings.Join(allowed, ", ")) // the answer may be a secret in the wrong place
}

const (
	socket = "socket"
	http   = "http"
)

// askEvents asks how events arrive, and writes the manifest.
func (r *run) askEvents(ctx context.Context) error {
	r.say("1. How do Slack's events reach the bot?")
	r.say("   socket  It connects to Slack. Nothing of yours has to be reachable from outside.")
	r.say("   http    Slack sends them to a public https:// address of yours.")
	fallback := socket
	if r.Defaults.URL != "" {
		fallback = http
	}
	r.events, r.url = cmp.Or(r.Defaults.Events, fallback), r.Defaults.URL
	err := r.until(ctx, func() (err error) {
		if r.events, err = r.ask(ctx, prompt{text: "socket or http", enter: r.events, fold: true}); err != nil {
			return err
		}
		if err := oneOf(r.events, socket, http); err != nil {
			r.events = fallback
			return err
		}
		if r.events == socket {
			return nil
		}
		if r.url, err = r.ask(ctx, prompt{text: "Public address, as https://myao.example.com",
			enter: r.url}); err != nil {
			return err
		}
		if _, err := manifest.Base(r.url); err != nil {
			r.url = ""
			return refusal(err.Error())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.writeManifest(ctx)
}

// writeManifest writes the manifest, and says how to make an app of it.
func (r *run) writeManifest(ctx context.Context) error {
	c, err := r.config()
	if err != nil {
		return err
	}
	m, err := manifest.New(c, r.url)
	if err != nil {
		return err
	}
	text, err := m.YAML()
	if err != nil {
		return err
	}
	f := file{r.path(manifestFile), text, 0o644}
	if !f.written() {
		if err := r.mayWrite(ctx, f.path); err != nil {
			return err
		}
		if err := write(f); err != nil {
			return err
		}
	}
	r.say("")
	r.say("   %s is the Slack app. If you do not have it yet:", f.path)
	r.say("   a. At https://api.slack.com/apps?new_app=1 choose From a manifest and your workspace,")
	r.say("      and paste the file in place of what is there, as YAML.")
	r.say("   b. Open Install App, and install it.")
	r.say("   An app that exists already gets it under App Manifest; then install it again.")
	return nil
}

// askWorkspace asks for the app's secrets.
func (r *run) askWorkspace(ctx context.Context) error {
	r.say("2. Which workspace? Its token says so: OAuth & Permissions, Bot User OAuth Token.")
	if err := r.askSecret(ctx, &r.botToken, prompt{text: "Bot token, xoxb-…", variable: botTokenVariable},
		func(token string) error {
			if !strings.HasPrefix(token, "xoxb-") {
				return refuse("a bot token begins with xoxb-; xoxp- is a person's, xapp- the app's")
			}
			return nil
		}, "slack ", "home tab"); err != nil {
		return err
	}
	if own, err := r.client().Identity(ctx); err == nil { // Slack has just taken the token
		r.botName = own.Name
	}
	if r.events == http {
		r.say("   The signing secret is under Basic Information, App Credentials.")
		return r.askSecret(ctx, &r.signingSecret, prompt{text: "Signing secret", variable: signingSecretVariable}, nil,
			signingSecret)
	}
	r.say("   The app token: Basic Information, App-Level Tokens, Generate, with the scope connections:write.")
	return r.askSecret(ctx, &r.appToken, prompt{text: "App token, xapp-…", variable: appTokenVariable},
		func(token string) error {
			if !strings.HasPrefix(token, "xapp-") {
				return refuse("an app token begins with xapp-")
			}
			return nil
		}, "socket mode")
}

// askSecret asks for a secret until its form is right and no check of the doctor fails.
func (r *run) askSecret(ctx context.Context, secret *string, p prompt, form func(string) error,
	checks ...string) error {
	*secret = r.secretOf(p.variable)
	return r.until(ctx, func() error {
		p.enter = *secret
		given, err := r.askHidden(ctx, p)
		if err != nil {
			return err
		}
		if form != nil {
			if err := form(given); err != nil {
				return err
			}
		}
		*secret, p.variable = given, ""
		return r.check(ctx, checks...)
	})
}

// secretOf returns a secret of the environment, or "".
func (r *run) secretOf(variable string) string {
	value, _ := r.Getenv(variable)
	return strings.TrimSpace(value)
}

// askLanguage asks for the language and the time zone.
func (r *run) askLanguage(ctx context.Context) error {
	r.say("4. The workspace's language, and the zone of its times. The bot answers in the language of a conversation.")
	r.language, r.timeZone = r.Defaults.Language, r.Defaults.TimeZone
	if r.language == "" {
		r.language = r.environmentLanguage()
	}
	return r.until(ctx, func() (err error) {
		if r.language, err = r.ask(ctx, prompt{text: "en or ja", enter: r.language, fold: true}); err != nil {
			return err
		}
		if err := oneOf(r.language, string(chat.English), string(chat.Japanese)); err != nil {
			r.language = string(chat.English)
			return err
		}
		zone := cmp.Or(r.timeZone, map[string]string{string(chat.Japanese): "Asia/Tokyo"}[r.language],
			r.environmentZone())
		if r.timeZone, err = r.ask(ctx, prompt{text: "Time zone, as Europe/Berlin", enter: zone}); err != nil {
			return err
		}
		if _, err = r.config(); err != nil {
			r.timeZone = ""
		}
		return err
	})
}

// environmentLanguage is that of the terminal, if the bot has it.
func (r *run) environmentLanguage() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value, _ := r.Getenv(name); value != "" {
			if strings.HasPrefix(value, "ja") {
				return string(chat.Japanese)
			}
			break
		}
	}
	return string(chat.English)
}

// environmentZone is TZ where that names a zone; otherwise UTC.
func (r *run) environmentZone() string {
	zone, _ := r.Getenv("TZ")
	trial := r.answers
	trial.timeZone = strings.TrimPrefix(zone, ":")
	if _, err := trial.config(); zone == "" || err != nil {
		return "UTC"
	}
	return trial.timeZone
}

// next says what was written and what to do now.
func (r *run) next() {
	options, env := "", "./"+envFile
	if filepath.Clean(r.Path) != "config.yaml" {
		options = " --config " + shellWord(r.Path)
		env = shellWord(r.path(envFile))
		if !strings.Contains(r.path(envFile), "/") {
			env = "./" + envFile
		}
	}
	r.say("")
	r.say("Wrote %s, and the secrets to %s. Next, in three terminals:", r.Path, r.path(envFile))
	r.say("  make build temporal && mkdir -p -m 700 data && PATH=\"$PATH:.bin\" temporal server start-dev " +
		"--db-filename data/temporal.db")
	r.say("  set -a; . %s; set +a; .bin/starter%s", env, options)
	r.say("  set -a; . %s; set +a; .bin/worker%s", env, options)
	doctor := ".bin/starter doctor" + options
	if r.events == http {
		doctor += " --url " + shellWord(r.url)
		r.say("Once the starter runs and can be reached: Event Subscriptions at api.slack.com, Retry.")
	}
	r.say("Then /invite @%s in a channel%s, and mention it. %s says what is missing.", r.botName, r.uninvited(), doctor)
}
