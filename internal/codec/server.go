package codec

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"
)

// bodyLimit is the largest request that is read, in bytes: Temporal takes payloads of
// two megabytes, and a page of a history of four.
const bodyLimit = 16 << 20

// Server is what the Web UI and Temporal's CLI show payloads by: POST /decode and
// POST /encode (docs.temporal.io/codec-server). Whoever reaches it can read everything
// that is encrypted; so each of its limits refuses somebody else.
type Server struct {
	Codec *Codec
	// Origins are the pages that may ask from within a browser, each as a browser writes
	// it: http://localhost:8233. What is not a page has no origin, and passes.
	Origins []string
	// Local refuses requests to any host but this machine itself. Without that, a page on
	// the Internet whose name leads to a loopback address would be of the same origin.
	Local bool
	// Token is a bearer token that every request must have; empty: none is asked for.
	Token  string
	Logger *slog.Logger
}

// Handler serves both paths, below any other path.
func (s Server) Handler() http.Handler {
	return s.guard(converter.NewPayloadCodecHTTPHandler(s.Codec))
}

// guard lets a request through that is allowed: cheapest check first.
func (s Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Add("Vary", "Origin")
		if s.Local && !local(r.Host) {
			s.refuse(w, r, http.StatusForbidden, "this is not the host that you asked for")
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if !slices.Contains(s.Origins, origin) {
				s.refuse(w, r, http.StatusForbidden, "this page may not ask: see --origin")
				return
			}
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Allow-Credentials", "true") // which the Web UI can be set to send
			if r.Method == http.MethodOptions {
				header.Set("Access-Control-Allow-Methods", http.MethodPost)
				header.Set("Access-Control-Allow-Headers", "Content-Type, X-Namespace, Authorization, Authorization-Extras")
				header.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		if s.Token != "" && !bearer(r.Header.Get("Authorization"), s.Token) {
			header.Set("WWW-Authenticate", "Bearer")
			s.refuse(w, r, http.StatusUnauthorized, "this needs the bearer token")
			return
		}
		if r.Method != http.MethodPost {
			header.Set("Allow", "POST, OPTIONS")
			s.refuse(w, r, http.StatusMethodNotAllowed, "POST /decode or /encode")
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			s.refuse(w, r, http.StatusRequestEntityTooLarge, "the body is too large")
			return
		case err != nil:
			s.refuse(w, r, http.StatusBadRequest, "the body cannot be read")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func (s Server) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.Logger.Warn("request refused", "status", status, "reason", why, "host", r.Host, "origin", r.Header.Get("Origin"))
	http.Error(w, why, status)
}

// local reports whether the host of a request names this machine by itself.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return IsLoopback(name)
}

// IsLoopback reports whether a host, without a port, is this machine to itself.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// bearer compares in a time that tells nothing of the token, its length included.
func bearer(authorization, token string) bool {
	scheme, given, _ := strings.Cut(authorization, " ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
