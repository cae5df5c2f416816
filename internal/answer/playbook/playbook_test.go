package playbook

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"myao/test/testserver"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	testserver.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret.md", "# Secret\n\nOutside.\n")
	for name, text := range map[string]string{
		"a.md":         "\ufeff# Deploy  by hand #\r\n\r\nWhen the pipeline\r\nis down.\r\n\r\n1. Log in.\u202e\r\n",
		"b.MD":         "---\nname: x\n---\n\n# 社内Wi-Fi\n> 来客があるとき。\n## 手順\n",
		"c.md":         "# Long\n" + strings.Repeat("あ", MaxWhen+1),
		"d.md":         "# deploy by HAND\n\nAgain.",
		"e.md":         "Deploy\n=====\n\nWhen?",
		"f.md":         "# Deploy to staging\n\n## Steps\n\n1. Log in.",
		"g.md":         "# \n\nWhen?",
		"h.md":         "# " + strings.Repeat("x", MaxTitle+1) + "\n\nWhen?",
		"i.md":         "# Latin\n\nWhen caf\xe9.",
		"j.md":         "# Large\n\n" + strings.Repeat("あ", MaxCharacters),
		".hidden.md":   "# Hidden\n\nWhen?",
		"notes.txt":    "# Notes\n\nWhen?",
		"within/k.md":  "# Within\n\nWhen?",
		"..data/l.txt": "# Linked\n\nWithin the directory.",
	} {
		testserver.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		write(t, dir, name, text)
	}
	testserver.Must(t, os.Symlink(filepath.Join("..data", "l.txt"), filepath.Join(dir, "l.md")))
	testserver.Must(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "m.md")))
	testserver.Must(t, os.Symlink("within", filepath.Join(dir, "n.md")))

	all, faults := Read(dir)
	var got []string
	for _, p := range all {
		got = append(got, p.File+": "+p.Title+": "+p.When)
	}
	for _, f := range faults {
		got = append(got, f.File+" "+f.Reason)
	}
	want := []string{
		"a.md: Deploy by hand: When the pipeline is down.",
		"b.MD: 社内Wi-Fi: 来客があるとき。",
		"c.md: Long: " + strings.Repeat("あ", MaxWhen-1) + "…",
		"l.md: Linked: Within the directory.",
		`d.md has the title of a.md, "deploy by HAND"`,
		`e.md has no title: a line that begins with "# "`,
		"f.md has no line under its title that says when to use it",
		"g.md has an empty title",
		"h.md has a title of 81 characters: it may have 80",
		"i.md is not UTF-8",
		"j.md is too large: it may have 20000 characters",
		"m.md cannot be read, or leads out of the directory: path escapes from parent",
		"n.md is no file",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p, ok := Find(all, " deploy\tBY hand "); !ok || p.Text != "# Deploy  by hand #\n\nWhen the pipeline\nis down.\n\n1. Log in." {
		t.Errorf("found %v, %q", ok, p.Text)
	}
	if _, faults := Read(filepath.Join(dir, "nowhere")); len(faults) != 1 || faults[0].File != "" {
		t.Errorf("no directory: %v", faults)
	}
}

func TestTooManyPlaybooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range MaxPlaybooks + 1 {
		write(t, dir, fmt.Sprintf("%02d.md", i), fmt.Sprintf("# Title %d\n\nWhen?", i))
	}
	if all, faults := Read(dir); len(all) != MaxPlaybooks || len(faults) != 1 || faults[0].File != "50.md" {
		t.Errorf("%d playbooks, %v", len(all), faults)
	}
}

// Files that change are read again, and what is left out is logged once for each state of the files.
func TestDirFollowsItsFiles(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &bytes.Buffer{}
	write(t, dir, "a.md", "# Deploy\n\nBy hand.")
	write(t, dir, "b.md", "No title.")
	d := Open(dir, slog.New(slog.NewTextHandler(log, nil)))
	titles := func() (all []string) {
		for _, p := range d.All() {
			all = append(all, p.Title)
		}
		return all
	}
	if got := fmt.Sprint(titles(), titles()); got != "[Deploy] [Deploy]" || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("%s, and the log\n%s", got, log)
	}
	write(t, dir, "b.md", "# Restart\n\nWhen it hangs.")
	if got := fmt.Sprint(titles()); got != "[Deploy Restart]" {
		t.Errorf("changed: %s", got)
	}
	testserver.Must(t, os.RemoveAll(dir))
	if got := titles(); len(got) > 0 || strings.Count(log.String(), "level=WARN") != 2 {
		t.Errorf("without the directory: %q, and the log\n%s", got, log)
	}
	if none := Open("", nil); none.All() != nil {
		t.Error("no directory has playbooks")
	}
}
