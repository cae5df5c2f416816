package llm

import "testing"

// How servers say that a model takes no tools, and what only sounds like it.
func TestRefusesTools(t *testing.T) {
	for message, want := range map[string]bool{
		"registry.ollama.ai/library/gemma3:4b does not support tools":                                                     true,
		"tools is not supported in this model. For a list of supported models, refer to https://platform.openai.com/docs": true,
		"Unsupported parameter: 'tools' is not supported with this model.":                                                true,
		"No endpoints found that support tool use. Try disabling \"search\".":                                             true,
		"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set":                        true,
		"`tool calling` is not supported with this model":                                                                 true,
		"deepinfra error: Tool calling is not supported for model: m":                                                     true,
		"deepseek-reasoner does not support Function Calling":                                                             true,
		"tools param requires --jinja flag":                                                                               true,
		"Unsupported param: tools":                                                                                        true,
		"Unrecognized request argument supplied: tools":                                                                   true,
		"Function calling is not enabled for models/gemma-3-27b-it":                                                       true,
		"tools: Extra inputs are not permitted":                                                                           true,
		"This model doesn't support `tools`":                                                                              true,
		"Function tools with reasoning_effort are not supported for m in /v1/chat/completions":                            true,

		"Invalid schema for function 'search': schema must be an object":      false,
		"tools: at most 128 tools are supported":                              false,
		"messages with role 'tool' must be a response to a preceding message": false,
		"temperature is not supported with this model":                        false,
		"Unknown parameter: 'tools[0].function.strict'.":                      false,
		"Function call is missing a thought_signature in functionCall parts":  false,
		"tools.0.custom.input_schema: JSON schema is invalid":                 false,
	} {
		for status, counts := range map[int]bool{400: true, 404: true, 500: true, 401: false, 429: false, 503: false} {
			e := &Error{Kind: ErrInvalid, Status: status, Message: message}
			if got := e.RefusesTools(); got != (want && counts) {
				t.Errorf("%d %s: got %v", status, message, got)
			}
		}
	}
}
