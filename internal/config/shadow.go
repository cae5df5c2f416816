package config

import (
	"fmt"
	"regexp"
)

// Shadow has other judges judge again what agents.judgment has judged. Nothing is posted because of them.
type Shadow struct {
	// Sample is the share of the judgments that they are shown, 0–1.
	Sample float64 `yaml:"sample"`
	// DailyCalls limits their model calls together per day of TimeZone; 0 is no limit.
	DailyCalls int `yaml:"daily_calls"`
	// Judges are in the order in which they are asked.
	Judges []ShadowJudge `yaml:"judges"`
}

// ShadowJudge is one such judge. It has what it does not set from agents.judgment (Config.ShadowAgent).
type ShadowJudge struct {
	// Name is its name in reports and in the ledger. A new name begins new figures.
	Name     string   `yaml:"name"`
	Provider Provider `yaml:"provider"`
	// Model is the provider's name for the model. Only Gemini has a default.
	Model string `yaml:"model"`
	// TemplatesDir is used in place of Config.TemplatesDir; empty: the same templates.
	TemplatesDir string `yaml:"templates_dir"`
	// MinConfidence is how sure the judge must be for its yes to count, 0–1.
	MinConfidence float64 `yaml:"min_confidence"`
}

// ShadowAgent is a judge's use of a model: that of agents.judgment with another model. Its access and
// temperature are kept only for the same provider.
func (c Config) ShadowAgent(j ShadowJudge) Agent {
	a := c.Agents.Judgment
	a.Fallback = Fallback{} // it would be another judge
	if a.Provider != j.Provider {
		a.APIKey, a.BaseURL, a.Temperature = "", "", nil
	}
	a.Provider, a.Model = j.Provider, j.Model
	return a
}

// ShadowPrompts is the configuration with a judge's templates_dir.
func (c Config) ShadowPrompts(j ShadowJudge) Config {
	if j.TemplatesDir != "" {
		c.TemplatesDir = j.TemplatesDir
	}
	return c
}

// Key is the dotted key of the judge with an index.
func (Shadow) Key(i int) string { return fmt.Sprintf("shadow.judges[%d]", i) }

var judgeName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$`)

func (s Shadow) validate(f *faults) {
	first := map[string]int{}
	for i, j := range s.Judges {
		at := s.Key(i)
		other, twice := first[j.Name]
		switch {
		case !judgeName.MatchString(j.Name):
			f.add(at+".name", j.Name, "must be 1 to 40 letters, digits and any of . _ - between them")
		case twice:
			f.add(at+".name", j.Name, "is also the name of %s", s.Key(other))
		default:
			first[j.Name] = i
		}
	}
}
