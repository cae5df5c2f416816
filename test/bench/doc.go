// Package bench measures the throughput of the programs and the cost of a message. It compares
// each figure with a floor measured next to it on the same servers: a bare workflow, a raw
// signal, or a single SELECT. So the ratio is comparable between machines. `make bench` runs
// it; docs/performance.md has the results.
//
// The programs are real and run as processes, with a Temporal server on Postgres and a Postgres
// for the bot. Both Postgres servers sync each commit. Slack, the model and the people are in the test
// process. Load comes in an open loop: each message has an intended time, and its latency
// counts from then, however late it is sent. Every row has the number of its rounds, their
// range, and the counts of lost and doubled messages.
package bench
