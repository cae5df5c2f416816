package door

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/slack-go/slack/slackevents"

	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

// Events serves POST manifest.EventsPath: the Events API over HTTP.
func (d *Door) Events() http.Handler {
	return d.verified(func(w http.ResponseWriter, r *http.Request, body []byte) {
		env, err := slack.ParseEnvelope(body)
		if err != nil {
			d.missed("an event was not understood")
			d.refuse(w, r, http.StatusBadRequest, err)
			return
		}
		if env.Type == slackevents.URLVerification {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"challenge": env.Challenge})
			return
		}
		if err := d.receive(r.Context(), env); err != nil {
			d.Logger.ErrorContext(r.Context(), "event not accepted", "event", env.EventID, "error", err)
			http.Error(w, "not stored; send it again", http.StatusServiceUnavailable)
		}
	})
}

// Interactions serves POST manifest.InteractionsPath: shortcuts, buttons and views.
func (d *Door) Interactions() http.Handler {
	return d.verified(func(w http.ResponseWriter, r *http.Request, body []byte) {
		i, err := slack.ParseInteraction(body)
		if err != nil {
			d.refuse(w, r, http.StatusBadRequest, err)
			return
		}
		answer, err := d.interaction(r.Context(), i)
		d.answer(w, r, i.Type, answer, err)
	})
}

// Commands serves POST manifest.CommandsPath: the slash command.
func (d *Door) Commands() http.Handler {
	return d.verified(func(w http.ResponseWriter, r *http.Request, body []byte) {
		c, err := slack.ParseCommand(body)
		if errors.Is(err, slack.ErrCertificateCheck) {
			return // 200 is all that Slack checks
		}
		if err != nil {
			d.refuse(w, r, http.StatusBadRequest, err)
			return
		}
		answer, err := d.command(r.Context(), c)
		d.answer(w, r, c.Type, answer, err)
	})
}

// answer answers a command or an interaction. One that failed Slack does not send again, but it shows the user that
// nothing was done.
func (d *Door) answer(w http.ResponseWriter, r *http.Request, kind string, answer json.RawMessage, err error) {
	switch {
	case err != nil:
		d.Logger.ErrorContext(r.Context(), "request not accepted", "path", r.URL.Path, "type", kind, "error", err)
		http.Error(w, "nothing was done; try again", http.StatusServiceUnavailable)
	case answer != nil:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}
}

// refuse answers at once and closes the connection. Otherwise the server would read the rest of
// the body to find the next request behind it.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, status int, why error) {
	w.Header().Set("Connection", "close")
	d.Metrics.refused(r.URL.Path, status, why)
	d.Logger.WarnContext(r.Context(), "request refused", "path", r.URL.Path, "status", status, "reason", why)
	http.Error(w, why.Error(), status)
}

// refuseUnverified is refuse for a request whose signature was not checked, or is wrong.
func (d *Door) refuseUnverified(w http.ResponseWriter, r *http.Request, status int, why error) {
	if r.URL.Path == manifest.EventsPath && d.refusals.opensGap(why, d.Clock()) {
		d.missed("a request was refused")
	}
	d.refuse(w, r, status, why)
}

// verified passes on only requests that Slack has signed. The cheapest check comes first: headers,
// then size, then signature.
func (d *Door) verified(next func(http.ResponseWriter, *http.Request, []byte)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := d.Clock()
		if err := slack.CheckHeaders(r.Header, d.Clock()); err != nil {
			d.refuseUnverified(w, r, http.StatusUnauthorized, err)
			return
		}
		body, err := d.unverified.readVerified(w, r, func(body []byte) error {
			return slack.Verify(r.Header, body, d.SigningSecret, d.Clock())
		})
		if err != nil {
			d.refuseUnverified(w, r, unreadStatus(w, err), err)
			return
		}
		d.refusals.verified(d.Clock())
		d.traced(w, r, began, func(w http.ResponseWriter, r *http.Request) { next(w, r, body) })
	})
}

// unreadStatus is the status of a request whose body was not read, or is not signed as it must be.
func unreadStatus(w http.ResponseWriter, err error) int {
	switch {
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errEndedEarly):
		return http.StatusBadRequest
	case errors.Is(err, errSlow):
		return http.StatusRequestTimeout
	case errors.Is(err, errCrowded):
		w.Header().Set("Retry-After", "1")
		return http.StatusServiceUnavailable
	}
	return http.StatusUnauthorized
}
