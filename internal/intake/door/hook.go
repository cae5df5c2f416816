package door

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

// HookStore keeps the events of hooks.
type HookStore interface {
	HookChannels(ctx context.Context, ids, names []string) ([]chat.Scope, error)
	SaveHookEvent(ctx context.Context, e store.IncomingEvent, channels []chat.Scope) (fresh bool,
		targets []store.Target, err error)
}

// Hooks is what the door needs for events of other programs than Slack.
type Hooks struct {
	Configured map[string]config.Hook
	Store      HookStore
	Relay      Relay
}

const (
	// repeatedWithin is how long a body counts as a repetition whose sender does not number its deliveries.
	repeatedWithin = time.Hour
	// hookClockSkew is how far a signed time may be from ours.
	hookClockSkew = 5 * time.Minute
)

var (
	errUnknownHook  = errors.New("there is no hook of this name; the configuration's hooks has them")
	errHookUnsigned = errors.New("the signature is missing: X-Hub-Signature-256, Linear-Signature, " +
		"Sentry-Hook-Signature, X-Grafana-Alerting-Signature or X-Signature")
	errHookForged = errors.New("the signature is wrong: it is not the HMAC-SHA256 of the body with the hook's secret")
	errHookStale  = errors.New("the signed time is more than five minutes from ours")
	errNowhere    = errors.New("none of the hook's channels is known yet; send it again")
	errNotStored  = errors.New("not stored; send it again")
)

// signings are the ways in which programs sign: the header of the signature, hexadecimal after a prefix; that of the
// delivery's own id, if it has one; and that of a time that is signed with the body, before a colon.
var signings = []struct{ header, prefix, delivery, timestamp string }{
	{"X-Hub-Signature-256", "sha256=", "X-GitHub-Delivery", ""},
	{"Linear-Signature", "", "Linear-Delivery", ""},
	{"Sentry-Hook-Signature", "", "Request-ID", ""},
	{"X-Grafana-Alerting-Signature", "", "", "X-Grafana-Alerting-Timestamp"},
	{"X-Signature", "", "", ""},
}

// hookSigned reports whether a request has any signature.
func hookSigned(h http.Header) bool {
	for _, s := range signings {
		if h.Get(s.header) != "" {
			return true
		}
	}
	return false
}

// verifyHook checks the signature of a body. It returns the id of the delivery; "" if it has none.
func verifyHook(h http.Header, body []byte, secret string, now time.Time) (delivery string, err error) {
	err = errHookUnsigned
	for _, s := range signings {
		given, ok := h.Get(s.header), false
		if given == "" {
			continue
		}
		err = errHookForged
		if given, ok = strings.CutPrefix(given, s.prefix); !ok {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		at := ""
		if s.timestamp != "" {
			at = h.Get(s.timestamp)
		}
		if at != "" {
			fmt.Fprint(mac, at, ":")
		}
		mac.Write(body)
		signature, decoded := hex.DecodeString(given)
		if decoded != nil || !hmac.Equal(signature, mac.Sum(nil)) {
			continue
		}
		if unix, wrong := strconv.ParseInt(at, 10, 64); at != "" &&
			(wrong != nil || now.Sub(time.Unix(unix, 0)).Abs() > hookClockSkew) {
			return "", errHookStale
		}
		if s.delivery != "" {
			delivery = h.Get(s.delivery)
		}
		return delivery, nil
	}
	return "", err
}

// Hook serves POST config.HooksPath with a name behind it: what another program tells. It answers 200 once the event is
// stored.
func (d *Door) Hook() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, config.HooksPath)
		var hook config.Hook
		ok := false
		if d.Hooks != nil {
			hook, ok = d.Hooks.Configured[name]
		}
		if !ok {
			d.refuse(w, r, http.StatusNotFound, errUnknownHook)
			return
		}
		if !hookSigned(r.Header) {
			d.refuse(w, r, http.StatusUnauthorized, errHookUnsigned)
			return
		}
		delivery := ""
		body, err := d.unverified.readVerified(w, r, func(body []byte) (err error) {
			delivery, err = verifyHook(r.Header, body, string(hook.Secret), d.Clock())
			return err
		})
		if err != nil {
			d.refuse(w, r, unreadStatus(w, err), err)
			return
		}
		ctx, cancel := timeout.After(r.Context(), eventTimeout)
		defer cancel()
		result, err := d.Hooks.receive(ctx, name, hook, delivery, r.Header.Get("Content-Type"), body)
		d.Metrics.hook(name, result)
		if err != nil {
			d.Logger.ErrorContext(ctx, "event of a hook not accepted", "hook", name, "error", err)
			if !errors.Is(err, errNowhere) {
				err = errNotStored
			}
			w.Header().Set("Retry-After", "30")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		d.Logger.InfoContext(ctx, "event of a hook", "hook", name, "result", result)
		_, _ = fmt.Fprintln(w, result)
	})
}

// receive stores an event, and says what became of it.
func (h *Hooks) receive(ctx context.Context, name string, hook config.Hook, delivery, contentType string,
	body []byte) (result string, err error) {
	ids, names := hook.Places()
	channels, err := h.Store.HookChannels(ctx, ids, names)
	if err != nil {
		return "failed", err
	}
	if len(channels) == 0 {
		return "nowhere", errNowhere
	}
	e := store.IncomingEvent{Hook: name, Text: store.Clean(hookText(contentType, body))}
	key := append([]byte("id/"), delivery...)
	if delivery == "" {
		key, e.Within = append([]byte("body/"), body...), repeatedWithin
	}
	sum := sha256.Sum256(key)
	e.Delivery = hex.EncodeToString(sum[:])
	fresh, targets, err := h.Store.SaveHookEvent(ctx, e, channels)
	if err != nil {
		return "failed", err
	}
	h.Relay.Notify(targets...)
	switch {
	case !fresh:
		return "repeated", nil
	case len(targets) > 0:
		return "awaited", nil
	}
	return "stored", nil
}
