// Package templates holds the prompts: Go text/template files, one directory a
// language. internal/answer/prompt parses and renders them; nothing else reads them.
//
// Files that begin with an underscore are partials: _context.tmpl prints what
// is known (memories, channels, thread summaries), _conversation.tmpl what was
// said, _span.tmpl how long ago, _memory.tmpl what the prompts for memories share. The others are each one
// text that is sent: a system prompt (response.tmpl, judgment.tmpl,
// second_look.tmpl, and one memory_*.tmpl for each of the five memories), the short
// user turn that goes with it (response_user.tmpl, judgment_user.tmpl,
// second_look_user.tmpl, memory_user.tmpl), what may stand at the end of a
// system prompt (looked_up.tmpl, acted.tmpl), or words for Slack (notice.tmpl,
// stop.tmpl, unseen.tmpl, unheard.tmpl).
//
// Blank lines around an action need no care: whatever the templates leave, runs
// of them become one.
package templates

import "embed"

// FS holds {language}/{name}.tmpl.
//
//go:embed en/*.tmpl ja/*.tmpl
var FS embed.FS
