package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// BodyLimit is how many bytes of a provider's answer are read; a longer one is ErrUnavailable.
const BodyLimit = 8 << 20

// Transport is the http.RoundTripper of every provider. It adds the
// credentials, so that no URL and no error of a client library holds them. It
// returns either a success with a complete JSON object of bounded size, or an *Error.
//
// Every other status is an error, so that client libraries neither retry nor
// follow redirects with our key.
type Transport struct {
	// Provider names the adapter in errors.
	Provider string
	// Credentials are set on each request. Errors never hold their values.
	Credentials http.Header
	// Adjust, where set, changes the library's request, except its body.
	Adjust func(*http.Request)
	// RewriteRequest, where set, turns the library's body into the one that is sent. It may do so,
	// because nothing signs a body, and RoundTrip sets the length and GetBody to match. Its error becomes
	// an ErrUnavailable.
	RewriteRequest func(ctx context.Context, body []byte) ([]byte, error)
	// Base sends; nil is http.DefaultTransport.
	Base http.RoundTripper
	// Rewrite, where set, turns the body of a success into the one that the library reads.
	// Its error becomes an ErrUnavailable.
	Rewrite func(ctx context.Context, body []byte) ([]byte, error)
	// Now is the clock for a Retry-After that is a date; nil is time.Now.
	Now func() time.Time
}

// DefaultTransport returns a transport with its own connections. It honours the
// proxy environment and pings idle HTTP/2 connections: call after call would hang
// on a dead connection until TCP gives up.
func DefaultTransport() *http.Transport {
	t := &http.Transport{}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	return t
}

// RoundTrip sends the request once. See Transport for what it returns.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range t.Credentials {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if id, ok := req.Context().Value(clientRequestIDKey{}).(string); ok {
		req.Header.Set(ClientRequestIDHeader, id)
	}
	if t.Adjust != nil {
		t.Adjust(req)
	}
	if err := t.rewriteRequest(req); err != nil {
		return nil, t.Failure(req.Context(), fmt.Errorf("rewrite request: %w", err))
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	res, err := base.RoundTrip(req)
	if err != nil {
		return nil, t.Failure(req.Context(), err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, BodyLimit+1))
	if res.StatusCode < 200 || res.StatusCode > 299 {
		// The status alone shows a refusal, even if its body is incomplete.
		return nil, t.refusal(res, body, t.now())
	}
	if err == nil {
		if e := t.errorInSuccess(res, body, t.now()); e != nil {
			return nil, e
		}
		body, err = t.accept(req.Context(), res.Header, body)
	}
	if err != nil {
		return nil, t.Failure(req.Context(), fmt.Errorf("read answer: %w", err))
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	// Some servers send JSON as text/plain, which libraries refuse to read.
	res.Header.Set("Content-Type", "application/json")
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return res, nil
}

// rewriteRequest replaces the body of req, which is not the caller's request but a copy.
func (t *Transport) rewriteRequest(req *http.Request) error {
	if t.RewriteRequest == nil || req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return err
	}
	if body, err = t.RewriteRequest(req.Context(), body); err != nil {
		return err
	}
	req.ContentLength = int64(len(body))
	// Base asks for the body again when a connection turns out to be dead.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, err = req.GetBody()
	return err
}

func (t *Transport) accept(ctx context.Context, h http.Header, body []byte) ([]byte, error) {
	if len(body) > BodyLimit {
		return nil, fmt.Errorf("more than %d MiB", BodyLimit>>20)
	}
	if body = bytes.TrimSpace(body); !json.Valid(body) || body[0] != '{' {
		media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
		return nil, fmt.Errorf("not a JSON object but %s", cmp.Or(media, "an unknown type"))
	}
	if t.Rewrite == nil {
		return body, nil
	}
	return t.Rewrite(ctx, body)
}

// Failure returns the *Error for an error of a client library: RoundTrip's own
// *Error if there is one, else ErrUnavailable without URL and secrets. errors.Is
// still finds the end of the context.
func (t *Transport) Failure(ctx context.Context, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	e := &Error{Kind: ErrUnavailable, Provider: t.Provider}
	if ended := ctx.Err(); ended != nil {
		e.Err = ended
		return e
	}
	// A *url.Error holds the URL, which may hold an operator's secrets.
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	e.Message = t.redact(err.Error())
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			e.Err = end
		}
	}
	return e
}

// CloseIdleConnections closes Base's idle connections.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) now() time.Time {
	if t.Now != nil {
		return t.Now()
	}
	return time.Now()
}

// secrets returns the credentials' values, and KEY of "Bearer KEY".
func (t *Transport) secrets() []string {
	var all []string
	for _, values := range t.Credentials {
		for _, v := range values {
			if v == "" {
				continue
			}
			all = append(all, v)
			if _, key, ok := strings.Cut(v, " "); ok && key != "" {
				all = append(all, key)
			}
		}
	}
	return all
}
