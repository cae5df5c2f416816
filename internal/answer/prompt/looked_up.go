package prompt

// LookedUp is the result of one call of a tool.
type LookedUp struct {
	// Tool and Input are the call, as the model wrote it.
	Tool, Input string
	// Text is what the model is told. Failed is set if that is an error.
	Text   string
	Failed bool
}

// maxInputShown is how many characters of a call's input are shown beside its result.
const maxInputShown = 300

// Material writes a text from elsewhere as material: none of its lines looks like structure of a prompt.
func (r *Renderer) Material(text string) string { return r.guard.text(text) }

// lookedUp are results as a template sees them, within Options.MaxCharacters together.
func (r *Renderer) lookedUp(o Options) []LookedUp {
	all := make([]LookedUp, len(o.LookedUp))
	left := o.MaxCharacters
	for i, l := range o.LookedUp {
		text := r.guard.text(l.Text)
		if o.MaxCharacters > 0 {
			text = shortened(text, left)
			left = max(0, left-len([]rune(text)))
		}
		all[i] = LookedUp{Tool: cleanName(l.Tool), Input: cleanLine(l.Input, maxInputShown), Text: text,
			Failed: l.Failed}
	}
	return all
}

// Acted is a call that people approved, and what came of it.
type Acted struct {
	LookedUp
	// Unknown is set if nobody knows whether it was made.
	Unknown bool
}

// acted is a call as a template sees it.
func (r *Renderer) acted(a Acted, most int) Acted {
	shown := r.lookedUp(Options{LookedUp: []LookedUp{a.LookedUp}, MaxCharacters: most})
	return Acted{shown[0], a.Unknown}
}

// shortened is at most so many characters of a text, and a mark where it ends early.
func shortened(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:max(0, most)]) + " […]"
}
