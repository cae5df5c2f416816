// Package codec encrypts what goes to Temporal and comes back: the inputs and
// results of workflows and activities, signals, summaries, the messages and stacks
// of failures. What Temporal looks things up by stays readable: ids, names, types,
// search attributes.
//
// A payload is sealed whole, with its metadata, and names the key that it was sealed
// with. So keys can change while old payloads are still to be read.
package codec
