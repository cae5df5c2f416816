package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/sandbox/tap"
)

// longestQuiet is the seconds after which the bot judges a conversation that is never quiet.
const longestQuiet = 60

//go:embed config.yaml.tmpl
var configTemplate string

// model is the bot's language model.
type model struct {
	// provider and name are the model's in the configuration.
	provider config.Provider
	name     string
	// demo is set for the demo model, which speaks OpenAI's protocol and costs nothing.
	demo bool
	// says describes the model in the banner.
	says string
	// tap is a proxy in front of the model. The worker calls the tap.
	tap *tap.Tap
}

// chooseModel takes the first provider with a key or an address in the environment, else the
// demo model. getenv is os.Getenv, or a test's own.
func chooseModel(getenv func(string) string) (model, error) {
	var variables []string
	for _, p := range providers.All() {
		if !p.Name.Networked() {
			continue
		}
		key, address := variable(p.Name, "api_key"), ""
		variables = append(variables, key)
		if p.Name.Keyless() {
			address = variable(p.Name, p.Name.AddressKey())
			variables = append(variables, address)
		}
		if getenv(key) == "" && (address == "" || getenv(address) == "") {
			continue
		}
		upstream := p.Address
		if address != "" {
			upstream = or(getenv(address), p.Address)
		}
		at, err := llm.ParseEndpoint(upstream)
		if err != nil {
			return model{}, fmt.Errorf("%s: %w", address, err)
		}
		name := or(getenv(variable(p.Name, "model")), p.Model)
		return model{provider: p.Name, name: name, tap: tap.Proxy(at), says: string(p.Name) + " " + name}, nil
	}
	return model{
		provider: config.ProviderOpenAI, name: "demo", demo: true, tap: tap.Demo(),
		says: "demo: rules, no network (for a real one set one of " + strings.Join(variables, ", ") + ")",
	}, nil
}

// variable returns the name of a provider's environment variable.
func variable(provider config.Provider, key string) string {
	return strings.ToUpper(string(provider) + "_" + key)
}

// writeConfig writes the configuration of worker and starter. slack, door and tap are the
// addresses, HOST:PORT, of the sandbox's Slack, of the starter and of m's tap.
func writeConfig(path, dir, slack, door, tap string, o options, m model, s secrets) error {
	t, err := template.New("config").Parse(configTemplate)
	if err != nil {
		return fmt.Errorf("read the sandbox's configuration: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Program": program, "DeskCommand": deskCommand, "Tickets": tickets(dir),
		"Token": s.Token, "Secret": s.Signing, "Slack": slack, "Door": door, "Quiet": o.quiet, "Language": o.language,
		"LongestQuiet": longestQuiet, "Tap": tap,
		"Database": filepath.Join(dir, "myao.db"), "Provider": m.provider, "Key": variable(m.provider, "api_key"),
		"Address": m.provider.AddressKey(), "Model": m.name, "Demo": m.demo,
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
