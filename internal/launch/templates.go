package launch

import (
	"errors"

	"myao/internal/config"
	"myao/internal/mind"
	"myao/internal/prompt"
)

// checkTemplates is a config.Check for the templates in templates_dir. Their faults are reported with
// all others, before anything is opened.
func checkTemplates(c config.Config) []config.Fault {
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
