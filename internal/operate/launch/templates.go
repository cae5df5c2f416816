package launch

import (
	"errors"

	"myao/internal/answer/agents"
	"myao/internal/answer/prompt"
	"myao/internal/chat"
	"myao/internal/config"
)

// checkTemplates is a config.Check for the templates in templates_dir, and for those of the judges of
// shadow. Their faults are reported with all others, before anything is opened.
func checkTemplates(c config.Config) []config.Fault {
	faults := templateFaults(c, "templates_dir")
	for i, j := range c.Shadow.Judges {
		if j.TemplatesDir != "" {
			faults = append(faults, templateFaults(c.ShadowPrompts(j), c.Shadow.Key(i)+".templates_dir")...)
		}
	}
	return faults
}

// templateFaults are those of the templates that a configuration names, whose directory has a key.
func templateFaults(c config.Config, key string) []config.Fault {
	if c.TemplatesDir == "" || c.Language != chat.English && c.Language != chat.Japanese {
		return nil
	}
	_, err := agents.Prompts(c)
	var broken prompt.Faults
	if !errors.As(err, &broken) && err != nil {
		broken = prompt.Faults{err}
	}
	var faults []config.Fault
	for _, err := range broken {
		faults = append(faults, config.Fault{Key: key, Value: c.TemplatesDir, Message: err.Error()})
	}
	return faults
}
