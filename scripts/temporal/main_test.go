package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// server is a stand-in for temporal.download. It gives the archive at /archive.
type server struct {
	content []byte
	// answer replaces the answer that names the archive; archive replaces the archive.
	answer, archive http.HandlerFunc
}

func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/archive" && s.archive != nil:
		s.archive(w, r)
	case r.URL.Path == "/archive":
		_, _ = w.Write(s.content)
	case r.URL.Path != "/cli/v1.2.3" || r.URL.RawQuery != "platform="+runtime.GOOS+"&arch="+runtime.GOARCH:
		http.NotFound(w, r)
	case s.answer != nil:
		s.answer(w, r)
	default:
		say("temporal")(w, r)
	}
}

// say answers with the archive of this server, and the name of the file in it.
func say(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"archiveUrl": "http://%s/archive", "fileToExtract": %q}`, r.Host, file)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const prints = "#!/bin/sh\necho 'temporal version 1.2.3 (Server 1, UI 1)'\n"

// TestInstall runs the command against servers that do what they should, or something else. A
// script that takes go's place tells whether it then builds.
func TestInstall(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "install")
	if out, err := exec.Command("go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	good := pack(t, "LICENSE", "some", "temporal", prints+strings.Repeat("# a release is large\n", 50_000))
	elsewhere := httptest.NewServer(server{content: good})
	t.Cleanup(elsewhere.Close)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/archive", http.StatusFound)
	}
	for _, c := range []struct {
		name   string
		server server
		sum    string // empty: that of the server's archive
		says   string // why it builds; empty: it does not
	}{
		{"serves", server{content: good}, "", ""},
		{"sends elsewhere, to the same", server{content: good, archive: redirect}, "", ""},
		{"sends elsewhere, to something else", server{content: pack(t, "temporal", prints), archive: redirect}, "", "is not the pinned archive"},
		{"fails", server{answer: http.NotFound}, "", "404"},
		{"has no archive", server{archive: http.NotFound}, "", "404"},
		{"hangs", server{answer: hang}, "", "sends too little within 10s"},
		{"breaks off", server{archive: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(good)))
			_, _ = w.Write(good[:len(good)/2])
		}}, "", "unexpected EOF"},
		{"trickles without end", server{archive: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("more"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(100 * time.Millisecond)
			}
		}}, "", "sends too little within 10s"},
		{"answers with a page", server{answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }}, "", "something else"},
		{"names a file of this machine", server{answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"archiveUrl": "file:///etc/passwd"}`))
		}}, "", "unsupported protocol scheme"},
		{"has another archive", server{content: good}, strings.Repeat("0", 64), "is not the pinned archive"},
		{"has an archive that is none", server{content: []byte("temporal")}, "", "unpack"},
		{"has an archive without it", server{content: pack(t, "LICENSE", "some")}, "", "unpack temporal: EOF"},
		{"has a file for another directory", server{content: pack(t, "../temporal", prints), answer: say("../temporal")}, "", ""},
		{"has a link", server{content: pack(t, "temporal", "->/bin/true")}, "", "unpack temporal: EOF"},
		{"has another version", server{content: pack(t, "temporal", "#!/bin/sh\necho 'temporal version 1.2.30 (Server 1)'")}, "", "is not version v1.2.3"},
		{"has no program", server{content: pack(t, "temporal", "\x7fELF of something else")}, "", "exec format error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.server)
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			if c.sum == "" {
				c.sum = fmt.Sprintf("%x", sha256.Sum256(c.server.content))
			}
			root := newRoot(t)
			said := root.install(t, command, s.URL, runtime.GOOS+"/"+runtime.GOARCH+"="+c.sum)
			built, downloaded := root.has(".bin/built"), root.run(".bin/temporal") == "temporal version 1.2.3 (Server 1, UI 1)\n"
			if built != (c.says != "") || downloaded == built || !strings.Contains(said, c.says) {
				t.Errorf("built: %v, downloaded: %v, want it to say %q: %s", built, downloaded, c.says, said)
			}
			if left, _ := filepath.Glob(filepath.Join(root.dir, ".bin", ".*")); len(left) > 0 || root.has("temporal") {
				t.Errorf("it left %s", left)
			}
			if built {
				return
			}
			if said := root.install(t, command, "http://127.0.0.1:1"); said != "" {
				t.Errorf("once more, it is there already: %s", said)
			}
		})
	}
	for name, c := range map[string]struct{ url, sum, says string }{
		"an unknown host":  {"http://temporal.invalid", runtime.GOOS + "/" + runtime.GOARCH + "=0", "temporal.invalid"},
		"a refusing host":  {"http://127.0.0.1:1", runtime.GOOS + "/" + runtime.GOARCH + "=0", "connection refused"},
		"another platform": {elsewhere.URL, "plan9/mips=0", "no sum is pinned for " + runtime.GOOS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			if said := root.install(t, command, c.url, c.sum); !root.has(".bin/built") || !strings.Contains(said, c.says) {
				t.Errorf("it said %s", said)
			}
		})
	}
	t.Run("PATH has it", func(t *testing.T) {
		t.Parallel()
		root := newRoot(t)
		root.write("stubs/temporal", "#!/bin/sh\n")
		if said := root.install(t, command, "http://127.0.0.1:1"); said != "" {
			t.Errorf("it said %s", said)
		}
	})
}

// root is a directory with what the command needs of the repository, and a script for go.
type root struct{ dir string }

func newRoot(t *testing.T) root {
	t.Helper()
	tool, err := os.ReadFile("../tool")
	if err != nil {
		t.Fatal(err)
	}
	r := root{t.TempDir()}
	r.write("scripts/tool", string(tool))
	r.write("stubs/go", "#!/bin/sh\n[ \"$*\" = 'install github.com/temporalio/cli/cmd/temporal@v1.2.3' ] && : >.bin/built && : >\"$GOBIN/temporal\"\n")
	return r
}

// install runs the command and returns what it says.
func (r root) install(t *testing.T, command, url string, sums ...string) string {
	t.Helper()
	cmd := exec.Command(command, append([]string{"v1.2.3", ".bin"}, sums...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "TEMPORAL_DOWNLOAD_URL="+url, "PATH="+filepath.Join(r.dir, "stubs")+":/usr/bin:/bin",
		"HTTP_PROXY=", "http_proxy=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func (r root) write(name, content string) {
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		panic(err)
	}
}

func (r root) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.dir, name))
	return err == nil
}

func (r root) run(name string) string {
	out, _ := exec.Command(filepath.Join(r.dir, name), "--version").Output()
	return string(out)
}

// pack makes an archive of files, given by name and content. A content "->X" makes a link to X.
func pack(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	plain, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	archive := tar.NewWriter(plain)
	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}
		if target, link := strings.CutPrefix(files[i+1], "->"); link {
			header = &tar.Header{Name: files[i], Typeflag: tar.TypeSymlink, Linkname: target}
			files[i+1] = ""
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
