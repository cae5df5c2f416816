package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"myao/internal/llm"
	"myao/internal/llm/tap"
)

// longestQuiet is the seconds after which a talk that finds no quiet is judged all the same.
const longestQuiet = 60

//go:embed config.yaml.tmpl
var configTemplate string

// model is what the bot thinks with.
type model struct {
	// provider and name are the model's in the configuration.
	provider, name string
	// demo: it is the demo model, which is asked by OpenAI's protocol and costs nothing.
	demo bool
	// says is what a visitor is told of it.
	says string
	// tap stands before it. The worker is pointed there.
	tap *tap.Tap
}

// Where the models are whose address the environment does not give.
const (
	googleURL = "https://generativelanguage.googleapis.com"
	openaiURL = "https://api.openai.com/v1"
)

// chooseModel takes the model that the environment has a key for, or an address,
// else the demo model. getenv is os.Getenv, or a test's own.
func chooseModel(getenv func(string) string) (model, error) {
	m := model{provider: "openai"}
	upstream := ""
	switch {
	case getenv("GEMINI_API_KEY") != "":
		m.provider, m.name, upstream = "gemini", or(getenv("GEMINI_MODEL"), "gemini-3.8-flash"), googleURL
	case getenv("OPENAI_API_KEY") != "" || getenv("OPENAI_BASE_URL") != "":
		m.name, upstream = or(getenv("OPENAI_MODEL"), "gpt-5-mini"), or(getenv("OPENAI_BASE_URL"), openaiURL)
	default:
		m.name, m.demo, m.tap = "demo", true, tap.Demo()
		m.says = "demo: rules, no network (set GEMINI_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL for a real one)"
		return m, nil
	}
	address, err := llm.ParseEndpoint(upstream)
	if err != nil {
		return model{}, fmt.Errorf("OPENAI_BASE_URL: %w", err)
	}
	m.tap, m.says = tap.Proxy(address), m.provider+" "+m.name
	return m, nil
}

// writeConfig writes the configuration of the worker and the starter. slack, door
// and tap are addresses, HOST:PORT: the stand-in's, the starter's, and that of m's tap.
// quiet is in seconds.
func writeConfig(path, dir, slack, door, tap string, quiet int, m model, s secrets) error {
	t, err := template.New("config").Parse(configTemplate)
	if err != nil {
		return fmt.Errorf("read the sandbox's configuration: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Token": s.Token, "Secret": s.Signing, "Slack": slack, "Door": door, "Quiet": quiet, "LongestQuiet": longestQuiet, "Tap": tap,
		"Database": filepath.Join(dir, "myao.db"), "Provider": m.provider, "Model": m.name, "Demo": m.demo,
	})
	if err != nil {
		return fmt.Errorf("write the sandbox's configuration: %w", err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the sandbox's configuration: %w", err)
	}
	return nil
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}
