package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// quietSeconds is short, so that a visitor sees something.
const quietSeconds = 4

//go:embed config.yaml.tmpl
var configTemplate string

// writeConfig writes the configuration of the worker and the starter, by the
// model that the environment has a key for, and names the model.
func writeConfig(path, dir, slack, door string, s secrets) (model string, err error) {
	provider, name := "demo", "demo"
	switch {
	case os.Getenv("GEMINI_API_KEY") != "":
		provider, name = "gemini", or(os.Getenv("GEMINI_MODEL"), "gemini-3.8-flash")
	case os.Getenv("OPENAI_API_KEY") != "" || os.Getenv("OPENAI_BASE_URL") != "":
		provider, name = "openai", or(os.Getenv("OPENAI_MODEL"), "gpt-5-mini")
	}
	t, err := template.New("config").Parse(configTemplate)
	if err != nil {
		return "", fmt.Errorf("read the sandbox's configuration: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Token": s.Token, "Secret": s.Signing, "Slack": slack, "Door": door, "Quiet": quietSeconds,
		"Database": filepath.Join(dir, "myao.db"), "Provider": provider, "Model": name,
	})
	if err != nil {
		return "", fmt.Errorf("write the sandbox's configuration: %w", err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("write the sandbox's configuration: %w", err)
	}
	if provider == "demo" {
		return "demo: rules, no network (set GEMINI_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL for a real one)", nil
	}
	return provider + " " + name, nil
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}
