package testserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/internal/runtime/freeport"
)

// TemporalGCEnv makes the server of StartTemporalOnPostgres collect garbage less often, as
// docker-compose.yml does. With Go's defaults a busy server collects every few seconds and
// takes two processors for up to a quarter of a second each time.
var TemporalGCEnv = []string{"GOGC=800", "GOMEMLIMIT=1600MiB"}

// StartTemporalOnPostgres starts a Temporal server with all its services in one process. It
// keeps its state in two databases of a Postgres server and has the namespace "default".
// dynamic is Temporal's dynamic configuration, such as {"matching.enableFairness": true}.
// Each shard writes for one workflow at a time. The server is killed when the test ends.
// Only one goroutine at a time may call the methods.
func StartTemporalOnPostgres(t testing.TB, postgres *PostgresServer, shards int, dynamic map[string]any) *TemporalServer {
	t.Helper()
	s := &TemporalServer{t: t}
	c := temporalConfig{
		dir: t.TempDir(), shards: shards,
		state: temporalDatabase(t, postgres, "temporal"), visibility: temporalDatabase(t, postgres, "visibility"),
	}
	server, err := tool("temporal-server", "temporal-server")
	Must(t, err)
	err = withFreePort(func(port int) error {
		config, err := c.configure(port, dynamic)
		if err != nil {
			return err
		}
		s.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		s.command = func() *exec.Cmd {
			cmd := exec.Command(server, "--config-file", config, "--allow-no-auth", "start")
			cmd.Env = append(without("TEMPORAL_"), TemporalGCEnv...)
			return cmd
		}
		s.prepare = s.register
		return s.start()
	})
	Must(t, err)
	t.Cleanup(s.Kill)
	return s
}

// temporalDatabase makes a database with Temporal's newest schema.
func temporalDatabase(t testing.TB, postgres *PostgresServer, schema string) *url.URL {
	t.Helper()
	program, err := tool("temporal-sql-tool", "temporal-server")
	Must(t, err)
	u, err := url.Parse(postgres.Database())
	Must(t, err)
	run := func(args ...string) {
		cmd := exec.Command(program, append([]string{
			"--plugin", "postgres12", "--endpoint", u.Hostname(), "--port", u.Port(), "--user", u.User.Username(),
			"--database", strings.TrimPrefix(u.Path, "/"),
		}, args...)...)
		cmd.Env = without("SQL_")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("temporal-sql-tool %s: %v; it said:\n%s", strings.Join(args, " "), err, said)
		}
	}
	run("setup-schema", "--version", "0.0")
	run("update-schema", "--schema-name", "postgresql/v12/"+schema)
	return u
}

// temporalConfig is what goes into a server's configuration.
type temporalConfig struct {
	dir               string
	shards            int
	state, visibility *url.URL
}

// configure writes the server's configuration and returns its path.
func (c temporalConfig) configure(port int, dynamic map[string]any) (string, error) {
	settings := filepath.Join(c.dir, "dynamic.yaml")
	var b strings.Builder
	for name, value := range dynamic {
		fmt.Fprintf(&b, "%s: [{value: %v}]\n", name, value)
	}
	if err := os.WriteFile(settings, []byte(b.String()), 0o600); err != nil {
		return "", err
	}
	ports := make([]int, 7) // all but the frontend's gRPC port
	for i := range ports {
		var err error
		if ports[i], err = freeport.Pick(); err != nil {
			return "", err
		}
	}
	store := func(u *url.URL, connections int) string {
		return fmt.Sprintf(`{sql: {pluginName: postgres12, databaseName: %s, connectAddr: %q, connectProtocol: tcp, user: %s, password: "", maxConns: %d, maxIdleConns: %d}}`,
			strings.TrimPrefix(u.Path, "/"), u.Host, u.User.Username(), connections, connections)
	}
	path := filepath.Join(c.dir, "temporal.yaml")
	return path, os.WriteFile(path, fmt.Appendf(nil, `
log: {stdout: true, level: error}
persistence:
  defaultStore: state
  visibilityStore: visibility
  numHistoryShards: %d
  datastores:
    state: %s
    visibility: %s
global:
  membership: {maxJoinDuration: 30s, broadcastAddress: "127.0.0.1"}
services:
  frontend: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
  matching: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
  history: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
  worker: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "127.0.0.1:%d"}
dcRedirectionPolicy: {policy: noop}
archival: {history: {state: disabled}, visibility: {state: disabled}}
dynamicConfigClient: {filepath: %q, pollInterval: 10s}
`, c.shards, store(c.state, 20), store(c.visibility, 5), port, ports[0], ports[1], ports[2], ports[3], ports[4], ports[5], ports[6], port, settings), 0o600)
}

// register makes the default namespace. It returns an error until the services know it.
func (s *TemporalServer) register(ctx context.Context) error {
	c, err := client.NewLazyClient(client.Options{HostPort: s.Address, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: client.DefaultNamespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("register the namespace: %w", err)
	}
	_, err = c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
	return err
}
