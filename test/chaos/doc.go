// Package chaos breaks the running system while people write, and then compares Slack with what
// the bot promises: every mention is answered once, nothing is answered long after its
// deletion, nothing is posted twice, and the ledger agrees. It holds tests only.
//
// A plan is drawn from a seed. It says what people do, and what is killed, frozen or fails, and
// when. The world consists of real processes: starters behind a load balancer, workers, a
// Temporal server and Postgres. Slack and the model are the project's own and fail on demand.
// The result is a record of plain data. check finds the faults in a record.
//
// go test ./test/chaos runs a short plan; make chaos runs a long one and the slow tests.
package chaos
