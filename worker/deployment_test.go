package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/temporal"
	"myao/test/testserver"
)

func TestBinaryChecksum(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker")
	built := time.Unix(1_790_000_000, 0)
	checksum := func(build *debug.BuildInfo, size int, at time.Time) string {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, make([]byte, size), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		name, err := binaryChecksum(build, func() (string, error) { return path, nil })
		if err != nil {
			t.Fatal(err)
		}
		return name
	}

	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	lost := func() (string, error) { return "", os.ErrNotExist }
	for _, b := range []*debug.BuildInfo{
		{Settings: []debug.BuildSetting{revision}}, {Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}},
	} {
		got, err := binaryChecksum(b, lost)
		if want := "0123456789ab"; err != nil || got != want || checksum(b, 1000, built.Add(time.Millisecond)) != want {
			t.Errorf("%v: %q, %v, want %q", b, got, err, want)
		}
	}
	for _, b := range []*debug.BuildInfo{nil, {}, {Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}}} {
		name, again := checksum(b, 1000, built), checksum(b, 1000, built)
		longer, later := checksum(b, 1001, built), checksum(b, 1000, built.Add(time.Millisecond))
		if name == "" || name != again || name == longer || name == later {
			t.Errorf("%v: %q, another file is %q or %q", b, name, longer, later)
		}
		if _, err := binaryChecksum(b, lost); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v, without a file: %v", b, err)
		}
	}
}

func TestDeploymentOptions(t *testing.T) {
	t.Parallel()
	built := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	for _, test := range []struct {
		name     string
		settings config.Worker
		build    *debug.BuildInfo
		want     string // DEPLOYMENT.BUILD, "" without versioning
		fails    bool
	}{
		{"not configured", config.Worker{}, built(revision), "", false},
		{"named", config.Worker{Deployment: "myao", BuildID: "v1"}, built(revision), "myao.v1", false},
		{"by the revision", config.Worker{Deployment: "myao"}, built(revision), "myao.0123456789ab", false},
		{"by a short revision", config.Worker{Deployment: "myao"},
			built(debug.BuildSetting{Key: "vcs.revision", Value: "0123"}), "myao.0123", false},
		{"with local changes", config.Worker{Deployment: "myao"},
			built(debug.BuildSetting{Key: "vcs.modified", Value: "true"}, revision), "myao.0123456789ab-modified", false},
		{"without local changes", config.Worker{Deployment: "myao"},
			built(revision, debug.BuildSetting{Key: "vcs.modified", Value: "false"}), "myao.0123456789ab", false},
		{"no revision", config.Worker{Deployment: "myao"}, built(debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "", true},
		{"no build information", config.Worker{Deployment: "myao"}, nil, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := deploymentOptions(test.settings, test.build)
			if test.fails {
				if err == nil || !strings.Contains(err.Error(), "worker.build_id") {
					t.Errorf("%+v, %v; want an error that names worker.build_id", got, err)
				}
				return
			}
			want := worker.DeploymentOptions{}
			if deployment, build, ok := strings.Cut(test.want, "."); ok {
				want = worker.DeploymentOptions{
					UseVersioning:             true,
					Version:                   worker.WorkerDeploymentVersion{DeploymentName: deployment, BuildID: build},
					DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
				}
			}
			if err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// A versioned worker waits until its version is current. Then it serves its queues, and the
// workflows that start with it stay with it.
func TestVersionedWorkerServesOnceItIsCurrent(t *testing.T) {
	t.Parallel()
	c, env := namespace(t)
	until := startWorker(t, write(t, "worker: {", "worker: {deployment: myao, build_id: v1, "), env...)
	until("worker runs")
	conv := chat.Conversation{Team: "T1", Channel: "C1"}
	send := temporal.Sender{Client: c, Attributes: func() bool { return false }}
	if err := send.Send(t.Context(), conv, conversation.Signal{
		Policy:  conversation.Policy{MinWait: 3600, MaxWait: 3600},
		Changes: []conversation.Change{{TS: "1.000001", Kind: conversation.Said}},
	}, "request"); err != nil {
		t.Fatal(err)
	}
	handle := c.WorkerDeploymentClient().GetHandle("myao")
	var queues []client.WorkerDeploymentTaskQueueInfo
	await(t, "the version to be known with its queues", func(ctx context.Context) error {
		d, err := handle.DescribeVersion(ctx, client.WorkerDeploymentDescribeVersionOptions{BuildID: "v1"})
		if queues = d.Info.TaskQueuesInfos; err == nil && len(queues) < 4 {
			err = fmt.Errorf("queues %v", queues)
		}
		return err
	})
	slices.SortFunc(queues, func(a, b client.WorkerDeploymentTaskQueueInfo) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	if want := []client.WorkerDeploymentTaskQueueInfo{
		{Name: "myao", Type: client.TaskQueueTypeWorkflow}, {Name: "myao", Type: client.TaskQueueTypeActivity},
		{Name: "myao-model", Type: client.TaskQueueTypeActivity}, {Name: "myao-tools", Type: client.TaskQueueTypeActivity},
	}; !slices.Equal(queues, want) {
		t.Errorf("it serves %v, want %v", queues, want)
	}
	if d, err := c.DescribeWorkflow(t.Context(), conv.ID(), ""); err != nil || d.HistoryLength > 3 {
		t.Errorf("served before its version is the current one: %d events, %v", d.HistoryLength, err)
	}
	await(t, "the version to be the current one", func(ctx context.Context) error {
		_, err := handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: "v1"})
		return err
	})
	await(t, "the conversation to be served", func(ctx context.Context) error {
		value, err := c.QueryWorkflow(ctx, conv.ID(), "", conversation.QueryName)
		if err != nil {
			return err
		}
		var state conversation.State
		if err := value.Get(&state); err != nil || state.Phase != conversation.Waiting {
			return fmt.Errorf("%+v, %v", state, err)
		}
		return nil
	})
	d, err := c.DescribeWorkflowExecution(t.Context(), conv.ID(), "")
	if err != nil {
		t.Fatal(err)
	}
	if v := d.GetWorkflowExecutionInfo().GetVersioningInfo(); v.GetDeploymentVersion().GetBuildId() != "v1" || v.GetBehavior().String() != "Pinned" {
		t.Errorf("the run has %v, want pinned to v1", v)
	}
}

// namespace creates a namespace on a real server, and returns the environment by which a process
// finds it.
func namespace(t *testing.T) (client.Client, []string) {
	t.Helper()
	address, name := testserver.Temporal(t), "worker-"+strings.ToLower(rand.Text())
	options := client.Options{HostPort: address, Namespace: name, Logger: slog.New(slog.DiscardHandler),
		ConnectionOptions: testserver.PatientCalls()}
	nc, err := client.NewNamespaceClient(options)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	await(t, "the namespace", func(ctx context.Context) error {
		_, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
		return err
	})
	return c, []string{"TEMPORAL_ADDRESS=" + address, "TEMPORAL_NAMESPACE=" + name}
}

// program is a worker that runs as a process.
type program struct {
	*testing.T
	cmd *exec.Cmd
	log *bufio.Reader
}

// startWorker runs the program as a process until the test ends. It returns a function that
// waits for a line in the log.
func startWorker(t *testing.T, config string, env ...string) (until func(what string)) {
	t.Helper()
	return startProgram(t, config, env...).until
}

// startProgram is startWorker for a process that the test may stop.
func startProgram(t *testing.T, config string, env ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--config", config)
	cmd.Env = append(append(os.Environ(), "MYAO_TEST_MAIN=1"), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{T: t, cmd: cmd, log: bufio.NewReader(stderr)}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// stop terminates the process and waits for its end.
func (p *program) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, p.log)
	return p.cmd.Wait()
}

// until waits for a line in the log.
func (p *program) until(what string) {
	p.Helper()
	var all strings.Builder
	for {
		line, err := p.log.ReadString('\n')
		all.WriteString(line)
		switch {
		case strings.Contains(line, what):
			return
		case err != nil:
			p.Fatalf("it ended without %q: %v\n%s", what, err, &all)
		}
	}
}

func await(t *testing.T, what string, done func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := done(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s: %v", what, err)
		}
	}
}
