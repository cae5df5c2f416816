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

	"myao/internal/manifest"
	"myao/internal/slack"
)

// signingSecret is what Slack's look like.
var signingSecret = regexp.MustCompile(`^[0-9a-f]{32}$`)

// secret can be no more than looked at: only Slack's own requests prove it.
func (e *examination) secret(context.Context) Finding {
	if !signingSecret.MatchString(string(e.Config.Slack.SigningSecret)) {
		return warn("set slack.signing_secret to the Signing Secret under Basic Information",
			"slack.signing_secret does not look like one of Slack's, which are 32 digits from 0 to f")
	}
	return ok("looks like one of Slack's; whether it is, its first request tells")
}

// base is where the door is, and whether that is what Slack goes by.
func (e *examination) base() (address string, given bool, err error) {
	if e.URL != "" {
		return e.URL, true, nil
	}
	host, port, err := net.SplitHostPort(e.Config.Server.Address)
	if err != nil {
		return "", false, err
	}
	if port == "0" {
		return "", false, errors.New("server.address has the port 0, which is another one at each start")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), false, nil
}

// events makes the handshake that Slack makes with a new events address
// (docs.slack.dev/reference/events/url_verification).
func (e *examination) events(ctx context.Context) Finding {
	base, given, err := e.base()
	if err != nil {
		return skip("%v: with --url the starter is found", err)
	}
	challenge := rand.Text()
	body, err := json.Marshal(map[string]string{"type": "url_verification", "challenge": challenge})
	if err != nil {
		return fail("", "%v", err)
	}
	address := base + manifest.EventsPath
	answer, err := e.post(ctx, address, body, slack.Sign(body, string(e.Config.Slack.SigningSecret), e.Clock()))
	if err != nil {
		return unreachable(base, given, err)
	}
	e.reached = true
	if !strings.Contains(answer.said, challenge) || answer.status != http.StatusOK {
		return answer.wrong(address)
	}
	expires := ""
	if answer.expires != (time.Time{}) {
		const soon = 14 * 24 * time.Hour
		expires = ", with a certificate until " + answer.expires.UTC().Format(time.DateOnly)
		if answer.expires.Sub(e.Clock()) < soon {
			return warn("renew the certificate", "%s answers%s", address, expires)
		}
	}
	if !given {
		return ok("the starter at %s answers; with --url the way that Slack takes is tried", address)
	}
	if strings.HasPrefix(base, "http:") {
		return warn("put HTTPS before the starter", "%s answers, but Slack speaks https alone", address)
	}
	return ok("%s answers%s", address, expires)
}

// unreachable is a door from which no answer came.
func unreachable(base string, given bool, err error) Finding {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return fail("give it a certificate for this name by an authority that everybody knows; Slack takes no other", "%v", certificate)
	case !given && errors.Is(err, syscall.ECONNREFUSED):
		return warn("start the starter, or give the address at which Slack reaches it: --url https://…", "no starter at %s", base)
	}
	return fail("start the starter, and see that what stands before it (DNS, a proxy, a firewall) leads there", "%v", err)
}

// door looks whether what nobody has signed is refused, at all three addresses.
func (e *examination) door(ctx context.Context) Finding {
	if !e.reached {
		return skip("not looked at: see events address")
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
			return fail("hand on all of /slack/ to the starter", "%s leads nowhere (404)", base+path)
		case answer.status/100 == 2:
			return fail("let requests through to the starter as they are, with their headers", "%s takes what nobody has signed (%d)", base+path, answer.status)
		case answer.status != http.StatusUnauthorized:
			return fail("hand on all of /slack/ to the starter", "%s answers %d, and the starter would answer 401", base+path, answer.status)
		}
	}
	return ok("events, shortcuts and commands are refused where nobody has signed them")
}

// answered is what came back from the door.
type answered struct {
	status  int
	said    string
	expires time.Time // the certificate's end; zero without TLS
}

func (e *examination) post(ctx context.Context, address string, body []byte, header http.Header) (answered, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return answered{}, err
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
		return answered{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return answered{}, err
	}
	a := answered{status: resp.StatusCode, said: string(said)}
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		a.expires = resp.TLS.PeerCertificates[0].NotAfter
	}
	return a, nil
}

// wrong is an answer that is not the one that Slack waits for.
func (a answered) wrong(address string) Finding {
	fix := "see that what stands before the starter hands on all of /slack/ to it"
	switch a.status {
	case http.StatusUnauthorized:
		fix = "give the starter there the same slack.signing_secret as here, and both machines the right time"
	case http.StatusServiceUnavailable:
		fix = "see what /readyz of the starter there says"
	case http.StatusNotFound:
		fix += "; a starter in Socket Mode has no such address"
	case http.StatusOK:
		fix = "something else answers there: " + fix
	}
	return fail(fix, "%s answers %d, and not the challenge", address, a.status)
}
