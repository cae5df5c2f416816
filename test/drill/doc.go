// Package drill breaks the running system in the ways that docs/alerts.md describes under "Broken
// in ten ways", and asserts what an operator is told first: the first problem of starter doctor, and the
// first alert, in the order of deploy/prometheus/alerts.yaml, that a real Prometheus fires. It holds
// tests only.
//
// Without -drill.run everything is skipped; make drill runs it.
package drill
