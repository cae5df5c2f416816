package workspace

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/runtime/pause"
)

// apiError is one of Slack's error strings. It is answered over HTTP 200 with ok:false
// (docs.slack.dev/apis/web-api/#evaluating-responses).
type apiError string

func (e apiError) Error() string { return string(e) }

type reply map[string]any

// call is a request under way.
type call struct {
	*Workspace
	url.Values
	token string
	host  string
	hide  time.Duration
}

// methods are the supported methods of the Web API. They run with mu held.
var methods = map[string]func(*call) (reply, error){
	"apps.connections.open":                 (*call).openSocket,
	"apps.event.authorizations.list":        (*call).eventAuthorizations,
	"auth.revoke":                           (*call).authRevoke,
	"auth.teams.list":                       (*call).authTeamsList,
	"auth.test":                             (*call).authTest,
	"bots.info":                             (*call).botsInfo,
	"chat.delete":                           (*call).chatDelete,
	"chat.getPermalink":                     (*call).chatGetPermalink,
	"chat.postEphemeral":                    (*call).chatPostEphemeral,
	"chat.postMessage":                      (*call).chatPostMessage,
	"chat.update":                           (*call).chatUpdate,
	"files.info":                            (*call).filesInfo,
	accessMethod:                            (*call).access,
	"conversations.history":                 (*call).conversationsHistory,
	"conversations.info":                    (*call).conversationsInfo,
	"conversations.list":                    (*call).conversationsList,
	"conversations.members":                 (*call).conversationsMembers,
	"conversations.open":                    (*call).conversationsOpen,
	"conversations.replies":                 (*call).conversationsReplies,
	"reactions.add":                         (*call).reactionsAdd,
	"reactions.get":                         (*call).reactionsGet,
	"reactions.remove":                      (*call).reactionsRemove,
	"users.conversations":                   (*call).usersConversations,
	"users.info":                            (*call).usersInfo,
	"users.list":                            (*call).usersList,
	"views.open":                            (*call).viewsOpen,
	"views.publish":                         (*call).viewsPublish,
	"assistant.threads.setStatus":           (*call).setStatus,
	"assistant.threads.setSuggestedPrompts": func(*call) (reply, error) { return reply{}, nil },
}

// serveAPI answers /api/{method}.
func (w *Workspace) serveAPI(rw http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	args, token, err := arguments(r)
	if err != nil {
		write(rw, http.StatusOK, failure(err))
		return
	}
	entry := Call{Method: method, Args: args, At: w.cfg.Clock(), Status: http.StatusOK}
	fault := w.faults.takeCall(entry)
	if fault == nil {
		fault = &Fault{}
	} else {
		entry.Fault = true
	}
	if !fault.AfterEffect && !pause.For(r.Context(), fault.Delay) {
		return
	}
	var answer reply
	if !fault.fails() || fault.AfterEffect {
		c := &call{Workspace: w, Values: args, token: token, host: r.Host, hide: fault.Hide}
		answer = c.do(method)
		if fault.Alter != nil {
			answer = decoded(answer)
			fault.Alter(answer)
		}
	}
	if fault.AfterEffect && !pause.For(r.Context(), fault.Delay) {
		entry.Status = 0
		w.record(entry)
		return
	}
	switch {
	case fault.LoseAnswer:
		entry.Status = 0
		w.record(entry)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	case fault.Garble:
		w.record(entry)
		io.WriteString(rw, `<html><head><title>Slack</title></head><body>Something went wrong`)
		return
	case fault.Error != "":
		answer = failure(apiError(fault.Error))
	case fault.Status == http.StatusTooManyRequests:
		// docs.slack.dev/apis/web-api/rate-limits
		answer = failure(apiError("ratelimited"))
	case fault.Status != 0:
		answer = failure(apiError("internal_error"))
	}
	if fault.Status != 0 {
		entry.Status = fault.Status
	}
	if fault.RetryAfter != "" {
		rw.Header().Set("Retry-After", fault.RetryAfter)
	}
	rw.Header().Set("Date", w.skewed(time.Now()).UTC().Format(http.TimeFormat))
	if w.cfg.Scopes != nil {
		rw.Header().Set("X-OAuth-Scopes", strings.Join(w.cfg.Scopes, ","))
	}
	entry.Error, _ = answer["error"].(string)
	w.record(entry)
	write(rw, entry.Status, answer)
}

// do runs a method if the caller's token allows it.
func (c *call) do(method string) reply {
	run, ok := methods[method]
	if !ok {
		return failure(apiError("unknown_method"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	refusal := c.refuses(c.token)
	_, wide := c.given(c.token)
	switch method {
	case "auth.revoke", "auth.teams.list", "auth.test": // they are about the organisation
		if refusal == notGranted {
			refusal = ""
		}
	case "bots.info", "conversations.list", "users.conversations", "users.list":
		// docs.slack.dev/enterprise/developing-for-enterprise-orgs
		if wide && c.Get("team_id") == "" && (refusal == "" || refusal == notGranted) {
			refusal = "missing_argument"
		}
	case accessMethod:
		refusal = "" // it has the client's secret in place of a token
	case "apps.connections.open", "apps.event.authorizations.list": // app-level tokens only
		switch c.token {
		case "":
		case c.cfg.AppToken:
			refusal = ""
		default:
			refusal = "invalid_auth"
		}
	}
	if refusal != "" {
		return failure(apiError(refusal))
	}
	c.Workspace.host = c.host
	answer, err := run(c)
	if err != nil {
		return failure(err)
	}
	answer["ok"] = true
	return answer
}

func failure(err error) reply { return reply{"ok": false, "error": err.Error()} }

func write(rw http.ResponseWriter, status int, answer reply) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	json.NewEncoder(rw).Encode(answer)
}

// decoded converts an answer to JSON's types, as its reader will see it.
func decoded(answer reply) reply {
	var plain reply
	raw, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		panic("sandbox: encode answer: " + err.Error())
	}
	return plain
}

func (w *Workspace) record(entry Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, entry)
	if most := w.cfg.LogLimit; len(w.calls) > most {
		w.calls = slices.Delete(w.calls, 0, most/2)
	}
	w.notify()
}

// Calls is the log of answered calls, oldest first: of the named methods, or of all.
func (w *Workspace) Calls(methods ...string) []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Call
	for _, c := range w.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			out = append(out, c)
		}
	}
	return out
}

// arguments reads a call's arguments from the query and from a form or a JSON object. The
// token comes from the header or, in a form, from the field "token"
// (docs.slack.dev/apis/web-api/#post-bodies).
func arguments(r *http.Request) (url.Values, string, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, 1<<20)
	args := url.Values{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var object map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&object); err != nil && err != io.EOF {
			return nil, "", apiError("invalid_json")
		}
		for key, raw := range object {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			args.Set(key, text)
		}
		maps.Copy(args, r.URL.Query())
	} else {
		if err := r.ParseMultipartForm(1 << 20); err != nil && err != http.ErrNotMultipart {
			return nil, "", apiError("invalid_form_data")
		}
		maps.Copy(args, r.Form)
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		token = args.Get("token")
	}
	args.Del("token")
	return args, token, nil
}

func (c *call) flag(name string) bool {
	on, _ := strconv.ParseBool(c.Get(name))
	return on
}
