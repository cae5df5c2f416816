// Package e2e drives the built programs as a stranger would: worker and starter
// as processes, a real Temporal server, Postgres and SQLite, Slack and the model
// over HTTP. It holds tests only.
package e2e
