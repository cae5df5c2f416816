// Package mind puts questions to language models: whether to speak, what to say,
// what to remember. It has the context read (package recall), written down as a
// prompt (package prompt) and asked (package llm); what becomes of an answer is its
// caller's business, but for memories, which it keeps itself.
package mind
