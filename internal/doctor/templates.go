package doctor

import (
	"context"

	"myao/internal/mind"
)

// templates tries those that the configuration puts in place of the built-in ones. A program
// that is started does, too; one that runs goes on with those that it was started with.
func (e *examination) templates(context.Context) Finding {
	dir := e.Config.TemplatesDir
	if dir == "" {
		return ok("the built-in ones")
	}
	if _, err := mind.Prompts(e.Config); err != nil {
		return fail("fix the template; until then no program can be started", "%v", err)
	}
	return ok("those of %s render", dir)
}
