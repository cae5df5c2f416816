package llm

import "encoding/json"

// Tool is something that a model may ask the caller to do.
type Tool struct {
	// Name is one to 63 letters, digits, underscores and dashes.
	Name        string
	Description string
	// Schema is the JSON schema of the input, an object.
	Schema json.RawMessage
}

// Call is a model's request to use a tool.
type Call struct {
	// ID is unique among the calls of one turn. The provider made it, or the adapter where the
	// provider makes none.
	ID   string
	Name string
	// Input is what the model wrote. It should be a JSON object, but may be anything.
	Input json.RawMessage
}

// ToolResult is the caller's answer to a Call.
type ToolResult struct {
	CallID string
	Name   string
	Text   string
	// Failed is set if Text is an error that the model may be able to correct.
	Failed bool
}

// Turn is a model's answer that calls tools, with the results of its calls. Request.Turns sends
// turns back to the provider that wrote them.
type Turn struct {
	// Provider is the adapter that wrote Opaque.
	Provider string
	// Opaque is the answer as the provider wants it back: its parts verbatim and in order, with
	// signatures and thoughts. Only the adapter reads it.
	Opaque json.RawMessage
	// Text is what the model wrote besides its calls. It may be empty.
	Text string
	// Calls are never empty.
	Calls []Call
	// Results has one entry for each call, in the order of Calls. It is empty in a Response.
	Results []ToolResult
}
