package shipping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// insideVariable names the directory for the services, in the process that has namespaces of its own.
const insideVariable = "MYAO_TEST_COMPOSE_DIR"

// Without a Slack workspace, what docker-compose.yml starts of ours answers in the sandbox's Slack.
// Each service runs as a process with the environment, account, command and read-only files that
// Compose gives it. Postgres and Temporal's dev server stand in for their images. The test needs
// root, for network and mount namespaces; so all services have the addresses of their containers.
func TestComposeRuns(t *testing.T) {
	if dir := os.Getenv(insideVariable); dir != "" {
		// To the kernel the parent of a service is the thread that started it.
		runtime.LockOSThread()
		composeRuns(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root for namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the program ip for a network namespace")
	}
	t.Parallel()
	dir := t.TempDir()
	testserver.Must(t, testserver.Build(dir, nil, "myao/worker", "myao/starter", "myao/sandbox"))
	runtime.LockOSThread()
	cmd := exec.Command(os.Args[0], "-test.run=^TestComposeRuns$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), insideVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	said, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("may not make namespaces")
	}
	if err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// stack runs services of the project.
type stack struct {
	t   *testing.T
	dir string // of the programs, and of a root for each service
}

func composeRuns(t *testing.T, dir string) {
	s := stack{t, dir}
	project, err := compose(t, read(t, "docker-compose.yml"), nil)
	testserver.Must(t, err)
	s.isolate()
	for range 2 { // the second time it keeps what there is
		before, _ := os.ReadFile("/run/secrets/myao/password")
		s.must(s.script(project.Services["passwords"]).CombinedOutput())
		after, err := os.ReadFile("/run/secrets/myao/password")
		if err != nil || len(after) < 40 || before != nil && !bytes.Equal(before, after) {
			t.Fatalf("the password was %q and is %q, %v", before, after, err)
		}
	}
	s.postgres(project.Configs["roles"].Content)
	testserver.StartTemporal(t, "", 7233)

	starter, sandbox := s.start(project.Services["starter"]), s.start(project.Services["sandbox"])
	s.healthy(project.Services["starter"])
	const page = "http://127.0.0.1:8700/sandbox/"
	var state struct {
		Users    []struct{ ID, Name string }
		Channels []struct {
			ID       string
			Messages []struct {
				BotID string `json:"bot_id"`
				Text  string
			}
		}
	}
	s.get(page+"state", &state)
	general := state.Channels[0].ID
	s.post(page+"say", map[string]string{"channel": general, "user": state.Users[1].ID, "text": "@myao are you there?"})
	s.await("the answer", func() error {
		s.get(page+"state", &state)
		for _, m := range state.Channels[0].Messages {
			if m.BotID != "" && strings.Contains(m.Text, "demo") {
				return nil
			}
		}
		return fmt.Errorf("there is %+v", state.Channels[0].Messages)
	})
	// The worker has the port of the sandbox's, which the page can kill.
	s.post(page+"mind/worker", map[string]string{"do": "kill"})
	worker := s.start(project.Services["worker"])
	s.healthy(project.Services["worker"])
	for _, c := range []container{worker, sandbox, starter} {
		c.stop()
	}

	if project, err = compose(t, read(t, "docker-compose.yml"), accounts); err != nil {
		t.Fatal(err)
	}
	if said := s.start(project.Services["sandbox"]).wait(); !strings.Contains(said, "a real Slack workspace") {
		t.Errorf("with a workspace the sandbox says %q", said)
	}
	starter = s.start(project.Services["starter"])
	s.await("the starter with a workspace, which lacks only Slack", func() error {
		said, err := s.command(project.Services["starter"], project.Services["starter"].HealthCheck.Test[1:]...).CombinedOutput()
		if lacks := strings.Split(strings.TrimSpace(string(said)), "\n"); err != nil && len(lacks) == 2 && strings.Contains(lacks[1], "slack.com") {
			return nil
		}
		return fmt.Errorf("%w: %s", err, said)
	})
	starter.stop()
}

// isolate brings the network namespace up and hides what the services must not share with the host.
func (s stack) isolate() {
	s.t.Helper()
	s.must(exec.Command("ip", "link", "set", "lo", "up").CombinedOutput())
	s.mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE)
	s.mount("tmpfs", "/run", "tmpfs", 0)
	for _, secrets := range []string{"postgres", "temporal", "myao"} {
		s.check(os.MkdirAll("/run/secrets/"+secrets, 0o755))
	}
}

// postgres starts a server at Compose's address that checks passwords, and makes the roles.
func (s stack) postgres(roles string) {
	s.t.Helper()
	hba := filepath.Join("/run", "pg_hba.conf")
	s.check(os.WriteFile(hba, []byte("host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"), 0o644))
	server := testserver.StartPostgres(s.t, "hba_file="+hba)
	u, err := url.Parse(server.URL)
	s.check(err)
	cmd := exec.Command("/bin/sh", "-euc", roles)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PGHOST=127.0.0.1", "PGPORT=" + u.Port()}
	s.must(cmd.CombinedOutput())
	listener, err := net.Listen("tcp", "127.0.0.1:5432")
	s.check(err)
	s.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", u.Host)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
}

// script is a service whose image has a shell; it runs in our own root.
func (s stack) script(service types.ServiceConfig) *exec.Cmd {
	argv := slices.Concat(service.Entrypoint, service.Command)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(environment(service), "PATH="+os.Getenv("PATH"))
	return cmd
}

// command is a command in a container of a service of ours.
func (s stack) command(service types.ServiceConfig, argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = environment(service), "/"
	var uid, gid uint32
	testserver.Must(s.t, testserver.ErrOf(fmt.Sscanf(service.User, "%d:%d", &uid, &gid)))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: filepath.Join(s.dir, "root-"+service.Name), Credential: &syscall.Credential{Uid: uid, Gid: gid}, Pdeathsig: syscall.SIGKILL,
	}
	return cmd
}

func environment(service types.ServiceConfig) (env []string) {
	for name, value := range service.Environment {
		if value != nil {
			env = append(env, name+"="+*value)
		}
	}
	return env
}

// container is a running service.
type container struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *bytes.Buffer
}

// start makes the root of a service, unless there is one, and runs the service in it.
func (s stack) start(service types.ServiceConfig) container {
	s.t.Helper()
	root := filepath.Join(s.dir, "root-"+service.Name)
	entrypoint, programs := "/starter", []string{"starter", "worker"}
	if service.Build.Target == "sandbox" {
		entrypoint, programs = "/sandbox", []string{"sandbox", "worker"}
	}
	if _, err := os.Stat(root); err == nil {
		s.check(syscall.Unmount(root, syscall.MNT_DETACH))
		s.check(os.RemoveAll(root))
	}
	for _, dir := range []string{"dev", "etc", "proc", "tmp", "run/secrets/myao"} {
		s.check(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, program := range programs {
		s.check(os.Link(filepath.Join(s.dir, program), filepath.Join(root, program)))
	}
	const hosts = "127.0.0.1 localhost postgres temporal starter worker sandbox\n"
	s.check(os.WriteFile(filepath.Join(root, "etc", "hosts"), []byte(hosts), 0o644))
	s.mount(root, root, "", syscall.MS_BIND)
	for _, dir := range []string{"dev", "proc"} {
		s.mount("/"+dir, filepath.Join(root, dir), "", syscall.MS_BIND)
	}
	for _, v := range service.Volumes {
		if v.Type == types.VolumeTypeBind {
			text := read(s.t, v.Source[strings.Index(v.Source, "/deploy/compose/"):])
			s.check(os.WriteFile(filepath.Join(root, v.Target), []byte(text), 0o644))
			continue
		}
		s.mount(v.Target, filepath.Join(root, v.Target), "", syscall.MS_BIND)
		s.mount("", filepath.Join(root, v.Target), "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
	}
	if service.ReadOnly {
		s.mount("", root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
	}
	for _, target := range service.Tmpfs {
		path, options, _ := strings.Cut(target, ":")
		s.check(syscall.Mount("tmpfs", filepath.Join(root, path), "tmpfs", 0, options))
	}
	if len(service.Entrypoint) > 0 {
		entrypoint = service.Entrypoint[0]
	}
	c := container{s.t, s.command(service, append([]string{entrypoint}, service.Command...)...), &bytes.Buffer{}}
	c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
	s.check(c.cmd.Start())
	s.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%s said: %s", service.Name, c.said)
		}
	})
	return c
}

// wait returns what the service said until its end, which must be a success.
func (c container) wait() string {
	c.t.Helper()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("%s ended with %v", c.cmd.Path, err)
	}
	return c.said.String()
}

func (c container) stop() {
	c.t.Helper()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	c.wait()
}

// healthy waits for the service's health check to succeed.
func (s stack) healthy(service types.ServiceConfig) {
	s.t.Helper()
	s.await(service.Name, func() error {
		said, err := s.command(service, service.HealthCheck.Test[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	})
}

func (s stack) await(what string, done func() error) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for err := done(); err != nil; err = done() {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s: %v", what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (s stack) get(address string, into any) {
	s.t.Helper()
	resp, err := http.Get(address)
	s.check(err)
	defer func() { _ = resp.Body.Close() }()
	s.check(json.NewDecoder(resp.Body).Decode(into))
}

func (s stack) post(address string, body any) {
	s.t.Helper()
	raw, err := json.Marshal(body)
	s.check(err)
	resp, err := http.Post(address, "application/json", bytes.NewReader(raw))
	s.check(err)
	defer func() { _ = resp.Body.Close() }()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusNoContent {
		s.t.Fatalf("%s %s: %s: %s", address, raw, resp.Status, said)
	}
}

func (s stack) mount(source, target, kind string, flags uintptr) {
	s.t.Helper()
	s.check(syscall.Mount(source, target, kind, flags, ""))
}

func (s stack) must(said []byte, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%v: %s", err, said)
	}
}

func (s stack) check(err error) {
	s.t.Helper()
	testserver.Must(s.t, err)
}
