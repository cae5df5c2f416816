// Package tools is what a model may do before it answers: look messages, pages and files up, and keep notes. The model
// asks for a call, Registry.Run checks and executes it, and the text of the result goes back to the
// model as material.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/llm"
	"myao/internal/runtime/required"
)

// Place is where and for whom a reply is written.
type Place struct {
	Conversation chat.Conversation
	// Trigger is the ts of the message that is answered.
	Trigger string
	// Addressed is set if somebody addressed the bot. Some tools are offered only then.
	Addressed bool
	// Asker is the user id of whoever addressed it, or "".
	Asker string
	// ChannelName is empty for a direct message, and if Slack was never asked.
	ChannelName string
	// Shared is set if people of other workspaces or companies may read there, Outsiders if they or
	// guests may.
	Shared, Outsiders bool
	// Approved is the id of the proposal whose call people have approved; a tool that acts runs for
	// nothing else.
	Approved string
	// Decision is the key of the decision whose reply is written.
	Decision string
	// Now is the time, and Zone the time zone of the asker.
	Now  time.Time
	Zone *time.Location
	// Allowed are the names of the tools of this package that the configuration allows here.
	Allowed []string
	// PostTo are the places to which post_message may post from here.
	PostTo config.Places
	// Remote are the tools of other programs that are allowed here; nil is all.
	Remote []string
	// Hooks are the names of the hooks whose events can be waited for here.
	Hooks []string
}

// Offer is a tool that a model may call in a place.
type Offer struct {
	llm.Tool
	// Act is set if it changes something outside. A call of it is only proposed to the people there.
	Act bool
	// Idempotent is set if its server says that a call may be repeated.
	Idempotent bool
	// Server is the name of the MCP server that has the tool; "" for a tool of this package.
	Server string
	// External is set if the tool of a server may be offered where outsiders read.
	External bool
	// Inside is set if a tool of this package may not.
	Inside bool
}

// Result is what a call has found.
type Result struct {
	Text string
	// Files are shown to the model after Text.
	Files []llm.File
	// Failed is set if Text is an error that the model can correct.
	Failed bool
	// Shown are messages whose content it has, besides those that Text has markers of.
	Shown []Reference
}

// Remote has the tools of other programs.
type Remote interface {
	// Offered returns those that a model may call in a place.
	Offered(ctx context.Context, p Place) ([]Offer, error)
	// Run executes a call of one of them. Its error is as that of Registry.Run.
	Run(ctx context.Context, p Place, name string, input json.RawMessage) (Result, error)
}

// tool is one entry of the registry.
type tool struct {
	llm.Tool
	// addressed is set if it is offered only in an answer to somebody who addressed the bot.
	addressed bool
	// unshared is set if it is not offered where other companies read.
	unshared bool
	// inside is set if it is not offered where outsiders read.
	inside bool
	// acts is set if a call is only proposed: run prepares it (Prepare).
	acts bool
	// describe returns the description where that depends on the place; nil: it does not.
	describe func(p Place) string
	// available reports whether it can be used at all now; nil: always.
	available func() bool
	// run decodes and executes a call. step identifies the call however often it is executed.
	run func(ctx context.Context, p Place, step string, input json.RawMessage) (Result, error)
}

// mistake is an error that the model can correct.
type mistake string

func (m mistake) Error() string { return string(m) }

func mistakef(format string, args ...any) error { return mistake(fmt.Sprintf(format, args...)) }

// ErrNotCalled is wrapped by an error of Run if the call was certainly not made.
var ErrNotCalled = errors.New("the call was not made")

// Registry holds all tools. It is safe for concurrent use.
type Registry struct {
	tools  []tool
	remote Remote // or nil
	// secrets are the forms of our own secrets and instructions, dense.
	secrets []string
}

// New makes a registry of the tools that read from sources.
func New(s Sources) *Registry {
	required.Fields(&s)
	all := []tool{searchMessages(s), readThread(s), readChannel(s)}
	if s.Pages != nil {
		all = append(all, openLink(s))
	}
	if s.Files != nil {
		all = append(all, readFile(s))
	}
	all = append(all, readPlaybook(s))
	if s.Promises.Conversation > 0 {
		all = append(all, lookAgain(s))
	}
	all = append(all, remember(s), forgetNote(s))
	if s.Places != nil {
		all = append(all, postMessage(s))
	}
	return &Registry{remote: s.Remote, secrets: secretForms(append(sentencesOf(s.Instructions), s.Secrets...)),
		tools: all}
}

// Offered returns the tools that a model may call in a place.
func (r *Registry) Offered(ctx context.Context, p Place) ([]Offer, error) {
	var offered []Offer
	for _, t := range r.tools {
		if t.offered(p) {
			// A message is posted once however often its call is made.
			o := Offer{Tool: t.Tool, Inside: t.inside, Act: t.acts, Idempotent: t.acts}
			if t.describe != nil {
				o.Description = t.describe(p)
			}
			offered = append(offered, o)
		}
	}
	if r.remote == nil {
		return offered, nil
	}
	more, err := r.remote.Offered(ctx, p)
	return append(offered, more...), err
}

// Declared returns offers as a model gets them.
func Declared(offers []Offer) []llm.Tool {
	var declared []llm.Tool
	for _, o := range offers {
		declared = append(declared, o.Tool)
	}
	return declared
}

func (t tool) offered(p Place) bool {
	return slices.Contains(p.Allowed, t.Name) && (p.Addressed || !t.addressed) && !(p.Shared && t.unshared) &&
		!(p.Outsiders && t.inside) && !(t.acts && len(p.PostTo) == 0) && (t.available == nil || t.available())
}

// Run executes a call. Its result goes back to the model; it has failed with an error that the model can
// correct: an unknown name, a tool that is not offered here, wrong arguments. err means that the call
// should be repeated; it was not made at all if err wraps ErrNotCalled. step identifies the call: repeated, it changes
// nothing twice.
func (r *Registry) Run(ctx context.Context, p Place, step, name string, input json.RawMessage) (Result, error) {
	if i := slices.IndexFunc(r.tools, func(t tool) bool { return !t.acts && t.Name == name && t.offered(p) }); i >= 0 {
		// no other program is asked
		result, err := r.tools[i].run(ctx, p, step, input)
		return ended(name, result, err)
	}
	offered, err := r.Offered(ctx, p)
	if err != nil {
		return Result{}, errors.Join(ErrNotCalled, err)
	}
	i := slices.IndexFunc(offered, func(o Offer) bool { return o.Name == name })
	if i < 0 {
		var names []string
		for _, o := range offered {
			names = append(names, o.Name)
		}
		return Result{Text: fmt.Sprintf("There is no tool %q here. There are: %s.", name, strings.Join(names, ", ")),
			Failed: true}, nil
	}
	if offered[i].Act && (p.Approved == "" || offered[i].Server == "") {
		return Result{Text: fmt.Sprintf("%q acts, so it runs only when people have approved it.", name), Failed: true},
			nil
	}
	if why := r.Refuses(input); why != "" {
		return Result{Text: why, Failed: true}, nil
	}
	result, err := r.remote.Run(ctx, p, name, input)
	return ended(name, result, err)
}

// ended is what Run returns of a call that has ended.
func ended(name string, result Result, err error) (Result, error) {
	if wrong, ok := errors.AsType[mistake](err); ok {
		return Result{Text: wrong.Error(), Failed: true}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", name, err)
	}
	return result, nil
}

// define makes a tool whose input is a struct: its json tags name the properties, its jsonschema
// tags describe them, and a property is optional if its tag has omitempty.
func define[In any](
	name, description string, run func(ctx context.Context, p Place, step string, in In) (string, error),
) tool {
	return defineFiles(name, description, func(ctx context.Context, p Place, step string, in In) (Result, error) {
		text, err := run(ctx, p, step, in)
		return Result{Text: text}, err
	})
}

// defineFiles is define for a tool that returns files, too.
func defineFiles[In any](
	name, description string, run func(ctx context.Context, p Place, step string, in In) (Result, error),
) tool {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("schema of tool %s: %v", name, err)) // of a type in this package
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("schema of tool %s: %v", name, err))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("schema of tool %s: %v", name, err))
	}
	return tool{
		Tool: llm.Tool{Name: name, Description: description, Schema: raw},
		run: func(ctx context.Context, p Place, step string, input json.RawMessage) (Result, error) {
			if len(bytes.TrimSpace(input)) == 0 {
				input = json.RawMessage("{}")
			}
			var object any
			if err := json.Unmarshal(input, &object); err != nil {
				return Result{}, mistakef("The input of %s is not JSON (%v). It must match this schema: %s", name, err,
					raw)
			}
			if err := resolved.Validate(object); err != nil {
				return Result{}, mistakef("The input of %s is wrong: %v. It must match this schema: %s", name, err, raw)
			}
			if strings.ContainsRune(fmt.Sprint(object), 0) {
				return Result{}, mistakef("The input of %s has a NUL character, which no message has. Leave it out.",
					name) // Postgres refuses it
			}
			var in In
			if err := json.Unmarshal(input, &in); err != nil {
				return Result{}, mistakef("The input of %s is wrong: %v. It must match this schema: %s", name, err, raw)
			}
			return run(ctx, p, step, in)
		},
	}
}
