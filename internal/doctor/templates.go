package doctor

import (
	"context"

	"myao/internal/mind"
)

// templates renders the operator's templates, as every program does when it starts. A
// running program keeps the templates that it started with.
func (e *examination) templates(context.Context) Finding {
	dir := e.Config.TemplatesDir
	if dir == "" {
		return ok("the built-in ones")
	}
	if _, err := mind.Prompts(e.Config); err != nil {
		return fail("correct the template; no program starts until then", "%v", err)
	}
	return ok("those in %s render", dir)
}
