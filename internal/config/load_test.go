package config_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
)

// env is an environment with only these variables.
type env map[string]string

func (e env) get(name string) (string, bool) {
	v, ok := e[name]
	return v, ok
}

// least is the shortest valid file, without keys for models. Tests append to it.
const least = `
slack: {bot_token: xoxb-token, signing_secret: signing-secret}
agents:
  response: {provider: demo}
  judgment: {provider: demo}
  memory: {provider: demo}
`

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, text string, e env) config.Config {
	t.Helper()
	c, err := config.Parse([]byte(text), e.get)
	if err != nil {
		t.Fatalf("refused:\n%v", err)
	}
	return c
}

// faultsOf parses a file that must be refused.
func faultsOf(t *testing.T, text string, e env) []config.Fault {
	t.Helper()
	c, err := config.Parse([]byte(text), e.get)
	var faulty *config.Error
	if !errors.As(err, &faulty) || len(faulty.Faults) == 0 {
		t.Fatalf("got error %v, want *config.Error with faults", err)
	}
	if !reflect.DeepEqual(c, config.Config{}) {
		t.Errorf("a refused configuration came back: %+v", c)
	}
	return faulty.Faults
}

func exampleEnv() env {
	return env{"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s3cret", "GEMINI_API_KEY": "AIza-1"}
}

func TestTheExampleFileIsTheDefaults(t *testing.T) {
	got, err := config.Load("../../config.example.yaml", exampleEnv().get)
	must(t, err)
	if got.File.Path != "../../config.example.yaml" {
		t.Errorf("the path is %q", got.File.Path)
	}
	want := config.Default()
	want.Slack.BotToken, want.Slack.SigningSecret, want.LLM.Gemini.APIKey = "xoxb-1", "s3cret", "AIza-1"
	got.File = config.File{}
	want.Retention.MessagesDays = 400 // whoever has no such key loses nothing
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTheExampleFileShowsEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../config.example.yaml")
	must(t, err)
	var walk func(rt reflect.Type, path string)
	walk = func(rt reflect.Type, path string) {
		for field := range rt.Fields() {
			key := field.Tag.Get("yaml")
			if key == "-" {
				continue
			}
			if !regexp.MustCompile(`(?m)^[ #]*` + key + `:`).Match(text) {
				t.Errorf("config.example.yaml lacks %s.%s; see docs/stability.md for what a changed key needs", path, key)
			}
			ft := field.Type
			if ft.Kind() == reflect.Map || ft.Kind() == reflect.Slice {
				ft = ft.Elem()
			}
			if ft.Kind() == reflect.Struct {
				walk(ft, path+"."+key)
			}
		}
	}
	walk(reflect.TypeFor[config.Config](), "")
}

// The documentation has each key in a table or a list, with or without its section.
func TestTheDocumentationNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	must(t, err)
	sections := map[string]string{}
	for part := range strings.SplitSeq(string(text), "\n### ") {
		title, body, _ := strings.Cut(part, "\n")
		for name := range strings.SplitSeq(title, ", ") {
			sections[name] = body
		}
	}
	var walk func(rt reflect.Type, section, path string)
	walk = func(rt reflect.Type, section, path string) {
		for field := range rt.Fields() {
			key := field.Tag.Get("yaml")
			if key == "-" {
				continue
			}
			ft, below := field.Type, section
			if ft.Kind() == reflect.Map || ft.Kind() == reflect.Slice {
				ft = ft.Elem()
			}
			if ft.Kind() == reflect.Struct {
				if below == "" {
					below = key
				}
				if path != ".workspaces" { // whose sections are those above
					walk(ft, below, path+"."+key)
				}
				continue
			}
			if section == "persona" || section == "" {
				below = "persona and prompts"
			}
			if !regexp.MustCompile("`([a-z]+\\.)?" + key + "`").MatchString(sections[below]) {
				t.Errorf("docs/configuration.md lacks %s.%s in its section %q; see docs/stability.md for what a changed key needs", path, key, below)
			}
		}
	}
	walk(reflect.TypeFor[config.Config](), "", "")
}

func TestTheExampleEnvironmentListsEveryVariable(t *testing.T) {
	text, err := os.ReadFile("../../.env.example")
	must(t, err)
	asked := map[string]bool{}
	if _, err := config.Load("../../config.example.yaml", func(name string) (string, bool) {
		asked[name] = true
		return exampleEnv().get(name)
	}); err != nil {
		t.Fatal(err)
	}
	if !asked["SLACK_BOT_TOKEN"] || !asked["THREAD_HISTORY_LIMIT"] {
		t.Fatalf("the file asks for %v only", asked)
	}
	for name := range asked {
		if !strings.HasSuffix(name, "_FILE") && !regexp.MustCompile(`(?m)^`+name+`=`).Match(text) {
			t.Errorf(".env.example lacks %s", name)
		}
	}
}

func TestEmptySectionsAndKeysMeanTheDefaults(t *testing.T) {
	got := parse(t, least+"channels:\nserver:\nresponse: {min_wait_seconds: }\nlanguage: ~\n", nil)
	if got.Response != config.Default().Response || got.Language != chat.English || got.Server.Address != ":8080" {
		t.Errorf("got %+v", got)
	}
}

func TestUnitsAreThoseOfTheKeys(t *testing.T) {
	c := parse(t, least+`
time_zone: Asia/Tokyo
response: {min_wait_seconds: 3, max_wait_seconds: 4, max_delay_seconds: 5, follow_up_wait_seconds: 6, named_wait_seconds: 13,
  max_message_age_seconds: 7, active_channel_days: 8, thread_memory_days: 9, idle_close_hours: 10}
memory: {interval_seconds: 11, short_term_window_hours: 12}`, nil)
	for name, pair := range map[string][2]time.Duration{
		"MinWait":         {c.Channel(config.ChannelFacts{}).MinWait, 3 * time.Second},
		"MaxWait":         {c.Channel(config.ChannelFacts{}).MaxWait, 4 * time.Second},
		"MaxDelay":        {c.Channel(config.ChannelFacts{}).MaxDelay, 5 * time.Second},
		"FollowUpWait":    {c.Channel(config.ChannelFacts{}).FollowUpWait, 6 * time.Second},
		"NamedWait":       {c.Channel(config.ChannelFacts{}).NamedWait, 13 * time.Second},
		"MaxMessageAge":   {c.Channel(config.ChannelFacts{}).MaxMessageAge, 7 * time.Second},
		"ActiveChannel":   {c.Response.ActiveChannel(), 8 * 24 * time.Hour},
		"ThreadMemory":    {c.Response.ThreadMemory(), 9 * 24 * time.Hour},
		"IdleClose":       {c.Response.IdleClose(), 10 * time.Hour},
		"Interval":        {c.Memory.Interval(), 11 * time.Second},
		"ShortTermWindow": {c.Memory.ShortTermWindow(), 12 * time.Hour},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %s, want %s", name, pair[0], pair[1])
		}
	}
	if got := c.Location().String(); got != "Asia/Tokyo" {
		t.Errorf("the zone is %s", got)
	}
	if got := (config.Config{TimeZone: "Nowhere"}).Location(); got != time.UTC {
		t.Errorf("an unknown zone is %s, want UTC", got)
	}
}

func TestAgesAboveTheLongestQuietTime(t *testing.T) {
	for name, text := range map[string]string{
		"just above the longest quiet time":        "response: {max_message_age_seconds: 391}",
		"longest quiet time that max_wait cuts":    "response: {min_wait_seconds: 300, max_wait_seconds: 320, max_message_age_seconds: 321}",
		"below the longest wait and delay":         "response: {max_message_age_seconds: 500, follow_up_wait_seconds: 600}",
		"no quiet time":                            "response: {min_wait_seconds: 0, max_message_age_seconds: 1}",
		"a channel's, with its own quiet time":     "channels: {general: {max_message_age_seconds: 60, min_wait_seconds: 30}}",
		"a channel's, where nothing is judged":     "channels: {general: {mode: mention, max_message_age_seconds: 60}}",
		"a channel's, where people are answered":   "channels: {general: {mode: all, max_message_age_seconds: 60}}",
		"a quiet time where nothing is judged":     "channels: {general: {mode: off, min_wait_seconds: 50000, max_wait_seconds: 50000}}",
		"a channel's quiet time, with its own age": "channels: {general: {min_wait_seconds: 50000, max_wait_seconds: 50000, max_message_age_seconds: 60000}}",
	} {
		if _, err := config.Parse([]byte(least+text), env{}.get); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

func TestRetentionCutoffs(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		text                       string
		ledger, messages, versions time.Time
	}{
		{"", now.AddDate(0, 0, -400), time.Time{}, time.Time{}},
		{"retention: {ledger_days: 0}", time.Time{}, time.Time{}, time.Time{}},
		{"retention: {ledger_days: 32, messages_days: 91, memory_versions_days: 1}\nresponse: {thread_memory_days: 90}",
			now.AddDate(0, 0, -32), now.AddDate(0, 0, -91), now.AddDate(0, 0, -1)},
	} {
		r := parse(t, least+tc.text, nil).Retention
		for name, pair := range map[string][2]time.Time{
			"ledger": {r.LedgerSince(now), tc.ledger}, "messages": {r.MessagesSince(now), tc.messages}, "versions": {r.MemoryVersionsSince(now), tc.versions},
		} {
			if !pair[0].Equal(pair[1]) {
				t.Errorf("%q: %s since %s, want %s", tc.text, name, pair[0], pair[1])
			}
		}
	}
}

func TestDefaultsFollowProviderAndLanguage(t *testing.T) {
	c := parse(t, least+"language: ja", nil)
	if c.Agents.Response.Model != "" {
		t.Errorf("the demo was given the model %q", c.Agents.Response.Model)
	}
	if !strings.Contains(c.Persona.SystemPrompt, "同僚") {
		t.Errorf("the Japanese persona is %q", c.Persona.SystemPrompt)
	}
	c = parse(t, over(`agents: {response: {provider: gemini, model: "3"}, judgment: {provider: gemini}, memory: {provider: demo}}
llm: {gemini: {api_key: k}}`), nil)
	got := []string{c.Agents.Response.Model, c.Agents.Judgment.Model, c.Agents.Memory.Model}
	if want := []string{"3", "gemini-3.5-flash-lite", ""}; !slices.Equal(got, want) {
		t.Errorf("models %q, want %q", got, want)
	}
	if !strings.Contains(c.Persona.SystemPrompt, "colleague") {
		t.Errorf("the English persona is %q", c.Persona.SystemPrompt)
	}
	c = parse(t, least+"persona: {system_prompt: A pirate.}", nil)
	if c.Persona.SystemPrompt != "A pirate." {
		t.Errorf("the persona is %q", c.Persona.SystemPrompt)
	}
}

func TestTheEnvironmentOverridesTheThreadHistoryLimit(t *testing.T) {
	file := strings.Replace(least, "slack: {", "slack: {thread_history_limit: 30, ", 1)
	for _, tc := range []struct {
		name string
		env  env
		want int
	}{
		{"not set", nil, 30},
		{"set", env{"THREAD_HISTORY_LIMIT": "7"}, 7},
		{"set but empty", env{"THREAD_HISTORY_LIMIT": ""}, 30},
		{"the least", env{"THREAD_HISTORY_LIMIT": "1"}, 1},
		{"the most", env{"THREAD_HISTORY_LIMIT": "100"}, 100},
	} {
		if got := parse(t, file, tc.env).Slack.ThreadHistoryLimit; got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
	// An overridden value in the file is ignored, even if it is wrong.
	for _, value := range []string{"500", "-1", "many", "[20]", "'${NOBODY}'"} {
		file := strings.Replace(least, "slack: {", "slack: {thread_history_limit: "+value+", ", 1)
		if got := parse(t, file, env{"THREAD_HISTORY_LIMIT": "7"}).Slack.ThreadHistoryLimit; got != 7 {
			t.Errorf("%s in the file: got %d, want 7", value, got)
		}
		if len(faultsOf(t, file, nil)) != 1 {
			t.Errorf("%s in the file is no fault", value)
		}
	}
	for _, bad := range []string{"0", "101", "-1", "many", "1.5"} {
		got := faultsOf(t, file, env{"THREAD_HISTORY_LIMIT": bad})
		want := fmt.Sprintf("THREAD_HISTORY_LIMIT = %q: must be a whole number from 1 to 100", bad)
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestTheAPIAddressEndsWithASlash(t *testing.T) {
	c := parse(t, strings.Replace(least, "slack: {", "slack: {api_url: 'http://127.0.0.1:9/api', ", 1), nil)
	if c.Slack.APIURL != "http://127.0.0.1:9/api/" {
		t.Errorf("got %s", c.Slack.APIURL)
	}
}

func TestAWholeNumberMayBeWrittenWithAnExponent(t *testing.T) {
	c := parse(t, least+"response: {min_wait_seconds: 1e3, daily_calls: 2.0}", nil)
	if got := [2]int{c.Response.MinWaitSeconds, c.Response.DailyCalls}; got != [2]int{1000, 2} {
		t.Errorf("got %v", got)
	}
}

func TestWordsThatYAMLTreatsSpeciallyAreText(t *testing.T) {
	c := parse(t, least+"channels: {C0000001: {mode: off}}\npersona: {name: 2024-03-01}", nil)
	if got := c.Channel(config.ChannelFacts{ID: "C0000001"}).Mode; got != config.ModeOff {
		t.Errorf("mode is %q", got)
	}
	if c.Persona.Name != "2024-03-01" {
		t.Errorf("name is %q", c.Persona.Name)
	}
}

func TestAnchorsAndMergesAreFollowed(t *testing.T) {
	c := parse(t, least+`
channels:
  C0000001: &calm {min_wait_seconds: 900, mode: mention}
  C0000002: *calm
  C0000003: {<<: *calm, mode: all}`, nil)
	if got := c.Channel(config.ChannelFacts{ID: "C0000002"}); got.MinWait != 900*time.Second || got.Mode != config.ModeMention {
		t.Errorf("an alias gave %+v", got)
	}
	if got := c.Channel(config.ChannelFacts{ID: "C0000003"}); got.MinWait != 900*time.Second || got.Mode != config.ModeAll {
		t.Errorf("a merge gave %+v", got)
	}
}

func TestFilesThatAreNotAConfiguration(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"comments only", "# nothing\n", "is empty"},
		{"null", "~\n", "is empty"},
		{"several documents", "slack: {}\n---\nslack: {}\n", "several YAML documents"},
		{"a list", "- slack\n", "must be a mapping"},
		{"text", "slack\n", "must be a mapping"},
		{"not YAML", "slack: {\n", "is not YAML: line"},
		{"tabs", "slack:\n\tbot_token: x\n", "is not YAML: line 2"},
		{"an alias to itself", "a: &a [*a]\n", "nested too deeply"},
		{"aliases to aliases", bomb(), "repeats too much"},
		{"without end", strings.Repeat("# more\n", 1<<20), "cannot be read: it is longer than 4194304 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			must(t, os.WriteFile(path, []byte(tc.text), 0o600))
			_, err := config.Load(path, env{}.get)
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s: … %s …", err, path, tc.want)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		missing := filepath.Join(dir, "none.yaml")
		_, err := config.Load(missing, env{}.get)
		if want := missing + ": there is no such file; `starter init` makes one, or start with a copy of config.example.yaml"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("a directory", func(t *testing.T) {
		if _, err := config.Load(dir, env{}.get); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("got %v", err)
		}
	})
}

func TestPermissions(t *testing.T) {
	const outsider = "U0OUT"
	slack := func(more string) config.Slack {
		t.Helper()
		return parse(t, over("slack: {bot_token: xoxb-token, signing_secret: signing-secret, "+more+"}"), env{"BOSS": "U0BOSS"}).Slack
	}
	for _, tc := range []struct {
		name, text, user string
		may, not         []config.Permission
	}{
		{"by default", "operators: []", "U0BOB", []config.Permission{config.MayStatus, config.MayMute, config.MayHush}, []config.Permission{config.MayForget}},
		{"nobody", "everyone_may: []", "U0BOB", nil, []config.Permission{config.MayStatus, config.MayForget}},
		{"fewer than by default", "everyone_may: [forget, why]", "U0BOB",
			[]config.Permission{config.MayForget, config.MayWhy}, []config.Permission{config.MayStatus, config.MayMute, config.MayHush, config.MayAnswerNow}},
		{"an operator", "operators: [U0ANN, '${BOSS}'], everyone_may: []", "U0BOSS", []config.Permission{config.MayStatus, config.MayForget}, nil},
		{"no operator", "operators: [U0ANN, '${BOSS}'], everyone_may: []", "U0BOB", nil, []config.Permission{config.MayStatus}},
		{"an outsider", "operators: []", outsider, []config.Permission{config.MayStatus},
			[]config.Permission{config.MayWhy, config.MaySnooze, config.MayMute, config.MayHush, config.MayAnswerNow, config.MayForget}},
		{"an outsider, where nobody may", "everyone_may: [why], outsiders_may: [why, mute]", outsider, []config.Permission{config.MayWhy}, []config.Permission{config.MayStatus, config.MayMute}},
		{"an outsider who is an operator", "operators: [U0OUT]", outsider, []config.Permission{config.MayForget}, nil},
	} {
		s := slack(tc.text)
		for _, p := range tc.may {
			if !s.May(tc.user, tc.user == outsider, p) {
				t.Errorf("%s: %s may not %s", tc.name, tc.user, p)
			}
		}
		for _, p := range tc.not {
			if s.May(tc.user, tc.user == outsider, p) {
				t.Errorf("%s: %s may %s", tc.name, tc.user, p)
			}
		}
	}
	for text, want := range map[string]string{"hush_reaction: ':zipper_mouth:'": "zipper_mouth", "hush_reaction: ''": "", "hush_reaction: '+1'": "+1", "hush_reaction: thumbsup": "+1", "hush_reaction: 静かに": "静かに"} {
		if got := slack(text).HushReaction; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if got := slack("command: /みゃお").Command; got != "/みゃお" {
		t.Errorf("the command is %q", got)
	}
}

// Names of models contain dots, slashes and colons.
func TestPrices(t *testing.T) {
	c := parse(t, least+`
llm:
  prices:
    gemini-3.8-flash: {input: 0.30, output: 2.5}
    models/a.b[c]:free: {input: 0}
    "${MODEL}": {input: 1, output: "${PRICE}"}
`, env{"MODEL": "x", "PRICE": "4.5"})
	want := map[string]config.Price{
		"gemini-3.8-flash": {Input: 0.3, Output: 2.5}, "models/a.b[c]:free": {}, "${MODEL}": {Input: 1, Output: 4.5},
	}
	if !reflect.DeepEqual(c.LLM.Prices, want) {
		t.Errorf("got %v, want %v", c.LLM.Prices, want)
	}
}

// bomb is a small file that would expand to ten billion values.
func bomb() string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return text
}

func FuzzParseNeverPanics(f *testing.F) {
	example, err := os.ReadFile("../../config.example.yaml")
	must(f, err)
	f.Add(string(example), "v")
	f.Add(least, "")
	f.Add(bomb(), "")
	f.Add("slack: {thread_history_limit: ${A:-5}, bot_token: '${A}'}\nchannels: {'#x]y[.': {mode: [1]}}", "5")
	f.Add("a: &a {<<: *a}\n? [b]\n: 1\n!!binary x: !foo y\nresponse: {jitter_ratio: .nan, min_wait_seconds: 1e400}", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := config.Parse([]byte(text), func(name string) (string, bool) { return value, name != "UNSET" })
		var faulty *config.Error
		switch {
		case err == nil:
			c.Channel(config.ChannelFacts{ID: "C0000001", Name: "general"})
			for _, s := range c.Explain(config.ChannelFacts{ID: "C0000001", Name: "general"}) {
				if lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1; s.Line < 0 || s.Line > lines {
					t.Errorf("%+v in a file of %d lines", s, lines)
				}
			}
			_ = fmt.Sprintf("%v %#v", c, c)
		case !errors.As(err, &faulty):
			t.Errorf("error of type %T: %v", err, err)
		case strings.Count(err.Error(), "\n") != len(faulty.Faults)-1:
			t.Errorf("%d faults are not that many lines:\n%s", len(faulty.Faults), err)
		}
	})
}

func TestEncryptionKeysAreChecked(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	got := parse(t, least+`encryption: {active_key: "2026-11", keys: {"2026-11": "${KEY}", old: `+key+`}}`, env{"KEY": key})
	if got.Encryption.ActiveKey != "2026-11" || string(got.Encryption.Keys["2026-11"]) != key || len(got.Encryption.Keys) != 2 {
		t.Errorf("got %d keys, %q active", len(got.Encryption.Keys), got.Encryption.ActiveKey)
	}
	short := base64.StdEncoding.EncodeToString([]byte("sixteen bytes ok"))
	for name, c := range map[string]struct{ text, key string }{
		"too short":        {`{active_key: a, keys: {a: ` + short + `}}`, "encryption.keys.a"},
		"no base64":        {`{active_key: a, keys: {a: "not-base64-at-all-not-at-all-no"}}`, "encryption.keys.a"},
		"no such key":      {`{active_key: b, keys: {a: ` + key + `}}`, "encryption.active_key"},
		"no keys at all":   {`{active_key: b}`, "encryption.active_key"},
		"a secret for all": {`{keys: hunter2hunter2}`, "encryption.keys"},
		"a list of them":   {`{keys: {a: [hunter2hunter2]}}`, "encryption.keys.a"},
		"an endless id":    {`{keys: {` + strings.Repeat("a", 65) + `: ` + key + `}}`, "encryption.keys." + strings.Repeat("a", 65)},
	} {
		t.Run(name, func(t *testing.T) {
			faults := faultsOf(t, least+"encryption: "+c.text, nil)
			if faults[0].Key != c.key {
				t.Errorf("got %v, want a fault of %s", faults, c.key)
			}
			for _, secret := range []string{short, "not-base64-at-all", "hunter2"} {
				if text := fmt.Sprint(faults); strings.Contains(text, secret) {
					t.Errorf("shows the key: %s", text)
				}
			}
		})
	}
}

func TestTheWorkersSettingsAreChecked(t *testing.T) {
	got := parse(t, least+`worker: {max_concurrent_model_calls: 2, model_calls_per_second: 0.5, deployment: myao, build_id: 2026-11-21_a1b2c3}`, nil)
	if want := (config.Worker{Address: ":8081", MaxConcurrentModelCalls: 2, ModelCallsPerSecond: 0.5, CachedWorkflows: 10_000, PostsAtOnce: true, Deployment: "myao", BuildID: "2026-11-21_a1b2c3"}); got.Worker != want {
		t.Errorf("got %+v, want %+v", got.Worker, want)
	}
	for text, key := range map[string]string{
		`{max_concurrent_model_calls: 1}`:       "worker.max_concurrent_model_calls",
		`{model_calls_per_second: -1}`:          "worker.model_calls_per_second",
		`{model_calls_per_second: .nan}`:        "worker.model_calls_per_second",
		`{deployment: my.ao}`:                   "worker.deployment",
		`{deployment: myao, build_id: "1.0:2"}`: "worker.build_id",
		`{build_id: v1}`:                        "worker.build_id",
		`{address: localhost}`:                  "worker.address",
	} {
		if faults := faultsOf(t, least+"worker: "+text, nil); faults[0].Key != key {
			t.Errorf("%s: got %v, want a fault of %s", text, faults, key)
		}
	}
}
