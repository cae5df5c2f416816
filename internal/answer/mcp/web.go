package mcp

import (
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/config"
)

var errTooLong = errors.New("the answer of the server is too long")

// web speaks streamable HTTP to a server. It follows no redirect, because the headers may hold a key.
func web(s config.MCPServer) sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL, MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport:     headers{s},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// headers adds the configured headers to each request, and bounds each answer that is no stream.
type headers struct{ config.MCPServer }

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.Headers {
		r.Header.Set(name, string(value))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &limited{resp.Body, maxMessage}
	}
	return resp, err
}

// limited is a body that fails after some bytes.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
