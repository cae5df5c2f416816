package drill

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/conversation"
	"myao/sandbox/workspace"
	"myao/test/testserver"
)

// desk is an MCP server that can hang.
type desk struct {
	url   string
	hangs atomic.Bool
}

func newDesk(t *testing.T) *desk {
	d := &desk{}
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find", Description: "Finds a ticket.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "none"}}}, nil, nil
		})
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	listening := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if d.hangs.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // else nothing notices that the client goes away
			<-r.Context().Done()
			return
		}
		serve.ServeHTTP(rw, r)
	}))
	t.Cleanup(listening.Close)
	d.url = listening.URL
	return d
}

// deleteNamespace deletes the namespace, with all conversations.
func (w *system) deleteNamespace() {
	w.t.Helper()
	testserver.Must(w.t, testserver.ErrOf(w.Client.OperatorService().DeleteNamespace(w.t.Context(), &operatorservice.DeleteNamespaceRequest{Namespace: w.Namespace})))
}

// temporalThatReports starts a server that reports workflows whose tasks fail, as the dev server does not.
func temporalThatReports(t *testing.T) string {
	return testserver.StartTemporalOnPostgres(t, testserver.StartPostgres(t, "fsync=off"), 4, map[string]any{
		"system.forceSearchAttributesCacheRefreshOnRead": true,
	}).Address
}

// stick has other code than the worker's begin a conversation, which the worker cannot replay then, as
// after an upgrade that is not compatible.
func (w *system) stick() {
	w.t.Helper()
	w.worker.Stop()
	other := worker.New(w.Client, conversation.TaskQueue, worker.Options{})
	other.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ any) error {
		return workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: conversation.WorkflowType})
	testserver.Must(w.t, other.Start())
	thread := w.ask()
	w.await("a conversation of the other worker", func() bool {
		run, err := w.Client.DescribeWorkflowExecution(w.t.Context(), "thread/T0DRILL/"+w.general+"/"+thread, "")
		return err == nil && run.GetWorkflowExecutionInfo().GetHistoryLength() > 4 // its timer has started
	})
	other.Stop()
	w.worker.Start()
	w.Workspace.Say(w.general, w.alice, "<@"+w.Workspace.Bot().UserID+"> are you there?", workspace.InThread(thread))
}

// smallDisk mounts a disk of 64 MB that the test may fill.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small disk")
	}
	dir := t.TempDir()
	if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount a small disk: %v: %s", err, said)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// tablespace makes a Postgres database on a disk, apart from the server's log.
func tablespace(t *testing.T, dir string) string {
	t.Helper()
	server := testserver.StartPostgres(t, "fsync=off")
	db, err := sql.Open("pgx", server.URL)
	testserver.Must(t, err)
	defer func() { _ = db.Close() }()
	var data string
	testserver.Must(t, db.QueryRowContext(t.Context(), "SHOW data_directory").Scan(&data))
	info, err := os.Stat(data)
	testserver.Must(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	space := filepath.Join(dir, "space")
	for _, err := range []error{os.Mkdir(space, 0o700), os.Chown(space, int(owner.Uid), int(owner.Gid)), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)} {
		testserver.Must(t, err)
	}
	for _, statement := range []string{"CREATE TABLESPACE small LOCATION '" + space + "'", "CREATE DATABASE small TABLESPACE small"} {
		testserver.Must(t, testserver.ErrOf(db.ExecContext(t.Context(), statement)))
	}
	return server.URL[:strings.LastIndex(server.URL, "/")] + "/small?sslmode=disable"
}

// fill fills the world's disk.
func (w *system) fill() {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.disk, "fill"))
	testserver.Must(w.t, err)
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); {
		_, err = f.Write(block)
	}
}
