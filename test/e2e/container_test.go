package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"myao/sandbox/workspace"
	"myao/test/testserver"
	"myao/test/world"
)

// nobody is the account of the programs in the image.
const nobody = 65532

// TestContainer runs the programs with less than the image gives them. They run under an
// account without a name, in a read-only directory with only themselves and a configuration,
// and with only their own environment. There is no shell, /tmp, zoneinfo or home. /proc has
// only the link from which Temporal's SDK derives the build id.
func TestContainer(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("chroot needs root on Linux")
	}
	cage := filepath.Join(t.TempDir(), "root")
	testserver.Must(t, os.Mkdir(cage, 0o700))
	// As in the Dockerfile, but without -trimpath, which would recompile everything.
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", cage+"/", "myao/worker", "myao/starter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}

	testserver.Must(t, os.Chmod(cage, 0o755))
	if err := chrootCommand(cage, "/starter", "--help").Run(); errors.Is(err, syscall.EPERM) {
		t.Skip("root may not chroot here")
	}

	s := start(t, testserver.Postgres(t), timeZone("Asia/Tokyo"))
	s.worker.Stop()
	s.starter.Stop()
	config, err := os.ReadFile(s.Config)
	testserver.Must(t, err)
	self := filepath.Join(cage, "proc", "self")
	if err := errors.Join(
		os.WriteFile(filepath.Join(cage, "config.yaml"), config, 0o444),
		os.MkdirAll(self, 0o755), os.Symlink("/worker", filepath.Join(self, "exe")), os.Chmod(cage, 0o555),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(cage, 0o755) }) // so that it can be removed
	before := contents(t, cage)

	caged := []*world.Program{s.worker, s.starter}
	for _, p := range caged {
		p.Prepare = func(cmd *exec.Cmd) {
			caged := chrootCommand(cage, "/"+p.Name, "--config", "/config.yaml")
			caged.Env, caged.Stdout, caged.Stderr = p.Env, cmd.Stdout, cmd.Stderr
			*cmd = *caged
		}
		p.Start()
	}
	s.Ready()
	s.await("the health check", func() bool {
		said, err := chrootCommand(cage, "/starter", "health", "--url", "http://"+s.starter.Address+"/readyz").CombinedOutput()
		return err == nil && string(said) == "ready\n"
	})
	ts := s.Workspace.Say(s.general, s.alice.ID, s.mention("who are you?"))
	s.await("an answer", func() bool {
		return slices.ContainsFunc(s.posts(), func(p workspace.Post) bool { return p.ThreadTS == ts })
	})

	for _, p := range caged {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
		testserver.Must(t, err)
		for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "Gid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("%s lacks %q:\n%s", p.Name, want, status)
			}
		}
		p.Stop()
	}
	if after := contents(t, cage); !slices.Equal(after, before) {
		t.Errorf("the directory has changed to\n%q\nfrom\n%q", after, before)
	}
}

// timeZone sets the time zone of the prompts.
func timeZone(name string) option { return configured("time_zone: " + name) }

// chrootCommand returns a command with the directory as its root, run as nobody and without an
// environment.
func chrootCommand(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// contents lists the files of a directory with mode, size and time of change.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all = append(all, fmt.Sprintf("%s %s %d %s", path, info.Mode(), info.Size(), info.ModTime()))
		}
		return err
	})
	testserver.Must(t, err)
	return all
}
