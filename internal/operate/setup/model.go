package setup

import (
	"cmp"
	"context"

	"myao/internal/answer/providers"
	"myao/internal/config"
)

// askModel asks for the models, and asks these a word.
func (r *run) askModel(ctx context.Context) error {
	r.say("3. Which model? One key serves for judging, writing and remembering.")
	r.say("   gemini, anthropic; openai, or whatever speaks its protocol, as Azure and Ollama do;")
	r.say("   or demo: rules on this machine, without a model.")
	enter := cmp.Or(r.Defaults.Provider, string(r.environmentProvider()))
	url, model, key, asked := r.Defaults.ModelURL, r.Defaults.Model, "", ""
	return r.until(ctx, func() error {
		name, err := r.ask(ctx, prompt{text: "gemini, openai, anthropic or demo", enter: enter, fold: true})
		if err != nil {
			return err
		}
		provider, err := providers.Named(config.Provider(name))
		if err != nil {
			return refuse("want gemini, openai, anthropic or demo")
		}
		if asked != "" && asked != name { // what was given was another provider's
			url, model, key = "", "", ""
		}
		asked, enter = name, name
		r.provider, r.modelURL, r.model, r.apiKey = provider.Name, "", "", ""
		if !provider.Name.Networked() {
			return nil
		}
		if url, err = r.askAddress(ctx, provider, url); err != nil {
			return err
		}
		if model, err = r.askName(ctx, provider, model); err != nil {
			return err
		}
		variable := ""
		if key == "" && (url == "" || url == r.Defaults.ModelURL) { // another server is not offered the provider's key
			variable = keyVariable(provider.Name)
			key = r.secretOf(variable)
		}
		given, err := r.askHidden(ctx, prompt{text: "Key", enter: key, variable: variable, optional: url != "" &&
			provider.Name.Keyless()})
		if err != nil {
			return err
		}
		key = given
		r.modelURL, r.model, r.apiKey = url, model, key
		return r.check(ctx, "model ")
	})
}

// environmentProvider is the provider that the environment has a key for; otherwise Gemini.
func (r *run) environmentProvider() config.Provider {
	for _, p := range config.Providers() {
		if p.Networked() && r.secretOf(keyVariable(p)) != "" {
			return p
		}
	}
	return config.ProviderGemini
}

// askAddress asks for the address of the models' server. Only OpenAI's protocol is spoken by so many
// others that it is asked for where none was given.
func (r *run) askAddress(ctx context.Context, p providers.Provider, before string) (string, error) {
	if p.Name != config.ProviderOpenAI && before == "" {
		return "", nil
	}
	url, err := r.ask(ctx, prompt{text: "Server, " + p.AddressForm, enter: cmp.Or(before, p.Address)})
	if err != nil || url == p.Address {
		return "", err
	}
	if hasPassword(url) {
		return "", refuse("the address has a password, and config.yaml is no place for one: give it as the key")
	}
	trial := r.answers
	trial.modelURL, trial.model, trial.apiKey = url, "none", "none"
	if _, err := trial.config(); err != nil {
		return "", err
	}
	return url, nil
}

// askName asks for the name of the model. It is empty for the defaults of Gemini, which has one model for
// judgments and another for the rest.
func (r *run) askName(ctx context.Context, p providers.Provider, before string) (string, error) {
	if p.Name != config.ProviderGemini {
		return r.ask(ctx, prompt{text: "Model", enter: cmp.Or(before, p.Model)})
	}
	agents := config.Default().Agents
	return r.ask(ctx, prompt{
		text: "Model", enter: before, optional: true,
		shown: cmp.Or(before, agents.Response.Model+", and to judge "+agents.Judgment.Model),
	})
}
