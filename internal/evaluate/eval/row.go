package eval

// Row is what became of one case, asked once.
type Row struct {
	Case     string `json:"case"`
	Repeat   int    `json:"repeat"` // from 0
	Cluster  string `json:"cluster"`
	Lang     string `json:"lang"`
	Category string `json:"category"`
	Target   Target `json:"target"`
	// Spoke is whether the bot would have posted, all rules and thresholds applied.
	Spoke bool `json:"spoke"`
	// Rule decided it; empty where the model did.
	Rule string `json:"rule,omitempty"`
	// Verdict is the newest readable one, before any threshold; nil where no model was asked, or
	// none could be read.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Error is why there is no verdict though a model was asked.
	Error string `json:"error,omitempty"`
	// At is when it posted, in seconds; Timing compares that with the window of a played case.
	At     *float64 `json:"at,omitempty"`
	Timing Timing   `json:"timing,omitempty"`
	// LateSeconds is how long after that window it posted.
	LateSeconds float64 `json:"late_seconds,omitempty"`

	Calls        int   `json:"calls"` // of the model, recorded answers included
	TokensIn     int   `json:"tokens_in"`
	TokensCached int   `json:"tokens_cached,omitempty"`
	TokensOut    int   `json:"tokens_out"`
	LatencyMS    int64 `json:"latency_ms"`
	// System and Prompt are what the model was asked last.
	System string `json:"system,omitempty"`
	Prompt string `json:"prompt,omitempty"`
}

// Verdict is a model's.
type Verdict struct {
	ShouldRespond bool    `json:"should_respond"`
	Confidence    float64 `json:"confidence"`
	DelaySeconds  *int    `json:"delay_seconds,omitempty"`
	Reason        string  `json:"reason"`
	Addressee     string  `json:"addressee,omitempty"`
	Gist          string  `json:"gist,omitempty"`
}

// score is the probability that speaking is right, as the verdict has it. The scale of
// confidence begins at a guess, so that 0 is even odds either way.
func (v Verdict) score() float64 {
	if v.ShouldRespond {
		return (1 + v.Confidence) / 2
	}
	return (1 - v.Confidence) / 2
}

// Timing is when a played case was answered, by its window.
type Timing string

// The timings.
const (
	Early  Timing = "early"
	InTime Timing = "in_time"
	Late   Timing = "late"
)
