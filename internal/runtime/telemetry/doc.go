// Package telemetry provides what the programs report about themselves: the registry behind
// /metrics, trace spans, and the context of log lines. Neither what people wrote nor any
// secret passes through here.
//
// Metrics are always collected. Traces are collected only where OpenTelemetry's own variables
// name an exporter or an endpoint; otherwise no header is added to a signal or a history.
//
// A conversation's workflow may run for weeks, so its start is no useful root for a trace.
// One message is one trace instead: the request that brought it, the signal that carried it to
// the workflow, and the activities about it. See MessageTracing.
package telemetry
