package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"myao/internal/chat"
	"myao/internal/codec"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/llm/providers"
	"myao/internal/mind"
)

// configuration tells of what is allowed and may yet surprise. That the configuration is
// valid is known: it was loaded.
func (e *examination) configuration(context.Context) Finding {
	unpriced := map[string]bool{}
	for _, use := range uses(e.Config) {
		if _, priced := e.Config.LLM.Prices[use.Model]; !priced && use.Provider.Networked() {
			unpriced[use.Model] = true
		}
	}
	if len(unpriced) > 0 {
		return warn("give llm.prices what they cost for a million tokens, if starter usage is to reckon it",
			"%s is valid; without a price: %s", e.source(), strings.Join(slices.Sorted(maps.Keys(unpriced)), ", "))
	}
	return ok("%s is valid", e.source())
}

// source is what the configuration was read from.
func (e *examination) source() string {
	return cmp.Or(e.Config.File.Path, "it")
}

// use is a model at a server, and the agents that have it.
type use struct {
	config.Agent
	// name is the agent's whose settings these are.
	name   string
	access config.Access
	agents []string
}

// uses are the models of a configuration, each once. The demo model is one, whatever it is
// called: its name is not read.
func uses(c config.Config) []use {
	var found []use
	add := func(name, user string, a config.Agent) {
		access := c.Access(a)
		for i := range found {
			same := found[i].Model == a.Model && found[i].access == access || !a.Provider.Networked()
			if found[i].Provider == a.Provider && same {
				found[i].agents = append(found[i].agents, user)
				return
			}
		}
		found = append(found, use{a, name, access, []string{user}})
	}
	add("response", "response", c.Agents.Response)
	add("judgment", "judgment", c.Agents.Judgment)
	add("memory", "memory", c.Agents.Memory)
	for _, name := range slices.Sorted(maps.Keys(c.Channels)) {
		if model := c.Channels[name].Model; model != "" {
			a := c.Agents.Response
			a.Model = model
			add("response", "channels."+name, a)
		}
	}
	return found
}

// models is a check for each model.
func (e *examination) models() []check {
	var checks []check
	names := map[string]bool{}
	for _, u := range uses(e.Config) {
		c := check{name: "model " + string(u.Provider), run: func(ctx context.Context) Finding { return e.model(ctx, u) }}
		if u.Provider.Networked() {
			c.name += " " + u.Model
		}
		if names[c.name] { // at another server, or with another key
			c.name += " of agents." + u.name
		}
		names[c.name] = true
		if e.Ask {
			c.timeout = modelTimeout
		}
		checks = append(checks, c)
	}
	return checks
}

func (e *examination) model(ctx context.Context, u use) Finding {
	agents := strings.Join(u.agents, ", ")
	if !u.Provider.Networked() {
		return ok("for %s: rules on this machine, no model", agents)
	}
	if !e.Ask {
		return ok("for %s: its access is configured; --ask tries it", agents)
	}
	apiKey, address := u.AccessKeys(u.name)
	c := e.Config
	c.Agents.Response, c.Agents.Judgment, c.Agents.Memory = u.Agent, u.Agent, u.Agent
	opened, closeModels, err := mind.OpenAgents(ctx, c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return fail("fix "+apiKey+" and "+address+" in the configuration", "for %s: %v", agents, err)
	}
	defer closeModels()
	began := e.Clock()
	judges := slices.Contains(u.agents, "judgment")
	answer, err := opened.Response.Model.Generate(ctx, probe(u, judges))
	took := e.Clock().Sub(began).Round(time.Millisecond)
	if err == nil && judges {
		if _, unread := chat.ParseVerdict(answer.Text, maxDelay); unread != nil {
			return warn("let agents.judgment have a model that answers in JSON when it is asked to",
				"for %s: its verdict cannot be read: %s", agents, strings.ReplaceAll(unread.Error(), "\n", "; "))
		}
	}
	switch {
	case err == nil, errors.Is(err, llm.ErrCut), errors.Is(err, llm.ErrBlocked):
		return ok("for %s: answers after %s, %d tokens in, %d out", agents, took, answer.Usage.Input, answer.Usage.Output)
	case errors.Is(err, llm.ErrEmpty):
		return warn("ask once more; if it stays so, "+e.address(u, "take another model"), "for %s: %v", agents, err)
	case errors.Is(err, llm.ErrAuth):
		return fail("set "+apiKey+" to a key that may use it, from the country where this machine is", "for %s: %v", agents, err)
	case errors.Is(err, llm.ErrQuota):
		return fail("pay or raise the quota at the provider; a quota of the day is there again tomorrow", "for %s: %v", agents, err)
	case errors.Is(err, llm.ErrInvalid):
		return fail(e.address(u, "see whether the provider has a model of this name, and takes agents."+u.agents[0]+" as it is"), "for %s: %v", agents, err)
	case errors.Is(err, llm.ErrRateLimited):
		return warn("try again later, or raise the provider's limit", "for %s: %v", agents, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fail("ask once more, where the server had to load the model first; else let this machine reach the provider", "for %s: no answer in %s", agents, modelTimeout)
	}
	return fail(e.address(u, "let this machine reach the provider, and look at its status page"), "for %s: %v", agents, err)
}

// maxDelay is the longest delay of the doctor's verdict, in seconds.
const maxDelay = 600

// probe is a small question in the form of what the model is wanted for: judgments, or texts.
func probe(u use, judges bool) llm.Request {
	r := llm.Request{
		Purpose: llm.PurposeResponse, Model: u.Model, System: "You are tried out.", Prompt: "Answer with the single word: ready",
		MaxOutputTokens: u.MaxOutputTokens, Temperature: u.Temperature,
	}
	if judges {
		r.Purpose, r.Schema = llm.PurposeJudgment, llm.VerdictSchema(maxDelay)
		r.Prompt = `Answer with this JSON object: {"should_respond": false, "reason": "ready", "confidence": 1.0, "delay_seconds": null}`
	}
	return r
}

// address adds to a fix, where an address is configured, what that has to be.
func (e *examination) address(u use, fix string) string {
	provider, err := providers.Named(u.Provider)
	if err != nil || u.access.BaseURL == "" {
		return fix
	}
	_, key := u.AccessKeys(u.name)
	return fix + "; and see that " + key + " is " + provider.AddressForm
}

// encryption hides something and reads it again, with every key.
func (e *examination) encryption(context.Context) Finding {
	settings := e.Config.Encryption
	if len(settings.Keys) == 0 {
		return ok("off: Temporal holds ids and reasons readable, as it always does; no text of messages")
	}
	for _, id := range slices.Sorted(maps.Keys(settings.Keys)) {
		c, err := codec.New(config.Encryption{ActiveKey: id, Keys: settings.Keys})
		if err != nil {
			return fail("make a key with openssl rand -base64 32", "%v", err)
		}
		plain := &commonpb.Payload{Data: []byte("doctor")}
		sealed, err := c.Encode([]*commonpb.Payload{plain})
		if err != nil || bytes.Contains(sealed[0].GetData(), plain.Data) {
			return fail("make a key with openssl rand -base64 32", "the key %q does not encrypt: %v", id, err)
		}
		opened, err := c.Decode(sealed)
		if err != nil || !bytes.Equal(opened[0].GetData(), plain.Data) {
			return fail("make a key with openssl rand -base64 32", "the key %q does not decrypt: %v", id, err)
		}
	}
	if settings.ActiveKey == "" {
		return warn("let encryption.active_key name one of them", "%s, but none is active: nothing new is encrypted", count(len(settings.Keys), "key"))
	}
	return ok("with the key %q; %s can be read", settings.ActiveKey, count(len(settings.Keys), "key"))
}
