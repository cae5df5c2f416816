package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// pageRequest is the body of the page's writes. Each action reads some of the fields.
type pageRequest struct {
	Channel   string           `json:"channel"`
	User      string           `json:"user"`
	Text      string           `json:"text"`
	TS        string           `json:"ts"`
	Thread    string           `json:"thread"`
	Broadcast bool             `json:"broadcast"`
	Files     []pageAttachment `json:"files"`
	Name      string           `json:"name"`
	Value     string           `json:"value"`
	On        bool             `json:"on"`
	// Values is what was entered in a modal, by block_id and action_id.
	Values map[string]map[string]string `json:"values"`
}

// requireJSON refuses writes that are not JSON. Another site's page cannot send JSON without
// a CORS preflight, which the sandbox never grants.
func requireJSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			http.Error(rw, "the Content-Type must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// action decodes a request and passes it to do.
func action(do func(pageRequest) error) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in pageRequest
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxAttached*4/3+1<<20)).Decode(&in); err != nil {
			http.Error(rw, "decode: "+err.Error(), http.StatusBadRequest)
			return
		}
		if err := do(in); err != nil {
			http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		rw.WriteHeader(http.StatusNoContent)
	})
}

func (w *Workspace) pageSay(in pageRequest) error {
	if err := w.checkWriter(in.Channel, in.User); err != nil {
		return err
	}
	text, me := strings.CutPrefix(in.Text, "/me ")
	if !me && strings.HasPrefix(in.Text, "/") {
		if err := w.checkCommand(in); err != nil {
			return err
		}
		go w.Command(in.Channel, in.User, w.Encode(in.Text)) // the page shows the response when it comes
		return nil
	}
	if strings.TrimSpace(text) == "" && len(in.Files) == 0 {
		return apiError("no_text")
	}
	opts, err := pageFiles(in.Files)
	if err != nil {
		return err
	}
	if in.Thread != "" {
		opts = append(opts, InThread(in.Thread))
		if in.Broadcast {
			opts = append(opts, Broadcast())
		}
	}
	if me {
		opts = append(opts, Me())
	}
	w.Say(in.Channel, in.User, w.Encode(text), opts...)
	return nil
}

// checkCommand refuses the commands that Slack itself refuses: unknown ones, and commands
// typed in a thread.
func (w *Workspace) checkCommand(in pageRequest) error {
	name, _, _ := strings.Cut(strings.TrimSpace(in.Text), " ")
	switch {
	case !w.hasApp():
		return fmt.Errorf("%s is not a command here, because the app is not installed", name)
	case name != "/"+w.bot.Name:
		return fmt.Errorf("%s is not a command here; use /%s or /me", name, w.bot.Name)
	case in.Thread != "":
		return fmt.Errorf("no Slack command works in a thread; use %s in the channel", name)
	}
	return nil
}

func (w *Workspace) pageEdit(in pageRequest) error {
	if err := w.checkEdit(in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Text) == "" {
		return apiError("no_text")
	}
	w.Edit(in.Channel, in.TS, w.Encode(in.Text))
	return nil
}

func (w *Workspace) pageDelete(in pageRequest) error {
	if err := w.checkEdit(in); err != nil {
		return err
	}
	w.Delete(in.Channel, in.TS)
	return nil
}

// pageReact toggles the user's reaction.
func (w *Workspace) pageReact(in pageRequest) error {
	if err := w.checkWriter(in.Channel, in.User); err != nil {
		return err
	}
	err := w.react(in.Channel, in.TS, in.User, in.Name, true)
	if err == apiError("already_reacted") {
		err = w.react(in.Channel, in.TS, in.User, in.Name, false)
	}
	return err
}

// pageClick presses a button of a message. The page shows the app's answer, and the message as it changes.
func (w *Workspace) pageClick(in pageRequest) error {
	if err := w.checkWriter(in.Channel, in.User); err != nil {
		return err
	}
	if !w.hasButton(in) {
		return apiError("button_not_found")
	}
	if a := w.Press(in.Channel, in.User, in.TS, in.Name, in.Value); a.Status != http.StatusOK {
		return apiError("click_not_taken")
	}
	return nil
}

// checkWriter returns an error unless the user is a person who may write in the channel.
func (w *Workspace) checkWriter(channel, user string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, u := w.channelByID(channel), w.user(user)
	switch {
	case c == nil:
		return apiError("channel_not_found")
	case u == nil || u.Bot:
		return apiError("user_not_found")
	case c.Archived:
		return apiError("is_archived")
	case !slices.Contains(c.Members, user):
		return apiError("not_in_channel")
	}
	return nil
}

// checkEdit returns an error unless the user may edit or delete the message.
func (w *Workspace) checkEdit(in pageRequest) error {
	if err := w.checkWriter(in.Channel, in.User); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.channelByID(in.Channel).find(in.TS)
	switch {
	case m == nil:
		return apiError("message_not_found")
	case m.User != in.User:
		return apiError("cant_update_message")
	}
	return nil
}
