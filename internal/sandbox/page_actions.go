package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// pageRequest is what the page asks to be done; each action reads its part.
type pageRequest struct {
	Channel   string `json:"channel"`
	User      string `json:"user"`
	Text      string `json:"text"`
	TS        string `json:"ts"`
	Thread    string `json:"thread"`
	Broadcast bool   `json:"broadcast"`
	File      string `json:"file"`
	Name      string `json:"name"`
	On        bool   `json:"on"`
}

// takesJSON refuses writes that are anything but JSON: a foreign page cannot send that
// without asking first, and nobody here says yes.
func takesJSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			http.Error(rw, "want application/json", http.StatusUnsupportedMediaType)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// action decodes a request, and does what it asks for.
func action(do func(pageRequest) error) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in pageRequest
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20)).Decode(&in); err != nil {
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
	if err := w.mayWrite(in.Channel, in.User); err != nil {
		return err
	}
	text, me := strings.CutPrefix(in.Text, "/me ")
	if !me && strings.HasPrefix(in.Text, "/") {
		if err := w.mayCommand(in); err != nil {
			return err
		}
		go w.Command(in.Channel, in.User, w.Encode(in.Text)) // the answer is shown when it comes
		return nil
	}
	if strings.TrimSpace(text) == "" && in.File == "" {
		return apiError("no_text")
	}
	var opts []SayOption
	if in.Thread != "" {
		opts = append(opts, InThread(in.Thread))
		if in.Broadcast {
			opts = append(opts, Broadcast())
		}
	}
	if me {
		opts = append(opts, Me())
	}
	if in.File != "" {
		opts = append(opts, WithFile(in.File, mediaType(in.File)))
	}
	w.Say(in.Channel, in.User, w.Encode(text), opts...)
	return nil
}

// mayCommand refuses what Slack refuses before any app hears of it: commands that no app has,
// and those typed in a thread.
func (w *Workspace) mayCommand(in pageRequest) error {
	name, _, _ := strings.Cut(strings.TrimSpace(in.Text), " ")
	switch {
	case name != "/"+w.bot.Name:
		return fmt.Errorf("%s is no command here; /%s and /me are", name, w.bot.Name)
	case in.Thread != "":
		return fmt.Errorf("%s does not work in a thread, as no command does in Slack; use it in the channel", name)
	}
	return nil
}

func (w *Workspace) pageEdit(in pageRequest) error {
	if err := w.mayChange(in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Text) == "" {
		return apiError("no_text")
	}
	w.Edit(in.Channel, in.TS, w.Encode(in.Text))
	return nil
}

func (w *Workspace) pageDelete(in pageRequest) error {
	if err := w.mayChange(in); err != nil {
		return err
	}
	w.Delete(in.Channel, in.TS)
	return nil
}

// pageReact adds a reaction, or takes back one's own.
func (w *Workspace) pageReact(in pageRequest) error {
	if err := w.mayWrite(in.Channel, in.User); err != nil {
		return err
	}
	err := w.react(in.Channel, in.TS, in.User, in.Name, true)
	if err == apiError("already_reacted") {
		err = w.react(in.Channel, in.TS, in.User, in.Name, false)
	}
	return err
}

// mayWrite reports whether a person, and not the bot, may write there.
func (w *Workspace) mayWrite(channel, user string) error {
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

func (w *Workspace) mayChange(in pageRequest) error {
	if err := w.mayWrite(in.Channel, in.User); err != nil {
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

var typed = regexp.MustCompile(`https?://[^\s<>]+|@[\pL\pN._-]+|#[\pL\pN_-]+`)

// Encode turns what a person types into what Slack sends: the three characters
// escaped, names of people and channels as ids, addresses in brackets
// (docs.slack.dev/messaging/formatting-message-text).
func (w *Workspace) Encode(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return typed.ReplaceAllStringFunc(escape.Replace(text), func(word string) string {
		name := strings.TrimRight(word[1:], ".-_")
		rest := word[1+len(name):]
		switch word[0] {
		case 'h':
			return link(word)
		case '#':
			if c := w.channel(name); c != nil && c.Name == name {
				return "<#" + c.ID + "|" + c.Name + ">" + rest
			}
		case '@':
			called := User{}
			for _, u := range w.users {
				if calls(name, u.Name) && len(u.Name) > len(called.Name) {
					called = *u
				}
			}
			if called.ID != "" {
				return "<@" + called.ID + ">" + word[1+len(called.Name):]
			}
		}
		return word
	})
}

// calls reports whether a word is a name, or begins with it and goes on in Japanese, which
// has no spaces, as @myaoさん does.
func calls(word, name string) bool {
	if len(word) < len(name) || !strings.EqualFold(word[:len(name)], name) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(word[len(name):])
	return len(word) == len(name) || unicode.In(next, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// link puts an address in brackets, and leaves outside what only follows it.
func link(word string) string {
	end := len(word)
	for _, stop := range []string{"&lt;", "&gt;", "|"} {
		if i := strings.Index(word, stop); i >= 0 {
			end = min(end, i)
		}
	}
	address := strings.TrimRight(word[:end], ".,;:!?)]\"'*_")
	return "<" + address + ">" + word[len(address):]
}

func mediaType(name string) string {
	switch strings.ToLower(name[strings.LastIndex(name, ".")+1:]) {
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "mp4":
		return "video/mp4"
	case "pdf":
		return "application/pdf"
	}
	return "text/plain"
}

// Misbehaviour is a fault that a visitor of the page can switch on and off.
type Misbehaviour struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	On    bool   `json:"on"`
	// It is the one or the other.
	call  *Fault
	event *EventFault
}

// misbehaviour is all that there is. What is out of order is so only next to what is
// not: that one switches itself off.
var misbehaviour = []Misbehaviour{
	{Name: "limited", Title: "Refuse to post: rate limited for 5 s", call: &Fault{Method: "chat.postMessage", Status: http.StatusTooManyRequests, RetryAfter: "5"}},
	{Name: "lost", Title: "Post, but lose the answer", call: &Fault{Method: "chat.postMessage", LoseAnswer: true, AfterEffect: true}},
	{Name: "broken", Title: "Post, but answer 503", call: &Fault{Method: "chat.postMessage", Status: http.StatusServiceUnavailable, AfterEffect: true}},
	{Name: "down", Title: "Refuse to post: answer 503", call: &Fault{Method: "chat.postMessage", Status: http.StatusServiceUnavailable}},
	{Name: "again", Title: "Deliver every event three times", event: &EventFault{RedeliverAfter: []time.Duration{0, 5 * time.Second}}},
	{Name: "order", Title: "Deliver the next event after the one that follows", event: &EventFault{Times: 1, Hold: 1}},
}

func (w *Workspace) pageMisbehave(in pageRequest) error {
	i := slices.IndexFunc(misbehaviour, func(m Misbehaviour) bool { return m.Name == in.Name })
	if i < 0 {
		return apiError("no such misbehaviour")
	}
	w.faults.set(misbehaviour[i], in.On)
	w.hub.send(change{Kind: "faults"})
	return nil
}

// misbehaviour is all that there is, and what of it is on.
func (w *Workspace) misbehaviour() []Misbehaviour {
	all := slices.Clone(misbehaviour)
	for i := range all {
		all[i].On = w.faults.isSet(all[i])
	}
	return all
}

// Misbehaving is the names of what is switched on by the page.
func (w *Workspace) Misbehaving() []string {
	on := []string{}
	for _, m := range w.misbehaviour() {
		if m.On {
			on = append(on, m.Name)
		}
	}
	return on
}
