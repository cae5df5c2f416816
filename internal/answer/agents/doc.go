// Package agents asks language models: whether to speak, what to say, what to remember.
// A question's context comes from package recall, its prompt from package prompt, and
// its answer from package llm. The caller decides what becomes of a verdict or a reply.
// Memories this package saves itself.
//
// Package agents alone decides when a model is asked again. From the inside out:
//   - askWithinWindow: the prompt exceeds the model's window. Ask with fewer messages.
//   - askWithTokens: thoughts used up the token limit. Ask once more with more tokens.
//   - Judge, for Decide: the verdict cannot be read. Ask once more and tell the fault.
//   - The caller's own attempts: Ask and Remember return a FinalError when the next one is pointless.
//
// The adapter llm/openai sends a request again in another form, because only it knows the forms.
package agents
