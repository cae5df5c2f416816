package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"myao/test/startertest"
)

// Each shell completes words by asking the starter in PATH.
func TestShellsComplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(dir, "starter")); err != nil {
		t.Fatal(err)
	}
	// Each prints the completions of the arguments.
	shells := map[string]string{
		"bash": `source <(starter completion bash)
			COMP_WORDS=(starter "$@") COMP_CWORD=$#
			_starter; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh": `compdef() { } ; source <(starter completion zsh)
			_describe() { print -rl -- ${found%%:*} } ; _files() { }
			words=(starter "$@") CURRENT=$#words; _starter; true`,
		"fish": `starter completion fish | source
			complete -C "starter $argv" | string replace -r '\t.*' ''; true`,
	}
	for _, test := range []struct{ words, want string }{
		{"us", "usage"},
		{"memory ro", "rollback"},
		{"--config some.yaml notes ", "forget list"},
		{"eval run --jso", "--json"},
		{"manifest --format ", "json yaml"},
		{"completion ", "bash fish zsh"},
		{"manifest --format=j", "--format=json"},
		{"nothing-like-it-", ""},
	} {
		for shell, script := range shells {
			t.Run(shell+" "+test.words, func(t *testing.T) {
				t.Parallel()
				path, err := exec.LookPath(shell)
				if err != nil {
					t.Skip(err)
				}
				cmd := exec.CommandContext(t.Context(), path, append([]string{"-c", script, shell}, strings.Split(test.words, " ")...)...)
				if shell == "fish" {
					cmd.Args = []string{path, "-c", script, "--", test.words}
				}
				cmd.Dir = t.TempDir() // without files to offer
				cmd.Env = append(os.Environ(), startertest.Variable+"=1", "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				words := strings.Fields(string(out))
				slices.Sort(words)
				if got := strings.Join(words, " "); got != test.want {
					t.Errorf("%q, want %q", got, test.want)
				}
			})
		}
	}
}

// bash takes --flag=value for three words.
func TestBashCompletesAfterAnEqualsSign(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if run(t.Context(), []string{completeWord, "manifest", "--format", "=", "j"}, &out, os.Stderr); out.String() != "json\t\n" {
		t.Errorf("%q", out.String())
	}
}
