// Command temporal installs a pinned version of Temporal's CLI as DIR/temporal, unless PATH or DIR
// has it. It downloads the release, the way Temporal's Go SDK does, and checks the archive against
// a pinned sum. Where that fails it builds the CLI, which takes minutes.
//
//	go run ./scripts/temporal VERSION DIR [OS/ARCH=SHA256 …]
//
// It runs in the root of the repository. TEMPORAL_DOWNLOAD_URL names a mirror of
// https://temporal.download.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: temporal VERSION DIR [OS/ARCH=SHA256 …]")
		os.Exit(2)
	}
	if err := install(ctx, os.Args[1], filepath.Join(os.Args[2], "temporal"), os.Args[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "temporal: %v\n", err)
		os.Exit(1)
	}
}

const (
	module  = "github.com/temporalio/cli"
	command = module + "/cmd/temporal"
	// A server has this long to answer, and then for each partBytes of the content.
	patience  = 10 * time.Second
	partBytes = 256 << 10
	// mostBytes is far above the size of the archive and of the program.
	mostBytes = 1 << 30
)

func install(ctx context.Context, version, program string, sums []string) error {
	if _, err := exec.LookPath("temporal"); err == nil {
		return nil
	}
	if check(ctx, program, version) == nil {
		return nil
	}
	err := download(ctx, version, program, sums)
	if err == nil || ctx.Err() != nil {
		return err
	}
	fmt.Printf("Temporal %s cannot be downloaded: %v.\nIt is built instead. If you do not want to wait, stop this and install it: https://docs.temporal.io/cli\n", version, err)
	build := exec.CommandContext(ctx, "scripts/tool", "temporal", command, version, "five to fifteen minutes")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	return build.Run()
}

// check returns nil if a program is Temporal's CLI of a version. A release prints its version. What
// go install has built has it in its build information only.
func check(ctx context.Context, program, version string) error {
	if info, err := buildinfo.ReadFile(program); err == nil && info.Path == command && info.Main.Version == version {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("run %s --version: %w", program, err)
	}
	if !strings.HasPrefix(string(out), "temporal version "+strings.TrimPrefix(version, "v")+" ") {
		return fmt.Errorf("%s is not version %s; it says %.100q", program, version, out)
	}
	return nil
}

func download(ctx context.Context, version, program string, sums []string) error {
	platform, sum := runtime.GOOS+"/"+runtime.GOARCH, ""
	for _, s := range sums {
		if of, is, _ := strings.Cut(s, "="); of == platform {
			sum = is
		}
	}
	if sum == "" {
		return errors.New("no sum is pinned for " + platform)
	}
	server := strings.TrimRight(cmp.Or(os.Getenv("TEMPORAL_DOWNLOAD_URL"), "https://temporal.download"), "/")
	fmt.Printf("Downloading Temporal %s for %s from %s: once, about 50 MB …\n", version, platform, server)
	began := time.Now()
	answer, err := fetch(ctx, fmt.Sprintf("%s/cli/%s?platform=%s&arch=%s", server, version, runtime.GOOS, runtime.GOARCH))
	if err != nil {
		return err
	}
	var where struct {
		Archive string `json:"archiveUrl"`
		File    string `json:"fileToExtract"`
	}
	if err := json.Unmarshal(answer, &where); err != nil {
		return fmt.Errorf("%s answered with something else: %w", server, err)
	}
	archive, err := fetch(ctx, where.Archive)
	if err != nil {
		return err
	}
	if got := sha256.Sum256(archive); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("%s is not the pinned archive: its sum is %x, want %s", where.Archive, got, sum)
	}
	if err := unpack(ctx, archive, where.File, program, version); err != nil {
		return err
	}
	fmt.Printf("Installed Temporal in %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// fetch returns what a server has at an address. It prints how far it is.
func fetch(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(patience, func() { cancel(fmt.Errorf("%s sends too little within %s", address, patience)) })
	defer slow.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, resp.Status)
	}
	var content bytes.Buffer
	for tenth := int64(1); content.Len() < mostBytes; slow.Reset(patience) {
		_, err := io.CopyN(&content, resp.Body, partBytes)
		if errors.Is(err, io.EOF) {
			if tenth > 1 {
				fmt.Println()
			}
			return content.Bytes(), nil
		}
		if err != nil {
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		for ; resp.ContentLength > 0 && int64(content.Len())*10 >= resp.ContentLength*tenth; tenth++ {
			fmt.Printf(" %d %%", tenth*10)
		}
	}
	return nil, fmt.Errorf("%s does not end", address)
}

// unpack writes one file of an archive as the program, if it is what it should be.
func unpack(ctx context.Context, archive []byte, file, program, version string) error {
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	files := tar.NewReader(io.LimitReader(plain, mostBytes))
	for {
		header, err := files.Next()
		if err != nil {
			return fmt.Errorf("unpack %s: %w", file, err)
		}
		if header.Name == file && header.Typeflag == tar.TypeReg {
			break
		}
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	half, err := os.CreateTemp(filepath.Dir(program), ".temporal-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(half.Name()) }()
	_, err = io.Copy(half, files)
	if err := errors.Join(err, half.Chmod(0o755), half.Close()); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	if err := check(ctx, half.Name(), version); err != nil {
		return err
	}
	return os.Rename(half.Name(), program)
}
