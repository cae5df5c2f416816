// Package ledger tells what became of what was said: the story of a conversation,
// put together from what the database keeps of its messages, changes, decisions,
// calls of models, replies and orders. It asks neither Slack nor Temporal, and where
// nothing was written down it says why, as far as the database and the settings tell.
package ledger
