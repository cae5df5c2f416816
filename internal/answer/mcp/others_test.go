package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"myao/internal/config"
)

// TestServersOfOthers speaks with the reference servers that npm has. MYAO_TEST_NPM names a directory in
// which they are installed:
//
//	npm install @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
func TestServersOfOthers(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MYAO_TEST_NPM")
	node, err := exec.LookPath("node")
	if dir == "" || err != nil {
		t.Skip("needs Node.js, and MYAO_TEST_NPM as the directory where the servers are installed")
	}
	program := func(name string) string {
		return filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	}
	files := t.TempDir()
	if files, err = filepath.EvalSymlinks(files); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "note.txt"), []byte("the heron is blue"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := setup(t, map[string]config.MCPServer{
		"all":   {Command: node, Args: []string{program("everything")}, Channels: []string{"all"}, Look: []string{"echo", "get-tiny-image", "get-structured-content", "get-resource-links"}},
		"files": {Command: node, Args: []string{program("filesystem"), files}, Channels: []string{"all"}},
	})
	var offered []string
	b.await("the servers", func() bool {
		offered = b.offered()
		return slices.Contains(offered, "echo") && slices.Contains(offered, "read_text_file")
	})
	t.Logf("offered %q", offered)
	if !slices.Contains(offered, "write_file (acts)") {
		t.Errorf("write_file does not act: %q", offered)
	}
	for _, c := range []struct{ name, input, want string }{
		{"all__echo", `{"message":"heron"}`, "heron"},
		{"files__read_text_file", `{"path":"` + filepath.Join(files, "note.txt") + `"}`, "the heron is blue"},
	} {
		if got := b.run(c.name, c.input); got.Failed || !strings.Contains(got.Text, c.want) {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
	if got := b.run("all__get-tiny-image", `{}`); got.Failed || len(got.Files) != 1 {
		t.Errorf("the picture: got %.200s with %d files", got.Text, len(got.Files))
	}
	if got := b.run("files__read_text_file", `{"path":"/etc/passwd"}`); !got.Failed {
		t.Errorf("a file elsewhere: got %+v", got)
	}
	if got := b.run("files__write_file", `{"path":"`+filepath.Join(files, "new.txt")+`","content":"x"}`); !got.Failed {
		t.Errorf("it writes without leave: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(files, "new.txt")); err == nil {
		t.Error("the file is there")
	}
}
