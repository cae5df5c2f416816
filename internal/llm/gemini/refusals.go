package gemini

import "myao/internal/llm"

// refusals is what a model takes none of, as its refusals have shown.
type refusals struct {
	tools bool
	files llm.Unseen
}

func (m *Model) learnt(model string) refusals {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusals[model]
}

// learn remembers what a model refuses. ok is false if the request cannot be sent in another form.
func (m *Model) learn(model string, known refusals, refused *llm.Error, r llm.Request) (ok bool) {
	next, ok := known.after(refused, r)
	if !ok {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusals[model] = next
	return true
}

func (k refusals) after(refused *llm.Error, r llm.Request) (next refusals, ok bool) {
	if files, ok := k.files.After(refused, r); ok {
		k.files = files
		return k, true
	}
	if len(r.Tools) == 0 || len(r.Turns) > 0 || k.tools || !refused.RefusesTools() {
		return k, false
	}
	k.tools = true
	return k, true
}

// sent is the request as the model takes it, and the names of the files that it lacks. With turns it
// cannot be without tools.
func (k refusals) sent(r llm.Request) (sent llm.Request, unseen []string) {
	if k.tools && len(r.Turns) == 0 {
		r.Tools = nil
	}
	r, gifs := r.LeaveOut(func(f llm.File) string {
		if f.MIME == "image/gif" {
			return "this model sees no GIF"
		}
		return ""
	})
	r, unseen = k.files.LeaveOut(r)
	return r, append(gifs, unseen...)
}
