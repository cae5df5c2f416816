// Command release builds the archives of a release from the last commit, for every platform.
//
//	go run ./scripts/release [-check] [-platform OS/ARCH] DIR
//
// It builds in a clone, so that files without a commit have no part in it. The version is that of
// the commit: its tag, such as v0.1.0, otherwise a pseudo-version. The same commit and the same
// version of Go make the same bytes anywhere. With -check it builds a second time, in another
// directory and without a cache, and compares.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/scripts/platforms"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	check := flag.Bool("check", false, "build a second time, and compare")
	only := flag.String("platform", "", "`OS/ARCH`, to build for this platform alone")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: release [-check] [-platform OS/ARCH] DIR")
		os.Exit(2)
	}
	all := slices.DeleteFunc(slices.Clone(platforms.All), func(p platforms.Platform) bool {
		return *only != "" &&
			*only != p.OS+"/"+p.Arch
	})
	if err := release(ctx, flag.Arg(0), all, *check); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release makes the files of a release in dir.
func release(ctx context.Context, dir string, all []platforms.Platform, check bool) error {
	if len(all) == 0 {
		return errors.New("no such platform is released")
	}
	temp, err := os.MkdirTemp("", "myao-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	revision, err := output(ctx, "", nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	first := builder{revision: revision, src: filepath.Join(temp, "src"), out: dir}
	if err := first.build(ctx, all); err != nil || !check {
		return err
	}
	second := builder{
		revision: revision, src: filepath.Join(temp, "in", "another", "directory"), out: filepath.Join(temp, "second"),
		cache: filepath.Join(temp, "cache"),
	}
	if err := second.build(ctx, all); err != nil {
		return err
	}
	return compare(first.out, second.out)
}

// compare fails for files that differ between two directories. Both have the sums of all.
func compare(one, other string) error {
	a, err := os.ReadFile(filepath.Join(one, sums))
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(other, sums))
	if err != nil {
		return err
	}
	if bytes.Equal(a, b) {
		fmt.Println("Both builds are the same.")
		return nil
	}
	return fmt.Errorf("the builds differ:\n%s\n%s", a, b)
}

// sums is the file with the hash of each other file.
const sums = "SHA256SUMS"

// builder makes a release once.
type builder struct {
	revision string // of the commit
	src, out string // directories: of the clone, and of the release
	cache    string // Go's; empty for the usual one

	committed time.Time
}

func (b *builder) build(ctx context.Context, all []platforms.Platform) error {
	if err := b.clone(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	for _, p := range all {
		fmt.Printf("Building for %s/%s …\n", p.OS, p.Arch)
		started := time.Now()
		if err := b.archive(ctx, p); err != nil {
			return fmt.Errorf("%s/%s: %w", p.OS, p.Arch, err)
		}
		fmt.Printf("Built in %s.\n", time.Since(started).Round(time.Second))
	}
	return b.sum()
}

// clone gets the commit.
func (b *builder) clone(ctx context.Context) error {
	for _, args := range [][]string{{"clone", "--quiet", "--no-checkout", ".", b.src},
		{"-C", b.src, "checkout", "--quiet", "--detach", b.revision}} {
		if _, err := output(ctx, "", nil, "git", args...); err != nil {
			return err
		}
	}
	unix, err := output(ctx, b.src, nil, "git", "show", "--no-patch", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(unix, 10, 64)
	b.committed = time.Unix(seconds, 0).UTC()
	return err
}

// archive builds the programs for a platform, and packs them with what belongs to them.
func (b *builder) archive(ctx context.Context, p platforms.Platform) error {
	built := filepath.Join(filepath.Dir(b.src), "built-"+p.OS+"-"+p.Arch)
	// GOFLAGS replaces what the machine has set there.
	env := append(p.Env(), "GOFLAGS=-trimpath", "GOAMD64=v1", "GOARM64=v8.0")
	if b.cache != "" {
		env = append(env, "GOCACHE="+b.cache)
	}
	args := append([]string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o",
		built + string(filepath.Separator)}, platforms.Programs...)
	if _, err := output(ctx, b.src, env, "go", args...); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(built) }()
	files, err := b.files(built)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(files[0].from)
	if err != nil {
		return err
	}
	name := filepath.Join(b.out, fmt.Sprintf("myao_%s_%s_%s", info.Main.Version, p.OS, p.Arch))
	if err := b.bill(ctx, name+".cdx.json", files); err != nil {
		return err
	}
	return pack(name, p.OS == "windows", files, b.committed)
}

// bill writes the bill of materials of the programs among the files.
func (b *builder) bill(ctx context.Context, to string, files []file) error {
	args := []string{"run", "./scripts/sbom"}
	for _, f := range files {
		if f.program {
			args = append(args, f.from)
		}
	}
	text, err := output(ctx, b.src, nil, "go", args...)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text+"\n"), 0o644)
}

// file is a file of an archive.
type file struct {
	name, from string // a path in the archive, and where it is
	program    bool
}

// files returns the programs and what is passed on with them.
func (b *builder) files(built string) ([]file, error) {
	programs, err := os.ReadDir(built)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, p := range programs {
		files = append(files, file{p.Name(), filepath.Join(built, p.Name()), true})
	}
	for _, f := range []struct{ name, from string }{
		{"LICENSE", "LICENSE"}, {"THIRD_PARTY_NOTICES", "THIRD_PARTY_NOTICES"}, {"README.md", "README.md"},
		{"README.ja.md", "README.ja.md"}, {"CHANGELOG.md", "CHANGELOG.md"},
		{"config.example.yaml", "config.example.yaml"}, {".env.example", ".env.example"},
		{"slack-manifest.yaml", "slack-manifest.yaml"},
		{"completion/starter.bash", "starter/cli/completion/starter.bash"},
		{"completion/_starter", "starter/cli/completion/starter.zsh"},
		{"completion/starter.fish", "starter/cli/completion/starter.fish"},
	} {
		files = append(files, file{f.name, filepath.Join(b.src, filepath.FromSlash(f.from)), false})
	}
	return files, nil
}

// sum writes the hash of each file of the release, as sha256sum -c reads it.
func (b *builder) sum() error {
	entries, err := os.ReadDir(b.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(b.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(b.out, sums), []byte(list.String()), 0o644)
}

// output runs a command in a directory and returns what it prints, without the spaces around it.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
