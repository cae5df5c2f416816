// Command axe installs axe-core, an accessibility checker for pages, into a file. It downloads a
// pinned version from npm's registry and checks the archive against a pinned hash. It does
// nothing if the file already holds that version. Where no registry answers, as in a closed
// network, it installs nothing, says so in one line and succeeds.
//
//	go run ./scripts/axe VERSION INTEGRITY FILE
//
// As for npm, NPM_CONFIG_REGISTRY names a registry other than https://registry.npmjs.org.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: axe VERSION INTEGRITY FILE")
		os.Exit(2)
	}
	registry := cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), os.Getenv("npm_config_registry"), "https://registry.npmjs.org")
	err := install(ctx, registry, os.Args[1], os.Args[2], os.Args[3])
	if errors.Is(err, errNoAnswer) && ctx.Err() == nil {
		fmt.Printf("The rules of axe-core %s are skipped: %v\n", os.Args[1], err)
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "axe: %v\n", err)
		os.Exit(1)
	}
}

const (
	script = "package/axe.min.js" // its path in npm's archive
	within = 2 * time.Minute
	// mostBytes is far above the size of the archive, packed or unpacked.
	mostBytes = 64 << 20
)

// errNoAnswer says that nothing answered the request, not even with a refusal.
var errNoAnswer = errors.New("npm's registry does not answer")

func install(ctx context.Context, registry, version, integrity, file string) error {
	// The script's first line has its version, so no stamp file is needed.
	if have, err := os.ReadFile(file); err == nil && bytes.HasPrefix(have, []byte("/*! axe v"+version+"\n")) {
		return nil
	}
	fmt.Printf("Installing axe-core %s into %s: once, some seconds …\n", version, filepath.Dir(file))
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	archive, err := download(ctx, fmt.Sprintf("%s/axe-core/-/axe-core-%s.tgz", strings.TrimRight(registry, "/"),
		version))
	if err != nil {
		return fmt.Errorf("download axe-core: %w", err)
	}
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != integrity {
		return fmt.Errorf("axe-core %s is not what was pinned: its archive has the hash %s, want %s", version, got,
			integrity)
	}
	content, err := unpack(archive)
	if err != nil {
		return fmt.Errorf("unpack axe-core: %w", err)
	}
	if err := write(file, content); err != nil {
		return fmt.Errorf("install axe-core: %w", err)
	}
	return nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, mostBytes))
}

func unpack(archive []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(io.LimitReader(plain, mostBytes)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is no " + script + " in it")
		}
		if err != nil {
			return nil, err
		}
		if header.Name == script {
			return io.ReadAll(files)
		}
	}
}

// write writes the file atomically, because half a file would begin like a whole one.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	half, err := os.CreateTemp(filepath.Dir(file), ".axe-*")
	if err != nil {
		return err
	}
	_, err = half.Write(content)
	err = errors.Join(err, half.Chmod(0o644), half.Close())
	if err == nil {
		err = os.Rename(half.Name(), file)
	}
	if err != nil {
		_ = os.Remove(half.Name())
	}
	return err
}
