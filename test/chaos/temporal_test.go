package chaos

import (
	"testing"

	"go.temporal.io/sdk/client"

	"myao/test/testserver"
)

// TestTemporalOnPostgres checks that a Temporal server on Postgres keeps a workflow when the
// server or its database is killed.
func TestTemporalOnPostgres(t *testing.T) {
	needLong(t)
	postgres := testserver.StartPostgres(t)
	server := testserver.StartTemporalOnPostgres(t, postgres, 4, nil)
	address := server.Address
	find := func() string {
		t.Helper()
		c, err := client.Dial(client.Options{HostPort: address})
		testserver.Must(t, err)
		defer c.Close()
		d, err := c.DescribeWorkflowExecution(t.Context(), "kept", "")
		testserver.Must(t, err)
		return d.WorkflowExecutionInfo.Execution.RunId
	}
	c, err := client.Dial(client.Options{HostPort: address})
	testserver.Must(t, err)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "none"}, "Kept")
	testserver.Must(t, err)
	c.Close()
	for name, end := range map[string]func(){
		"killed": server.Kill, "stopped": server.Stop, "its database killed": func() { server.Kill(); postgres.Kill(); postgres.Restart() },
	} {
		end()
		server.Restart()
		if server.Address != address {
			t.Fatalf("%s: the address moved from %s to %s", name, address, server.Address)
		}
		if got := find(); got != run.GetRunID() {
			t.Errorf("%s: run %s became %s", name, run.GetRunID(), got)
		}
	}
}
