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

// bodyLimit bounds a request, in bytes. Temporal accepts payloads of two megabytes, and a page of
// a history may have four.
const bodyLimit = 16 << 20

// Server decrypts payloads for the Web UI and Temporal's CLI: POST /decode and POST /encode
// (docs.temporal.io/codec-server). A client that it serves can read everything that is
// encrypted; each of its fields keeps another kind of client out.
type Server struct {
	Codec *Codec
	// Origins are the web pages that a browser may call the server from, as in
	// http://localhost:8233. A client that is no browser sends no origin, and passes.
	Origins []string
	// Local refuses requests whose host is not a loopback one. Otherwise a page on the
	// Internet whose name resolves to a loopback address would have the same origin.
	Local bool
	// Token is the bearer token that every request must have; empty: none is needed.
	Token  string
	Logger *slog.Logger
}

// Handler serves both paths, under any prefix.
func (s Server) Handler() http.Handler {
	return s.guard(converter.NewPayloadCodecHTTPHandler(s.Codec))
}

// guard checks a request before next handles it, the cheapest check first.
func (s Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Add("Vary", "Origin")
		if s.Local && !isLocal(r.Host) {
			s.refuse(w, r, http.StatusForbidden, "this server answers requests to localhost only")
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if !slices.Contains(s.Origins, origin) {
				s.refuse(w, r, http.StatusForbidden,
					"this page is not allowed to call the codec server: add its origin with --origin")
				return
			}
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Allow-Credentials", "true") // the Web UI can be set to send them
			if r.Method == http.MethodOptions {
				header.Set("Access-Control-Allow-Methods", http.MethodPost)
				header.Set("Access-Control-Allow-Headers",
					"Content-Type, X-Namespace, Authorization, Authorization-Extras")
				header.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		if s.Token != "" && !hasToken(r.Header.Get("Authorization"), s.Token) {
			header.Set("WWW-Authenticate", "Bearer")
			s.refuse(w, r, http.StatusUnauthorized, "the request needs the bearer token")
			return
		}
		if r.Method != http.MethodPost {
			header.Set("Allow", "POST, OPTIONS")
			s.refuse(w, r, http.StatusMethodNotAllowed, "use POST /decode or POST /encode")
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			s.refuse(w, r, http.StatusRequestEntityTooLarge, "the request body is too large")
			return
		case err != nil:
			s.refuse(w, r, http.StatusBadRequest, "the request body cannot be read")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func (s Server) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	s.Logger.Warn("request refused", "status", status, "reason", reason, "host", r.Host, "origin",
		r.Header.Get("Origin"))
	http.Error(w, reason, status)
}

// isLocal reports whether the host of a request is a loopback one.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return IsLoopback(name)
}

// IsLoopback reports whether a host, without a port, is localhost or a loopback address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// hasToken compares in constant time, so that it reveals nothing of the token or its length.
func hasToken(authorization, token string) bool {
	scheme, given, _ := strings.Cut(authorization, " ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
