// Package telemetry is what the programs tell of themselves: the registry that
// /metrics shows, spans for whoever collects traces, and what each line of the log
// says of its place. Nothing that people said passes through here, and no secret.
//
// Metrics are always kept. Traces are made only where OpenTelemetry's own variables
// name a place to send them to; else nothing is added to a signal or a history.
//
// A conversation's workflow may live for weeks, so its own start is no good root for
// what it does. The way of one message is one trace instead: the request that brought
// it, the signal that took it to the workflow, the activities about it. See Journey.
package telemetry
