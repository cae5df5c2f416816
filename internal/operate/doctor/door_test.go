package doctor

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"myao/internal/config"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/test/testserver"
)

// fakeStarter answers as the starter does, or as a proxy before it.
type fakeStarter struct {
	secret string
	// instead, where set, may answer a request itself and return true.
	instead func(w http.ResponseWriter, r *http.Request, signed bool) bool
}

func (d fakeStarter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	err := slack.Verify(r.Header, body, d.secret, time.Now())
	switch {
	case d.instead != nil && d.instead(w, r, err == nil):
	case err != nil:
		http.Error(w, err.Error(), http.StatusUnauthorized)
	default:
		_, _ = w.Write(body) // holds the challenge
	}
}

func TestDoor(t *testing.T) {
	t.Parallel()
	answer := func(status int, signed bool, paths ...string) func(http.ResponseWriter, *http.Request, bool) bool {
		return func(w http.ResponseWriter, r *http.Request, is bool) bool {
			for _, path := range paths {
				if r.URL.Path == "/slack/"+path && is == signed {
					w.WriteHeader(status)
					return true
				}
			}
			return false
		}
	}
	for _, tc := range []struct {
		name   string
		server fakeStarter
		plain  bool // without TLS
		events Status
		says   string
		door   Status
		reason string
	}{
		{"right", fakeStarter{secret: "shh"}, false, OK, "/slack/events answers, with a certificate until", OK, "refused"},
		{"without TLS", fakeStarter{secret: "shh"}, true, Warn, "Slack accepts only https", OK, "refused"},
		{"another secret", fakeStarter{secret: "hush"}, false, Fail, "the same slack.signing_secret", Skip, ""},
		{"not ready", fakeStarter{"shh", answer(503, true, "events")}, false, Fail, "/readyz", Skip, ""},
		{"nothing there", fakeStarter{"shh", answer(404, true, "events")}, false, Fail, "Socket Mode has no such address", Skip, ""},
		{"sent elsewhere", fakeStarter{"shh", answer(302, true, "events")}, false, Fail, "answers 302", Skip, ""},
		{"something else", fakeStarter{"shh", answer(200, true, "events")}, false, Fail, "something else answers there", Skip, ""},
		{"no commands", fakeStarter{"shh", answer(404, false, "commands")}, false, OK, "", Fail, "/slack/commands is not found"},
		{"open to everybody", fakeStarter{"shh", answer(200, false, "interactions")}, false, OK, "", Fail, "/slack/interactions accepts an unsigned request"},
		{"guarded by another", fakeStarter{"shh", answer(403, false, "events")}, false, OK, "", Fail, "answers 403"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(tc.server)
			if tc.plain {
				server.Start()
			} else {
				server.StartTLS()
			}
			defer server.Close()
			c := config.Default()
			c.Slack.SigningSecret = "shh"
			e := &examination{Doctor: Doctor{Config: c, URL: server.URL, Clock: time.Now, HTTP: server.Client().Transport}}
			findings := runChecks(timeout.Extend(t.Context()), []check{{name: "events address", run: e.events}, {name: "door", needs: "events address", run: e.door}})
			expect(t, findings[0], tc.events, tc.says)
			expect(t, findings[1], tc.door, tc.reason)
		})
	}
}

func TestUnreachableStarter(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Slack.SigningSecret = "shh"
	secure := httptest.NewUnstartedServer(fakeStarter{secret: "shh"})
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the client that rejects the certificate
	secure.StartTLS()
	defer secure.Close()
	open := httptest.NewServer(fakeStarter{secret: "shh"})
	defer open.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(open.URL, "http://"))
	testserver.Must(t, err)
	for _, tc := range []struct {
		name, url, address string
		status             Status
		says               string
	}{
		{"an unknown certificate authority", secure.URL, "", Fail, "a certificate for this name"},
		{"nothing listens", "https://127.0.0.1:1", "", Fail, "connection refused"},
		{"nothing listens on this machine", "", "127.0.0.1:1", Warn, "no starter at http://127.0.0.1:1"},
		{"a random port", "", ":0", Skip, "server.address has the port 0"},
		{"all addresses of this machine", "", ":" + port, OK, "the starter at http://127.0.0.1:" + port},
		{"one address of this machine", "", "127.0.0.1:" + port, OK, "the starter at http://127.0.0.1:" + port},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := c
			c.Server.Address = tc.address
			e := &examination{Doctor: Doctor{Config: c, URL: tc.url, Clock: time.Now}}
			f := e.events(t.Context())
			expect(t, f, tc.status, tc.says)
			if door := e.door(t.Context()).Status; (door == Skip) != (f.Status != OK) {
				t.Errorf("the check door is %s", door)
			}
		})
	}
}

func TestExpiringCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(fakeStarter{secret: "shh"})
	defer server.Close()
	c := config.Default()
	c.Slack.SigningSecret = "shh"
	// The clock also dates the signature, so this handler does not verify it.
	now := server.Certificate().NotAfter.Add(-13 * 24 * time.Hour)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	e := &examination{Doctor: Doctor{Config: c, URL: server.URL, Clock: func() time.Time { return now }, HTTP: server.Client().Transport}}
	expect(t, e.events(t.Context()), Warn, "renew the certificate")
}

func TestSigningSecret(t *testing.T) {
	t.Parallel()
	e := &examination{Doctor: Doctor{Config: config.Default()}}
	for secret, want := range map[config.Secret]Status{
		"0123456789abcdef0123456789abcdef": OK, "0123456789ABCDEF0123456789ABCDEF": Warn, "shh": Warn, "xoxb-0123456789abcdef": Warn,
	} {
		e.Config.Slack.SigningSecret = secret
		if f := e.secret(t.Context()); f.Status != want || strings.Contains(f.Message, string(secret)) {
			t.Errorf("%s: %+v, want %s", string(secret), f, want)
		}
	}
}
