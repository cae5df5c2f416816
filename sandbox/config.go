package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"myao/internal/answer/providers"
	"myao/internal/config"
)

// longestQuiet is the seconds after which the bot judges a conversation that is never quiet.
const longestQuiet = 60

//go:embed config.yaml.tmpl
var configTemplate string

// playbooks are examples, a directory a language.
//
//go:embed playbooks
var playbooks embed.FS

// model is the bot's language model.
type model struct {
	// provider and name are the model's in the configuration.
	provider config.Provider
	name     string
	// says describes the model in the banner.
	says string
}

// chooseModel takes the first provider with a key or an address in the environment, else the
// demo model. getenv is os.Getenv, or a test's own.
func chooseModel(getenv func(string) string) model {
	var variables []string
	for _, p := range providers.All() {
		if !p.Name.Networked() {
			continue
		}
		key, address := variable(p.Name, "api_key"), addressVariable(p.Name)
		variables = append(variables, key)
		if address != "" {
			variables = append(variables, address)
		}
		if getenv(key) == "" && (address == "" || getenv(address) == "") {
			continue
		}
		name := cmp.Or(getenv(variable(p.Name, "model")), p.Model)
		return model{provider: p.Name, name: name, says: string(p.Name) + " " + name}
	}
	return model{
		provider: config.ProviderDemo, name: "demo",
		says: "demo: rules, no network (for a real one set one of " + strings.Join(variables, ", ") + ")",
	}
}

// variable returns the name of a provider's environment variable.
func variable(provider config.Provider, key string) string {
	return strings.ToUpper(string(provider) + "_" + key)
}

// addressVariable returns the name of the variable of a provider's address; empty: the sandbox reads none.
func addressVariable(provider config.Provider) string {
	if !provider.Keyless() {
		return ""
	}
	return variable(provider, provider.AddressKey())
}

// writeConfig writes the configuration of worker and starter. slack and door are the addresses, HOST:PORT, of the
// sandbox's Slack and of the starter.
func writeConfig(path, dir, slack, door string, o options, m model, s secrets) error {
	t, err := template.New("config").Parse(configTemplate)
	if err != nil {
		return fmt.Errorf("read the sandbox's configuration: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	examples, err := fs.Sub(playbooks, "playbooks/"+o.language)
	if err != nil {
		return fmt.Errorf("find the sandbox's playbooks: %w", err)
	}
	written := filepath.Join(dir, "playbooks")
	if err := os.CopyFS(written, examples); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the sandbox's playbooks: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Program": program, "DeskCommand": deskCommand, "Tickets": tickets(dir),
		"Token": s.Token, "Secret": s.Signing, "ClientSecret": s.Client, "HookSecret": s.Hook, "General": generalID, "EncryptionKey": s.Key,
		"Slack": slack, "Door": door, "Quiet": o.quiet, "Language": o.language,
		"LongestQuiet": longestQuiet, "Database": filepath.Join(dir, "myao.db"), "Provider": m.provider,
		"Networked": m.provider.Networked(), "Key": variable(m.provider, "api_key"), "Model": m.name,
		"Address": addressVariable(m.provider), "Playbooks": written,
	})
	if err != nil {
		return fmt.Errorf("write the sandbox's configuration: %w", err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the sandbox's configuration: %w", err)
	}
	return nil
}
