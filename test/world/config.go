package world

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"myao/test/testserver"
)

// The variables of the environment that say where a program listens.
const (
	starterAddress = "TEST_STARTER_ADDRESS"
	workerAddress  = "TEST_WORKER_ADDRESS"
)

func (w *World) writeTemplate() {
	w.t.Helper()
	w.Configure(fmt.Sprintf(`
slack: {bot_token: "${SLACK_BOT_TOKEN}", signing_secret: "${SLACK_SIGNING_SECRET}", api_url: %q,
  app_token: "${SLACK_APP_TOKEN:-}"}
server: {address: "${%s}"}
worker: {address: "${%s}"}
database: {url: %q}
llm:
  gemini: {api_key: "${GEMINI_API_KEY}", endpoint: %q}
  openai: {base_url: %q}
agents:
  response: {provider: gemini, model: %s}
  judgment: {provider: gemini, model: %s}
  memory: {provider: gemini, model: %s}
persona: {name: myao, system_prompt: "You are myao."}
response: {min_wait_seconds: 2, jitter_ratio: 0, max_wait_seconds: 60, max_delay_seconds: 30, follow_up_wait_seconds: 1}
`, w.slackURL+"/api/", starterAddress, workerAddress, w.Database, w.Model.URL, w.Model.URL+"/v1",
		ResponseModel, JudgmentModel, MemoryModel))
}

// Configure lays YAML over the configuration, key by key, and writes it. Programs read it at their next start.
func (w *World) Configure(sections ...string) {
	w.t.Helper()
	for _, section := range sections {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(section), &over); err != nil {
			w.t.Fatalf("%v in %s", err, section)
		}
		w.tree = overlay(w.tree, over)
	}
	text, err := yaml.Marshal(w.tree)
	if err == nil {
		err = os.WriteFile(w.Config, text, 0o600)
	}
	testserver.Must(w.t, err)
}

// overlay adds over to a tree. Where both have a value that is no map, it is over's.
func overlay(tree, over map[string]any) map[string]any {
	if tree == nil {
		return over
	}
	for key, value := range over {
		under, _ := tree[key].(map[string]any)
		if section, ok := value.(map[string]any); ok {
			value = overlay(under, section)
		}
		tree[key] = value
	}
	return tree
}
