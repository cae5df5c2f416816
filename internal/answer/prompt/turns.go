package prompt

import (
	"myao/internal/chat"
	"myao/internal/llm"
)

// turned reports whether the messages of a context's target come as chat turns.
func turned(c chat.Context, o Options) bool { return o.ThreadAsTurns && c.TargetThread != "" }

// Turns returns the messages of the thread to answer as chat turns, one a message, where Options.ThreadAsTurns wants
// that: the system text of Response has them not. What others said begins with their names and ids, and what they
// wrote is escaped as in any prompt.
func (r *Renderer) Turns(c chat.Context, o Options) ([]llm.Speech, error) {
	if !turned(c, o) {
		return nil, nil
	}
	_, v := r.fitView(c, o, false)
	var said []llm.Speech
	for _, m := range v.Target.Messages {
		name, data := "messages", any([]messageView{m}) // a gap
		if !m.Gap() {
			if m.own {
				m.speaker, m.Reactions = "", nil // or a model would write such a line itself
			}
			name, data = "said", m
		}
		text, err := r.render(name, data)
		if err != nil {
			return nil, err
		}
		text = m.speaker + text
		if v.Asked != nil && m.ts == o.AnswerTS {
			text += "\n(" + m.At + ")" // by which the user turn names it
		}
		said = append(said, llm.Speech{Own: m.own, Text: text})
	}
	return said, nil
}
