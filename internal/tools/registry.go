// Package tools is what a model may do before it answers: look messages up, and keep notes. The model
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

	"github.com/google/jsonschema-go/jsonschema"

	"myao/internal/chat"
	"myao/internal/llm"
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
	// Allowed are the names of the tools that the configuration allows here.
	Allowed []string
}

// tool is one entry of the registry.
type tool struct {
	llm.Tool
	// addressed is set if it is offered only in an answer to somebody who addressed the bot.
	addressed bool
	// run decodes and executes a call. step identifies the call however often it is executed.
	run func(ctx context.Context, p Place, step string, input json.RawMessage) (string, error)
}

// mistake is an error that the model can correct.
type mistake string

func (m mistake) Error() string { return string(m) }

func mistakef(format string, args ...any) error { return mistake(fmt.Sprintf(format, args...)) }

// Registry holds all tools. It is safe for concurrent use.
type Registry struct{ tools []tool }

// New makes a registry of the tools that read from sources.
func New(s Sources) *Registry {
	return &Registry{tools: []tool{
		searchMessages(s), readThread(s), readChannel(s), remember(s), forgetNote(s),
	}}
}

// Offered returns the tools that a model may call in a place.
func (r *Registry) Offered(p Place) []llm.Tool {
	var offered []llm.Tool
	for _, t := range r.tools {
		if t.offered(p) {
			offered = append(offered, t.Tool)
		}
	}
	return offered
}

func (t tool) offered(p Place) bool {
	return slices.Contains(p.Allowed, t.Name) && (p.Addressed || !t.addressed)
}

// Run executes a call. text goes back to the model; failed is set if it is an error that the model
// can correct: an unknown name, a tool that is not offered here, wrong arguments. err means that the
// call should be repeated. step identifies the call: repeated, it changes nothing twice.
func (r *Registry) Run(ctx context.Context, p Place, step, name string, input json.RawMessage) (text string, failed bool, err error) {
	i := slices.IndexFunc(r.tools, func(t tool) bool { return t.Name == name })
	if i < 0 || !r.tools[i].offered(p) {
		var names []string
		for _, t := range r.Offered(p) {
			names = append(names, t.Name)
		}
		return fmt.Sprintf("There is no tool %q here. There are: %s.", name, strings.Join(names, ", ")), true, nil
	}
	text, err = r.tools[i].run(ctx, p, step, input)
	if wrong, ok := errors.AsType[mistake](err); ok {
		return wrong.Error(), true, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", name, err)
	}
	return text, false, nil
}

// define makes a tool whose input is a struct: its json tags name the properties, its jsonschema
// tags describe them, and a property is optional if its tag has omitempty.
func define[In any](name, description string, run func(ctx context.Context, p Place, step string, in In) (string, error)) tool {
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
		run: func(ctx context.Context, p Place, step string, input json.RawMessage) (string, error) {
			if len(bytes.TrimSpace(input)) == 0 {
				input = json.RawMessage("{}")
			}
			var object any
			if err := json.Unmarshal(input, &object); err != nil {
				return "", mistakef("The input of %s is not JSON (%v). It must match this schema: %s", name, err, raw)
			}
			if err := resolved.Validate(object); err != nil {
				return "", mistakef("The input of %s is wrong: %v. It must match this schema: %s", name, err, raw)
			}
			if strings.ContainsRune(fmt.Sprint(object), 0) {
				return "", mistakef("The input of %s has a NUL character, which no message has. Leave it out.", name) // Postgres refuses it
			}
			var in In
			if err := json.Unmarshal(input, &in); err != nil {
				return "", mistakef("The input of %s is wrong: %v. It must match this schema: %s", name, err, raw)
			}
			return run(ctx, p, step, in)
		},
	}
}
