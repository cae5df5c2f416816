package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

// signingSecret is the form of Slack's signing secrets.
var signingSecret = regexp.MustCompile(`^[0-9a-f]{32}$`)

// secret checks the form of the signing secret. Only a request from Slack can prove it.
func (e *examination) secret(context.Context) Finding {
	if !signingSecret.MatchString(string(e.Config.Slack.SigningSecret)) {
		return warn("set slack.signing_secret to the Signing Secret under Basic Information",
			"slack.signing_secret does not look like one of Slack's, which have 32 digits from 0 to f")
	}
	return ok("has the form of Slack's; only Slack's first request proves it")
}

// base returns the starter's address. public reports whether it is the one that Slack uses.
func (e *examination) base() (address string, public bool, err error) {
	if e.URL != "" {
		return e.URL, true, nil
	}
	host, port, err := net.SplitHostPort(e.Config.Server.Address)
	if err != nil {
		return "", false, err
	}
	if port == "0" {
		return "", false, errors.New("server.address has the port 0: the port differs at each start")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), false, nil
}

// events makes the handshake with which Slack verifies a new events address
// (docs.slack.dev/reference/events/url_verification).
func (e *examination) events(ctx context.Context) Finding {
	base, public, err := e.base()
	if err != nil {
		return skip("%v; --url names the starter", err)
	}
	challenge := rand.Text()
	body, err := json.Marshal(map[string]string{"type": "url_verification", "challenge": challenge})
	if err != nil {
		return fail("", "%v", err)
	}
	address := base + manifest.EventsPath
	answer, err := e.post(ctx, address, body, slack.Sign(body, string(e.Config.Slack.SigningSecret), e.Clock()))
	if err != nil {
		return unreachable(base, public, err)
	}
	e.reached = true
	if !strings.Contains(answer.body, challenge) || answer.status != http.StatusOK {
		return answer.unexpected(address)
	}
	expires := ""
	if answer.expires != (time.Time{}) {
		const soon = 14 * 24 * time.Hour
		expires = ", with a certificate until " + answer.expires.UTC().Format(time.DateOnly)
		if answer.expires.Sub(e.Clock()) < soon {
			return warn("renew the certificate", "%s answers%s", address, expires)
		}
	}
	if !public {
		return ok("the starter at %s answers; --url checks the address that Slack uses", address)
	}
	if strings.HasPrefix(base, "http:") {
		return warn("put HTTPS before the starter", "%s answers, but Slack accepts only https", address)
	}
	return ok("%s answers%s", address, expires)
}

// unreachable is the finding for a starter that did not answer.
func unreachable(base string, public bool, err error) Finding {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return fail("install a certificate for this name from a public authority; Slack accepts no other", "%v",
			certificate)
	case !public && errors.Is(err, syscall.ECONNREFUSED):
		return warn("start the starter, or give the address at which Slack reaches it: --url https://…",
			"no starter at %s", base)
	}
	return fail("start the starter, and make sure that DNS, proxies and firewalls lead to it", "%v", err)
}

// door checks that the starter refuses unsigned requests at all three addresses.
func (e *examination) door(ctx context.Context) Finding {
	if !e.reached {
		return skip("not checked: see events address")
	}
	base, _, err := e.base()
	if err != nil {
		return skip("%v", err)
	}
	for _, path := range []string{manifest.EventsPath, manifest.InteractionsPath, manifest.CommandsPath} {
		answer, err := e.post(ctx, base+path, []byte("{}"), nil)
		switch {
		case err != nil:
			return fail("try again", "%v", err)
		case answer.status == http.StatusNotFound:
			return fail("forward all of /slack/ to the starter", "%s is not found (404)", base+path)
		case answer.status/100 == 2:
			return fail("forward requests to the starter unchanged, with their headers",
				"%s accepts an unsigned request (%d)", base+path, answer.status)
		case answer.status != http.StatusUnauthorized:
			return fail("forward all of /slack/ to the starter", "%s answers %d, but the starter would answer 401",
				base+path, answer.status)
		}
	}
	return ok("unsigned events, shortcuts and commands are refused")
}

// response is the answer of the starter.
type response struct {
	status  int
	body    string
	expires time.Time // the certificate's end; zero without TLS
}

func (e *examination) post(ctx context.Context, address string, body []byte, header http.Header) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return response{}, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Content-Type", "application/json")
	c := http.Client{
		Transport:     cmp.Or[http.RoundTripper](e.HTTP, http.DefaultTransport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := c.Do(req)
	if err != nil {
		return response{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return response{}, err
	}
	a := response{status: resp.StatusCode, body: string(said)}
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		a.expires = resp.TLS.PeerCertificates[0].NotAfter
	}
	return a, nil
}

// unexpected is the finding for an answer that Slack would not accept.
func (r response) unexpected(address string) Finding {
	fix := "forward all of /slack/ to the starter"
	switch r.status {
	case http.StatusUnauthorized:
		fix = "use the same slack.signing_secret there as here, and synchronise both clocks"
	case http.StatusServiceUnavailable:
		fix = "see /readyz of the starter there"
	case http.StatusNotFound:
		fix += "; a starter in Socket Mode has no such address"
	case http.StatusOK:
		fix = "something else answers there: " + fix
	}
	return fail(fix, "%s answers %d, not with the challenge", address, r.status)
}
