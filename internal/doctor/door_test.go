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
	"myao/internal/slack"
)

// doorway answers as the starter's door does, or as what stands before it.
type doorway struct {
	secret string
	// instead answers some requests in another way.
	instead func(w http.ResponseWriter, r *http.Request, signed bool) bool
}

func (d doorway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		door   doorway
		plain  bool // without TLS
		events Status
		says   string
		door2  Status
		also   string
	}{
		{"right", doorway{secret: "shh"}, false, OK, "/slack/events answers, with a certificate until", OK, "refused"},
		{"without TLS", doorway{secret: "shh"}, true, Warn, "Slack speaks https alone", OK, "refused"},
		{"another secret", doorway{secret: "hush"}, false, Fail, "the same slack.signing_secret", Skip, ""},
		{"not ready", doorway{"shh", answer(503, true, "events")}, false, Fail, "/readyz", Skip, ""},
		{"nothing there", doorway{"shh", answer(404, true, "events")}, false, Fail, "Socket Mode has no such address", Skip, ""},
		{"sent elsewhere", doorway{"shh", answer(302, true, "events")}, false, Fail, "answers 302", Skip, ""},
		{"something else", doorway{"shh", answer(200, true, "events")}, false, Fail, "something else answers there", Skip, ""},
		{"no commands", doorway{"shh", answer(404, false, "commands")}, false, OK, "", Fail, "/slack/commands leads nowhere"},
		{"open to everybody", doorway{"shh", answer(200, false, "interactions")}, false, OK, "", Fail, "/slack/interactions takes what nobody has signed"},
		{"guarded by another", doorway{"shh", answer(403, false, "events")}, false, OK, "", Fail, "answers 403"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(tc.door)
			if tc.plain {
				server.Start()
			} else {
				server.StartTLS()
			}
			defer server.Close()
			c := config.Default()
			c.Slack.SigningSecret = "shh"
			e := &examination{Doctor: Doctor{Config: c, URL: server.URL, Clock: time.Now, HTTP: server.Client().Transport}}
			findings := runChecks(t.Context(), []check{{name: "events address", run: e.events}, {name: "door", needs: "events address", run: e.door}})
			expect(t, findings[0], tc.events, tc.says)
			expect(t, findings[1], tc.door2, tc.also)
		})
	}
}

func TestDoorOutOfReach(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Slack.SigningSecret = "shh"
	secure := httptest.NewUnstartedServer(doorway{secret: "shh"})
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of those who do not trust it
	secure.StartTLS()
	defer secure.Close()
	open := httptest.NewServer(doorway{secret: "shh"})
	defer open.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(open.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, url, address string
		status             Status
		says               string
	}{
		{"a certificate of nobody's", secure.URL, "", Fail, "a certificate for this name"},
		{"nobody there", "https://127.0.0.1:1", "", Fail, "connection refused"},
		{"nobody on this machine", "", "127.0.0.1:1", Warn, "no starter at http://127.0.0.1:1"},
		{"a port by chance", "", ":0", Skip, "server.address has the port 0"},
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
				t.Errorf("and the door is %s", door)
			}
		})
	}
}

func TestExpiringCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(doorway{secret: "shh"})
	defer server.Close()
	c := config.Default()
	c.Slack.SigningSecret = "shh"
	// The signature goes by the same clock as the certificate: the handler takes ours.
	late := server.Certificate().NotAfter.Add(-13 * 24 * time.Hour)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	e := &examination{Doctor: Doctor{Config: c, URL: server.URL, Clock: func() time.Time { return late }, HTTP: server.Client().Transport}}
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
