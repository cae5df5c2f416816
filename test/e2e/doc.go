// Package e2e tests the built programs from outside: worker and starter run as processes with
// a real Temporal server, Postgres or SQLite, and Slack and the model over HTTP. It holds
// tests only.
package e2e
