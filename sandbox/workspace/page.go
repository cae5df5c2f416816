package workspace

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"myao/internal/chat"
)

//go:embed page
var assets embed.FS

// policy lets the page load only its own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// routePage serves the page and its API, to this machine only.
func (w *Workspace) routePage(mux *http.ServeMux) {
	files, err := fs.Sub(assets, "page")
	if err != nil {
		panic(err) // the embedded folder has another name
	}
	index, err := fs.ReadFile(files, "index.html")
	if err != nil {
		panic(err)
	}
	static := http.FileServerFS(files)
	mux.Handle("/", requireLocal(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", policy)
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		rw.Header().Set("Referrer-Policy", "no-referrer")
		rw.Header().Set("Cache-Control", "no-cache")
		if r.URL.Path != "/" {
			static.ServeHTTP(rw, r)
			return
		}
		// Embed the state as inert data, so that the first paint is complete. Marshal escapes
		// <, > and &, so nothing in it can end the element.
		state, err := w.state()
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Write(bytes.Replace(index, []byte("{{state}}"), state, 1))
	})))
	mux.Handle("GET /sandbox/state", requireLocal(http.HandlerFunc(w.pageState)))
	mux.Handle("GET /sandbox/changes", requireLocal(http.HandlerFunc(w.pageChanges)))
	mux.Handle("GET /sandbox/file", requireLocal(http.HandlerFunc(w.pageFile)))
	for name, do := range map[string]func(pageRequest) error{
		"say": w.pageSay, "edit": w.pageEdit, "delete": w.pageDelete, "react": w.pageReact, "click": w.pageClick,
		"submit": w.pageSubmit, "misbehave": w.pageMisbehave, "home": w.pageHome, "homeclick": w.pageHomeClick,
		"uninstall": w.pageUninstall,
	} {
		mux.Handle("POST /sandbox/"+name, requireLocal(requireJSON(action(do))))
	}
	if w.cfg.Mind != nil {
		mind := requireLocal(requireJSON(w.cfg.Mind))
		mux.Handle("/sandbox/mind", mind)
		mux.Handle("/sandbox/mind/", mind)
	}
}

// requireLocal refuses requests that do not come from this machine's own pages: those with
// a Host that is not a loopback address (DNS rebinding), and writes with another site's Origin.
func requireLocal(next http.Handler) http.Handler { return requireHost("", next) }

// requireHost is requireLocal, but also lets requests to a host name pass, unless it is empty.
func requireHost(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		origin, host := r.Header.Get("Origin"), hostname(r.Host)
		if !loopback(host) && (name == "" || host != name) || r.Method != http.MethodGet && origin != "" &&
			origin != "http://"+r.Host {
			http.Error(rw, "the sandbox answers only pages of this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// hostname is a Host without its port.
func hostname(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name
}

func loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// workspacePage is the page of a workspace.
type workspacePage struct {
	Team string `json:"team"`
	Name string `json:"name"`
	Path string `json:"path"`
}

type pageChannel struct {
	ID       string     `json:"id"`
	Kind     Kind       `json:"kind"`
	Name     string     `json:"name"`
	Members  []string   `json:"members"`
	Workflow string     `json:"workflow,omitempty"`
	Messages []*Message `json:"messages"`
}

// maxShown limits how many of a channel's messages the page loads.
const maxShown = 500

func (w *Workspace) pageState(rw http.ResponseWriter, _ *http.Request) {
	body, err := w.state()
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Write(body)
}

// toolStatuses are what the bot is doing while a tool runs, by the tool's name.
func toolStatuses() map[string]string {
	statuses := map[string]string{}
	for _, t := range chat.Tools {
		statuses[t.Name] = strings.TrimSuffix(strings.TrimPrefix(t.Status, "is "), "…")
	}
	return statuses
}

// state returns everything that the page shows, as JSON.
func (w *Workspace) state() ([]byte, error) {
	faults := w.misbehaviour()
	workspaces, install := []workspacePage{}, ""
	if w.slack != nil {
		workspaces, install = w.slack.pages(), w.slack.cfg.InstallURL
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	state := map[string]any{"team": w.cfg.Team, "name": w.cfg.Name, "workspaces": workspaces,
		"installed": !w.absent(), "install": install, "bot": w.bot, "users": w.users, "hint": w.cfg.Hint,
		"workflows": w.workflows(), "misbehaviour": faults, "statuses": w.shownStatuses(), "homes": w.homes,
		"tools": toolStatuses()}
	var channels []pageChannel
	for _, c := range w.channels {
		p := pageChannel{ID: c.ID, Kind: c.Kind, Name: c.Name, Members: c.Members, Messages: []*Message{}}
		if w.botIn(c) {
			p.Workflow = w.workflow(chat.Conversation{Team: w.cfg.Team, Channel: c.ID})
		}
		for _, m := range c.messages[max(0, len(c.messages)-maxShown):] {
			p.Messages = append(p.Messages, m.clone())
		}
		channels = append(channels, p)
	}
	state["channels"] = channels
	return json.Marshal(state)
}

// workflows is the prefix of a link to a workflow; the page appends the escaped workflow id.
func (w *Workspace) workflows() string {
	if w.cfg.TemporalUI == "" {
		return ""
	}
	return strings.TrimRight(w.cfg.TemporalUI, "/") + "/namespaces/" + cmp.Or(w.cfg.Namespace, "default") +
		"/workflows/"
}

func (w *Workspace) workflow(c chat.Conversation) string {
	if w.cfg.TemporalUI == "" {
		return ""
	}
	return w.workflows() + url.PathEscape(c.ID())
}

// pageChanges streams changes as server-sent events until the page is closed.
func (w *Workspace) pageChanges(rw http.ResponseWriter, r *http.Request) {
	changes, cancel := w.hub.subscribe()
	defer cancel()
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(rw)
	fmt.Fprint(rw, "retry: 1000\n\n")
	alive := time.NewTicker(15 * time.Second)
	defer alive.Stop()
	for out.Flush() == nil {
		select {
		case c, open := <-changes:
			if !open {
				return
			}
			body, err := json.Marshal(c)
			if err != nil {
				return
			}
			fmt.Fprintf(rw, "data: %s\n\n", body)
		case <-alive.C:
			fmt.Fprint(rw, ": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}
