// Package codec encrypts payloads on their way to Temporal and decrypts them on the way back:
// the inputs and results of workflows and activities, signals, summaries, and the messages and
// stack traces of failures. Ids, names, types and search attributes stay readable, because
// Temporal looks things up by them.
//
// A payload is encrypted whole, with its metadata, and names its key. So keys can be rotated
// while old payloads are still needed. A bound payload also names its namespace and workflow; the
// SDK tells the converters where they are, and a payload of another workflow is refused.
package codec
