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
	"time"

	"go.yaml.in/yaml/v3"

	"myao/internal/sandbox"
	"myao/internal/testserver"
)

// nobody is the account that the image runs the programs as.
const nobody = 65532

// TestContainer runs the programs with less than the image gives them: in a directory with
// nothing in it but themselves and a configuration, where they may write nothing, as an
// account without a name, and with an environment of nothing but what is theirs. There is
// no shell, no /tmp, no zoneinfo and no home, and of /proc, which every container has, the
// one link by which Temporal's SDK finds the program to name its build after.
func TestContainer(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root can shut a process into a directory, and only on Linux")
	}
	cage := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(cage, 0o700); err != nil {
		t.Fatal(err)
	}
	// As the Dockerfile does it, but for -trimpath, which would compile everything anew.
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", cage+"/", "myao/worker", "myao/starter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}

	s := start(t, testserver.Postgres(t), zone("Asia/Tokyo"))
	s.worker.stop()
	s.starter.stop()
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(cage, "proc", "self")
	if err := errors.Join(
		os.WriteFile(filepath.Join(cage, "config.yaml"), config, 0o444),
		os.MkdirAll(self, 0o755), os.Symlink("/worker", filepath.Join(self, "exe")), os.Chmod(cage, 0o555),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(cage, 0o755) }) // so that it can be removed
	before := contents(t, cage)

	caged := map[string]*program{}
	for _, name := range []string{"worker", "starter"} {
		p := s.program("caged " + name)
		p.cage(cage, name)
		caged[name] = p
	}
	s.ready()
	ts := s.workspace.Say(s.general, s.alice.ID, s.mention("who are you?"))
	s.await("an answer", 60*time.Second, func() bool {
		return slices.ContainsFunc(s.posts(), func(p sandbox.Post) bool { return p.ThreadTS == ts })
	})

	for name, p := range caged {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "Gid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("%s has not %q:\n%s", name, want, status)
			}
		}
		p.stop()
	}
	if after := contents(t, cage); !slices.Equal(after, before) {
		t.Errorf("there is now\n%q\nand was\n%q", after, before)
	}
}

// zone sets the time zone of the prompts.
func zone(name string) option { return channels("time_zone: " + name) }

// cage starts one of the programs shut into a directory.
func (p *program) cage(dir, name string) {
	p.s.t.Helper()
	p.cmd = exec.Command("/"+name, "--config", "/config.yaml")
	p.cmd.Dir = "/"
	p.cmd.Env = p.s.env
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := p.cmd.Start(); errors.Is(err, syscall.EPERM) {
		p.cmd = nil
		p.s.t.Skip("this root may not shut a process into a directory")
	} else if err != nil {
		p.cmd = nil
		p.s.t.Fatal(err)
	}
	p.done = make(chan error, 1)
	go func(cmd *exec.Cmd, done chan error) { done <- cmd.Wait() }(p.cmd, p.done)
}

// contents tells what is in a directory, and when it last changed.
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
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The image is made of the programs and the certificates, and runs as nobody.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	_, image, found := strings.Cut(readFile(t, "Dockerfile"), "\nFROM scratch\n")
	if !found {
		t.Fatal("the image is not made from scratch")
	}
	for _, line := range strings.Split(image, "\n") {
		instruction, rest, _ := strings.Cut(line, " ")
		switch instruction {
		case "", "#", "EXPOSE", "ENTRYPOINT", "CMD":
		case "USER":
			if rest != fmt.Sprintf("%d:%[1]d", nobody) {
				t.Errorf("it runs as %s", rest)
			}
		case "COPY":
			if !strings.HasPrefix(rest, "--from=build /out/") && !strings.HasPrefix(rest, "--from=build /etc/ssl/certs/ca-certificates.crt ") {
				t.Errorf("it holds %s", rest)
			}
		default:
			t.Errorf("%s", line)
		}
	}
	ignored := strings.Split(readFile(t, ".dockerignore"), "\n")
	for _, secret := range []string{".env", "config.yaml", "data"} {
		if !slices.Contains(ignored, secret) {
			t.Errorf("%s may get into a layer", secret)
		}
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Image, User, Restart, Build string
			ReadOnly                    bool     `yaml:"read_only"`
			CapDrop                     []string `yaml:"cap_drop"`
			CapAdd                      []string `yaml:"cap_add"`
			SecurityOpt                 []string `yaml:"security_opt"`
			Privileged                  bool
			Tmpfs, Ports, Volumes       []string
			Networks                    []string
			Environment                 map[string]string
			DependsOn                   map[string]struct{ Condition string } `yaml:"depends_on"`
		}
		Networks map[string]struct{ Internal bool }
	}
	text := readFile(t, "docker-compose.yml")
	if err := yaml.Unmarshal([]byte(text), &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		ours := name == "starter" || name == "worker"
		if s.Restart == "" || s.Privileged || len(s.CapAdd) > 0 || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s: %+v", name, s)
		}
		if _, tag, _ := strings.Cut(s.Image, ":"); !ours && (tag == "" || tag == "latest") {
			t.Errorf("%s has no pinned image: %s", name, s.Image)
		}
		if name != "postgres" && !slices.Equal(s.CapDrop, []string{"ALL"}) { // Postgres begins as root, and steps down
			t.Errorf("%s keeps capabilities", name)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to everybody: %s", name, port)
			}
		}
		for key, value := range s.Environment {
			if strings.Contains(key, "PASSW") || strings.Contains(key, "PWD") || strings.HasSuffix(key, "_URL") {
				if value != "" && !strings.Contains(value, "PASSWORD:?") {
					t.Errorf("%s: %s stands in the file: %s", name, key, value)
				}
			}
		}
		if ours && (s.User != fmt.Sprintf("%d:%[1]d", nobody) || !s.ReadOnly || len(s.Tmpfs) > 0 ||
			!slices.Equal(s.Volumes, []string{"./config.yaml:/config.yaml:ro"}) ||
			s.DependsOn["postgres"].Condition != "service_healthy" || s.DependsOn["temporal"].Condition != "service_healthy") {
			t.Errorf("%s: %+v", name, s)
		}
		if ours && (s.Environment["POSTGRES_PASSWORD"] != "" || s.Environment["TEMPORAL_DB_PASSWORD"] != "") {
			t.Errorf("%s is given what is not its own", name)
		}
		if (name == "postgres" || name == "temporal") && !slices.Equal(s.Networks, []string{"inside"}) {
			t.Errorf("%s is in %v", name, s.Networks)
		}
	}
	if len(compose.Services) < 5 || !compose.Networks["inside"].Internal {
		t.Errorf("%d services, networks %+v", len(compose.Services), compose.Networks)
	}
}
