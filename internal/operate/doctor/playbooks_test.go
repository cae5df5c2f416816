package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"myao/internal/config"
	"myao/test/testserver"
)

func TestPlaybooks(t *testing.T) {
	t.Parallel()
	e := &examination{Doctor: Doctor{Config: config.Default()}}
	expect(t, e.playbooks(t.Context()), OK, "none")
	all, own := t.TempDir(), t.TempDir()
	e.Config.PlaybooksDir = all
	e.Config.Workspaces = map[string]config.Workspace{"T0000001": {PlaybooksDir: own}, "T0000002": {}}
	testserver.Must(t, os.WriteFile(filepath.Join(own, "a.md"), []byte("# Deploy\n\nBy hand.\n"), 0o600))
	expect(t, e.playbooks(t.Context()), OK, "0 in "+all+"; 1 in "+own+"; Deploy")
	testserver.Must(t, os.WriteFile(filepath.Join(all, "b.md"), []byte("Deploy\n"), 0o600))
	expect(t, e.playbooks(t.Context()), Warn, "left out: "+all+" b.md has no title")
}
