package launch

import (
	"errors"

	"myao/internal/config"
	"myao/internal/mind"
	"myao/internal/prompt"
)

// brokenTemplates tries the templates that the configuration puts in place of the built-in
// ones, so that what is wrong with them is told with all else, and before anything is opened.
func brokenTemplates(c config.Config) []config.Fault {
	if c.TemplatesDir == "" || c.Language != config.English && c.Language != config.Japanese {
		return nil
	}
	_, err := mind.Prompts(c)
	var broken prompt.Faults
	if !errors.As(err, &broken) && err != nil {
		broken = prompt.Faults{err}
	}
	var faults []config.Fault
	for _, err := range broken {
		faults = append(faults, config.Fault{Key: "templates_dir", Value: c.TemplatesDir, Message: err.Error()})
	}
	return faults
}
