// Package keepalive keeps one test's server from ending what another test sends.
//
// The end of an httptest.Server closes the idle connections of http.DefaultTransport
// too. To net/http a connection is idle as soon as the head of an answer without a body
// was read: a moment before whoever sent the request is told. A test that runs beside
// then gets "http: CloseIdleConnections called" in place of its answer.
//
// A test that starts servers beside other tests imports the package, or testserver, which
// does.
package keepalive

import "net/http"

// The end of a server finds no method CloseIdleConnections here.
func init() { http.DefaultTransport = struct{ http.RoundTripper }{http.DefaultTransport} }
