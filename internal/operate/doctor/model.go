package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"myao/internal/answer/agents"
	"myao/internal/answer/providers"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/runtime/codec"
)

// configuration reports models without a price. The configuration is valid, since it was
// loaded.
func (e *examination) configuration(context.Context) Finding {
	unpriced := map[string]bool{}
	for _, use := range uses(e.Config) {
		if _, priced := e.Config.LLM.Prices[use.Model]; !priced && use.Provider.Networked() {
			unpriced[use.Model] = true
		}
	}
	if len(unpriced) > 0 {
		return warn("set llm.prices to the price of a million tokens, so that starter usage can compute costs",
			"%s is valid; without a price: %s", e.source(), strings.Join(slices.Sorted(maps.Keys(unpriced)), ", "))
	}
	return ok("%s is valid", e.source())
}

// retention reports for how long data is kept.
func (e *examination) retention(context.Context) Finding {
	r := e.Config.Retention
	if r.MessagesDays == 0 {
		return warn("set retention.messages_days, such as to 400", "messages are kept for ever")
	}
	return ok("messages are kept for %d days", r.MessagesDays)
}

// source names the file of the configuration.
func (e *examination) source() string {
	return cmp.Or(e.Config.File.Path, "the configuration")
}

// use is a model at one server, with its users.
type use struct {
	config.Agent
	// key is that of the agent whose settings these are.
	key    string
	access config.Access
	// users are the agents, NAME.fallback for their fallbacks, workspaces.ID.NAME for agents of a workspace,
	// channels.NAME for channels, and shadow NAME for judges of shadow, that use the model.
	users []string
}

// uses returns the models of a configuration, each once. The demo model is one model under
// any name, since it ignores its name.
func uses(c config.Config) []use {
	var found []use
	add := func(key, user string, a config.Agent) {
		access := c.Access(a)
		a.Fallback = config.Fallback{} // it is a use of its own
		for i := range found {
			same := found[i].Model == a.Model && found[i].access == access || !a.Provider.Networked()
			if found[i].Provider == a.Provider && same {
				found[i].users = append(found[i].users, user)
				return
			}
		}
		found = append(found, use{a, key, access, []string{user}})
	}
	agents := c.Agents.All()
	names := []string{"response", "judgment", "memory", "response" + fallback, "judgment" + fallback, "memory" + fallback}
	for _, name := range names {
		if a, ok := agents[name]; ok {
			add("agents."+name, name, a)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Workspaces)) {
		own := c.ForWorkspace(id, "").Agents.All()
		for _, name := range names {
			if a, ok := own[name]; ok && a != agents[name] {
				add("workspaces."+id+".agents."+name, "workspaces."+id+"."+name, a)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Channels)) {
		if model := c.Channels[name].Model; model != "" {
			a := c.Agents.Response
			a.Model = model
			add("agents.response", "channels."+name, a)
		}
	}
	for _, j := range c.Shadow.Judges {
		add("agents.judgment", "shadow "+j.Name, c.ShadowAgent(j))
	}
	return found
}

// models returns a check for each model.
func (e *examination) models() []check {
	var checks []check
	names := map[string]bool{}
	for _, u := range uses(e.Config) {
		c := check{name: "model " + string(u.Provider), run: func(ctx context.Context) Finding {
			f := e.model(ctx, u)
			if f.Status == Fail && !slices.ContainsFunc(u.users, func(user string) bool {
				return !inShadow(user) &&
					!strings.HasSuffix(user, fallback)
			}) {
				f.Status = Warn // the bot works without
			}
			return f
		}}
		if u.Provider.Networked() {
			c.name += " " + u.Model
		}
		if names[c.name] { // at another server, or with another key
			c.name += " of " + u.key
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
	users := strings.Join(u.users, ", ")
	if !u.Provider.Networked() {
		return ok("for %s: rules on this machine, no model", users)
	}
	if !e.Ask {
		return ok("for %s: its access is configured; --ask tests it", users)
	}
	apiKey, address := u.AccessKeys(u.key)
	c := e.Config
	c.Agents.Response, c.Agents.Judgment, c.Agents.Memory, c.Shadow.Judges = u.Agent, u.Agent, u.Agent, nil
	opened, closeModels, err := agents.OpenByUse(ctx, c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return fail("correct "+apiKey+" and "+address+" in the configuration", "for %s: %v", users, err)
	}
	defer closeModels()
	began := e.Clock()
	var used llm.Usage
	withoutTools := false
	for _, r := range probes(u) {
		var answer llm.Response
		answer, err = opened.Response.Model.Generate(ctx, r)
		used, withoutTools = used.Add(answer.Usage), answer.WithoutTools
		if err != nil {
			break
		}
		if r.Schema == nil {
			continue
		}
		if _, unread := chat.ParseVerdict(answer.Text, maxDelay); unread != nil {
			return warn("use a model for "+judges(u.users)+" that answers in JSON on request",
				"for %s: cannot read its verdict: %s", users, strings.ReplaceAll(unread.Error(), "\n", "; "))
		}
	}
	took := e.Clock().Sub(began).Round(time.Millisecond)
	switch {
	case err == nil && withoutTools:
		return warn("use a model for agents.response that takes tools (some servers have to be started for it), or "+
			"do without: nothing is looked up",
			"for %s: answers after %s, %d tokens in, %d out, but takes no tools", users, took, used.Input, used.Output)
	case err == nil, errors.Is(err, llm.ErrCut), errors.Is(err, llm.ErrBlocked):
		return ok("for %s: answers after %s, %d tokens in, %d out", users, took, used.Input, used.Output)
	case errors.Is(err, llm.ErrEmpty):
		return warn("try again; if that does not help, "+e.address(u, "use another model"), "for %s: %v", users, err)
	case errors.Is(err, llm.ErrAuth):
		return fail(keyFix(apiKey), "for %s: %v", users, err)
	case errors.Is(err, llm.ErrQuota):
		return fail(quotaFix, "for %s: %v", users, err)
	case errors.Is(err, llm.ErrInvalid):
		return fail(e.invalidFix(u), "for %s: %v", users, err)
	case errors.Is(err, llm.ErrRateLimited):
		return warn("try again later, or raise the provider's limit", "for %s: %v", users, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fail("try again if the server had to load the model first; else make sure that this machine can reach "+
			"the provider", "for %s: no answer in %s", users, modelTimeout)
	}
	return fail(e.address(u, "make sure that this machine can reach the provider, and check its status page"),
		"for %s: %v", users, err)
}

// The fixes for what a provider refuses for good.
const quotaFix = "pay, or raise the quota at the provider; a daily quota resets tomorrow"

func keyFix(apiKey string) string {
	return "set " + apiKey + " to a key with access to the model from this country"
}

func (e *examination) invalidFix(u use) string {
	return e.address(u, "make sure that the provider has a model of this name and accepts the settings of "+u.key)
}

// maxDelay is the longest delay that the probe's verdict may have, in seconds.
const maxDelay = 600

// probes are short questions of the kinds that the model will be asked: a judgment, a reply with a
// tool, else a text. No request can be both of the first.
func probes(u use) []llm.Request {
	plain := llm.Request{
		Purpose: llm.PurposeResponse, Model: u.Model, System: "You are tried out.",
		Prompt:          "Answer with the single word: ready",
		MaxOutputTokens: u.MaxOutputTokens, Temperature: u.Temperature,
	}
	var all []llm.Request
	if judges(u.users) != "" {
		r := plain
		r.Purpose, r.Schema = llm.PurposeJudgment, llm.VerdictSchema(maxDelay)
		r.Prompt = `Answer with this JSON object: {"addressee": "nobody", "gist": "", "reason": "ready", "should_respond": false, "confidence": 1.0, "delay_seconds": null}`
		all = append(all, r)
	}
	if slices.ContainsFunc(u.users, func(user string) bool {
		return role(user) == "response" || strings.HasPrefix(user, "channels.")
	}) {
		r := plain
		r.Prompt = "Call the tool ready, or answer with the single word: ready"
		r.Tools = []llm.Tool{{Name: "ready", Description: "Tells that you are ready.",
			Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
		all = append(all, r)
	}
	if len(all) == 0 {
		all = append(all, plain)
	}
	return all
}

// judges names what among the users of a model judges; "" for nothing.
func judges(users []string) string {
	for _, user := range users {
		if role(user) == "judgment" {
			return user[:strings.LastIndex(user, "judgment")] + "agents." + user[strings.LastIndex(user, "judgment"):]
		}
	}
	if slices.ContainsFunc(users, inShadow) {
		return "shadow.judges"
	}
	return ""
}

// role is the agent that a user of a model is: of all, or of a workspace, itself or its fallback.
func role(user string) string {
	user = strings.TrimSuffix(user, fallback)
	if strings.HasPrefix(user, "workspaces.") {
		user = user[strings.LastIndexByte(user, '.')+1:]
	}
	return user
}

// fallback is the end of the names of fallbacks.
const fallback = ".fallback"

// inShadow reports whether the user of a model is a judge of shadow.
func inShadow(user string) bool { return strings.HasPrefix(user, "shadow ") }

// address adds to a fix what a configured address must look like.
func (e *examination) address(u use, fix string) string {
	provider, err := providers.Named(u.Provider)
	if err != nil || u.access.BaseURL == "" {
		return fix
	}
	_, key := u.AccessKeys(u.key)
	return fix + "; and make sure that " + key + " is " + provider.AddressForm
}

// encryption encrypts and decrypts a text with every key.
func (e *examination) encryption(context.Context) Finding {
	settings := e.Config.Encryption
	if len(settings.Keys) == 0 {
		return ok("off: ids and reasons are readable in Temporal; texts of messages are never there")
	}
	for _, id := range slices.Sorted(maps.Keys(settings.Keys)) {
		c, err := codec.New(config.Encryption{ActiveKey: id, Keys: settings.Keys})
		if err != nil {
			return fail("create a key with openssl rand -base64 32", "%v", err)
		}
		plain := &commonpb.Payload{Data: []byte("doctor")}
		sealed, err := c.Encode([]*commonpb.Payload{plain})
		if err != nil || bytes.Contains(sealed[0].GetData(), plain.Data) {
			return fail("create a key with openssl rand -base64 32", "the key %q does not encrypt: %v", id, err)
		}
		opened, err := c.Decode(sealed)
		if err != nil || !bytes.Equal(opened[0].GetData(), plain.Data) {
			return fail("create a key with openssl rand -base64 32", "the key %q does not decrypt: %v", id, err)
		}
	}
	if settings.ActiveKey == "" {
		return warn("set encryption.active_key to one of them", "%s, but none is active: nothing new is encrypted",
			count(len(settings.Keys), "key"))
	}
	if !settings.BindPayloads {
		return warn("set encryption.bind_payloads to true, when no program of before it is needed any more",
			"with the key %q, but a payload can be moved to another workflow", settings.ActiveKey)
	}
	return ok("with the key %q; data of %s can be read", settings.ActiveKey, count(len(settings.Keys), "key"))
}
