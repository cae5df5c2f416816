package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"myao/internal/answer/agents"
	"myao/internal/config"
)

// templates renders the operator's templates, those of the judges of shadow too, as every program
// does when it starts. A running program keeps the templates that it started with.
func (e *examination) templates(context.Context) Finding {
	var dirs []string
	check := func(c config.Config) error {
		if c.TemplatesDir == "" || slices.Contains(dirs, c.TemplatesDir) {
			return nil
		}
		dirs = append(dirs, c.TemplatesDir)
		_, err := agents.Prompts(c)
		return err
	}
	errs := []error{check(e.Config)}
	for _, j := range e.Config.Shadow.Judges {
		errs = append(errs, check(e.Config.ShadowPrompts(j)))
	}
	if err := errors.Join(errs...); err != nil {
		return fail("correct the template; no program starts until then", "%v", err)
	}
	if len(dirs) == 0 {
		return ok("the built-in ones")
	}
	return ok("those in %s render", strings.Join(dirs, ", "))
}
