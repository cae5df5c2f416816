package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestInstallsOnlyThePinnedArchive(t *testing.T) {
	t.Parallel()
	const content = "/*! axe v1.2.3\n * and so on */"
	good, integrity := pack(t, script, content)
	other, otherIntegrity := pack(t, "package/other.js", content)
	for _, c := range []struct {
		name      string
		archive   []byte
		integrity string
		fails     string // empty: it does not
	}{
		{"what was pinned", good, integrity, ""},
		{"another archive", other, integrity, "not what was pinned"},
		{"another hash", good, strings.ToLower(integrity), "not what was pinned"},
		{"an archive without it", other, otherIntegrity, "no " + script},
		{"no archive", nil, integrity, "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if c.archive == nil || r.URL.Path != "/axe-core/-/axe-core-1.2.3.tgz" {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write(c.archive)
			}))
			t.Cleanup(registry.Close)
			file := filepath.Join(t.TempDir(), "bin", "axe.min.js")
			err := install(t.Context(), registry.URL, "1.2.3", c.integrity, file)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, want it to say %q", err, c.fails)
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
					t.Errorf("it left %s", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != content {
				t.Errorf("installed %q, %v", got, err)
			}
			if err := install(t.Context(), registry.URL, "1.2.3", c.integrity, file); err != nil || asked.Load() != 1 {
				t.Errorf("once more: %v, the registry was asked %d times, want once", err, asked.Load())
			}
			if err := install(t.Context(), registry.URL, "1.2.4", c.integrity, file); err == nil {
				t.Error("the installed file passes for another version")
			}
		})
	}
}

// TestNoRegistry runs the command where nothing listens, and where the registry refuses.
func TestNoRegistry(t *testing.T) {
	t.Parallel()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer registry.Close()
	file := filepath.Join(t.TempDir(), "axe.min.js")
	if err := install(t.Context(), registry.URL, "1.2.3", "sha512-", file); err == nil || errors.Is(err, errNoAnswer) {
		t.Errorf("a registry that refuses: %v", err)
	}
	registry.Close()
	if err := install(t.Context(), registry.URL, "1.2.3", "sha512-", file); !errors.Is(err, errNoAnswer) {
		t.Errorf("no registry: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left a file: %v", err)
	}
}

// pack makes an archive of one file, and its hash as npm writes it.
func pack(t *testing.T, name, content string) (archive []byte, integrity string) {
	t.Helper()
	var b bytes.Buffer
	plain := gzip.NewWriter(&b)
	files := tar.NewWriter(plain)
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(b.Bytes())
	return b.Bytes(), "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}
