package setup

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"myao/internal/config"
	"myao/internal/slack"
)

// The variables of the secrets, as in config.example.yaml.
const (
	botTokenVariable      = "SLACK_BOT_TOKEN"
	signingSecretVariable = "SLACK_SIGNING_SECRET"
	appTokenVariable      = "SLACK_APP_TOKEN"
)

// keptDays is for how long messages are kept.
const keptDays = 400

// answers are what was answered so far. The zero value and the provider demo are a valid configuration.
type answers struct {
	events, url   string
	slackAPI      string // empty: Slack's own
	botToken      string
	signingSecret string
	appToken      string
	botName       string

	provider config.Provider
	model    string // empty: the defaults of Gemini
	modelURL string // empty: the provider's own
	apiKey   string

	language, timeZone string // empty: the defaults

	mentionOnly []slack.Channel
}

// keyVariable is the variable of the model's key.
func keyVariable(p config.Provider) string { return strings.ToUpper(string(p)) + "_API_KEY" }

// variable is a secret by its name in the environment.
type variable struct{ name, value string }

// secrets returns the secrets in the order of the file.
func (a answers) secrets() []variable {
	all := []variable{{botTokenVariable, a.botToken}}
	if a.events == http {
		all = append(all, variable{signingSecretVariable, a.signingSecret})
	} else {
		all = append(all, variable{appTokenVariable, a.appToken})
	}
	if a.apiKey != "" {
		all = append(all, variable{keyVariable(a.provider), a.apiKey})
	}
	return all
}

// env returns the content of .env. Shells, Compose and Docker read it alike.
func (a answers) env() []byte {
	var out bytes.Buffer
	out.WriteString("# The secrets of config.yaml. Before a program starts:  set -a; . ./.env; set +a\n")
	for _, v := range a.secrets() {
		_, _ = fmt.Fprintf(&out, "%s=%s\n", v.name, shellWord(v.value))
	}
	return out.Bytes()
}

var safeWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// shellWord quotes a word for a shell where it needs quotes.
func shellWord(s string) string {
	if safeWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// document is a YAML mapping in the order in which its values are put.
type document struct {
	root yaml.Node
	err  error
}

// put sets the value at a path of keys, and a comment above the last key unless it is empty.
func (d *document) put(comment string, value any, path ...string) {
	d.root.Kind = yaml.MappingNode
	at, key := &d.root, &yaml.Node{}
	for _, name := range path {
		i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == name })
		if i < 0 {
			key = &yaml.Node{}
			key.SetString(name)
			i = len(at.Content)
			at.Content = append(at.Content, key, &yaml.Node{Kind: yaml.MappingNode})
		}
		at = at.Content[i+1]
	}
	key.HeadComment = comment
	d.err = cmp.Or(d.err, at.Encode(value))
}

// literal escapes a text so that the configuration does not take parts of it for variables.
func literal(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// yaml returns the content of config.yaml: what differs from the defaults, and for how long messages are
// kept.
func (a answers) yaml() ([]byte, error) {
	var d document
	defaults := config.Default()
	for _, v := range a.secrets() {
		key := map[string][]string{
			botTokenVariable: {"slack", "bot_token"}, signingSecretVariable: {"slack", "signing_secret"},
			appTokenVariable: {"slack", "app_token"},
		}[v.name]
		if key == nil {
			key = []string{"llm", string(a.provider), "api_key"}
		}
		d.put("", "${"+v.name+"}", key...)
	}
	put := func(value, unless string, path ...string) {
		if value != "" && value != unless {
			d.put("", literal(value), path...)
		}
	}
	put(a.slackAPI, defaults.Slack.APIURL, "slack", "api_url")
	put(a.modelURL, "", "llm", string(a.provider), a.provider.AddressKey())
	for _, agent := range []struct {
		name string
		is   config.Agent
	}{{"response", defaults.Agents.Response}, {"judgment", defaults.Agents.Judgment},
		{"memory", defaults.Agents.Memory}} {
		put(string(a.provider), string(agent.is.Provider), "agents", agent.name, "provider")
		if a.provider == agent.is.Provider {
			put(a.model, agent.is.Model, "agents", agent.name, "model")
		} else {
			put(a.model, "", "agents", agent.name, "model")
		}
	}
	put(a.language, string(defaults.Language), "language")
	put(a.timeZone, defaults.TimeZone, "time_zone")
	d.put("", keptDays, "retention", "messages_days")
	for _, ch := range a.mentionOnly {
		d.put(printable(ch.Name), map[string]string{"mode": string(config.ModeMention)}, "channels", ch.ID)
	}
	if d.err != nil {
		return nil, fmt.Errorf("write the configuration: %w", d.err)
	}
	var out bytes.Buffer
	out.WriteString("# What differs from the defaults, which config.example.yaml has.\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := cmp.Or(encoder.Encode(&d.root), encoder.Close()); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return out.Bytes(), nil
}

// config returns the configuration that the files will be. Secrets that are not answered yet have some
// value. Its error is a refusal.
func (a answers) config() (config.Config, error) {
	text, err := a.yaml()
	if err != nil {
		return config.Config{}, err
	}
	values := map[string]string{}
	for _, v := range a.secrets() {
		values[v.name] = cmp.Or(v.value, "none")
	}
	c, err := config.Parse(text, func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	})
	if err != nil {
		return config.Config{}, refusal(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return c, nil
}
