package cli

import (
	"context"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints a script with which a shell completes commands, flags and their values.
// The script asks the starter each time, so it stays true when the commands change.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: ${enum}."`
}

//go:embed completion
var completionScripts embed.FS

// Help implements kong's Help.
func (*completionCommand) Help() string {
	return `It needs no configuration. In the file that the shell reads when it starts:

  source <(starter completion bash)     ~/.bashrc
  source <(starter completion zsh)      ~/.zshrc, after compinit
  starter completion fish | source      ~/.config/fish/config.fish

A release has the same scripts in completion/.`
}

func (c *completionCommand) run(_ context.Context, p *program) error {
	script, err := completionScripts.ReadFile("completion/starter." + c.Shell)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(script)
	return err
}

// completeWord is the first argument of the scripts' question. The words of the command line follow,
// up to the cursor.
const completeWord = "__complete"

// complete prints a line for each way to complete the last word: the whole word, a tab, and what it
// means. It prints nothing where a shell may offer files.
func complete(root *kong.Node, words []string, stdout io.Writer) {
	node, pending, current := root, (*kong.Flag)(nil), ""
	for i, word := range words {
		child := childOf(node, word)
		switch {
		case word == "=": // bash takes --flag=value for three words
		case i == len(words)-1:
			current = word
		case pending != nil: // its value
			pending = nil
		case strings.HasPrefix(word, "--"):
			if f := flagOf(node, word); f != nil && !f.IsBool() && !strings.Contains(word, "=") {
				pending = f
			}
		case child != nil:
			node = child
		}
	}
	offer := func(word, help string) {
		if word != "" && strings.HasPrefix(word, current) {
			_, _ = fmt.Fprintf(stdout, "%s\t%s\n", word, help)
		}
	}
	name, _, joined := strings.Cut(current, "=")
	switch f := flagOf(node, current); {
	case pending != nil:
		for _, value := range pending.EnumSlice() {
			offer(value, "")
		}
	case f != nil && joined:
		for _, value := range f.EnumSlice() {
			offer(name+"="+value, "")
		}
	case strings.HasPrefix(current, "-"):
		for _, flags := range node.AllFlags(true) {
			for _, f := range flags {
				offer("--"+f.Name, f.Help)
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				offer(child.Name, child.Help)
			}
		}
		for _, positional := range node.Positional {
			for _, value := range positional.EnumSlice() {
				offer(value, "")
			}
		}
	}
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// flagOf returns the flag of a word such as --name or --name=value, or nil.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	for _, flags := range node.AllFlags(true) {
		for _, f := range flags {
			if f.Name == name {
				return f
			}
		}
	}
	return nil
}
