package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"myao/internal/config"
	"myao/test/testserver"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	e := &examination{Doctor: Doctor{Config: config.Default()}}
	expect(t, e.templates(t.Context()), OK, "built-in")
	dir := t.TempDir()
	e.Config.TemplatesDir = dir
	expect(t, e.templates(t.Context()), OK, "render")
	testserver.Must(t, os.WriteFile(filepath.Join(dir, "response.tmpl"), []byte("{{.Nobody}}"), 0o600))
	expect(t, e.templates(t.Context()), Fail, "response.tmpl")
	e.Config.TemplatesDir, e.Config.Shadow.Judges = "", []config.ShadowJudge{{Name: "a", TemplatesDir: dir}}
	expect(t, e.templates(t.Context()), Fail, "response.tmpl")
}
