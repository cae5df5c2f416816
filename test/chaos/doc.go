// Package chaos breaks the running system while people talk to it, and then asks
// Slack whether the promise was kept: every mention answered once, nothing
// answered long after it was withdrawn, nothing said twice, and a ledger that
// knows all of it. It holds tests only.
//
// A plan fixes, by its seed, what is said when, and what is killed, frozen and
// falsified when. The world is real processes: starters behind a load balancer,
// workers, a Temporal server, Postgres; Slack and the model are the project's own,
// and fail on demand. What came of it is gathered into a record, plain data, which
// check goes through without knowing how it came about.
//
// go test ./test/chaos runs a short plan; make chaos runs a long one, and what
// takes longer still.
package chaos
