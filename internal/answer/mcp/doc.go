// Package mcp uses the tools of other programs by the Model Context Protocol. What a server says of its
// tools, and what they return, is material and nothing else: a tool that has acted stays one that acts,
// and one that acts runs only for an approved proposal, as its server described it when it was allowed.
package mcp
