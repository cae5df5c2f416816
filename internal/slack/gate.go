package slack

import (
	"net/http"
	"time"
)

// codeNotInstalled is the code of a call that was not made, because Slack no longer takes the token.
const codeNotInstalled = "not_installed"

// CodeExpired is the code of a call whose token has ended, and is to be refreshed.
const CodeExpired = "token_expired"

// CodeNotGranted is the code of a call for a workspace that an organisation does not grant its installation to, or no
// longer does. It may do so again.
const CodeNotGranted = "team_access_not_granted"

// expiredRetry is how long a call waits meanwhile.
const expiredRetry = 3 * time.Second

// revokedRetry is how long a call waits before another try while Slack does not take the token.
const revokedRetry = 30 * time.Second

// Gate knows whether Slack takes the token.
type Gate interface {
	// Closed reports whether Slack no longer takes the token: no call is made then but auth.test.
	Closed() bool
	// Refused says that Slack has just refused the token, and by which code: one that Error.Revoked reports,
	// CodeExpired or CodeNotGranted. It must not block.
	Refused(code string)
}

// Revoked reports whether Slack refused the call, or it was not made, because the app is no longer
// installed or its token was revoked. Such an error is Transient: somebody may install the app again.
func (e *Error) Revoked() bool { return revoked(e.Code) }

// Ended reports whether the token has ended, or was revoked.
func (e *Error) Ended() bool { return e.Revoked() || e.Code == CodeExpired }

func revoked(code string) bool {
	return code == "token_revoked" || code == "account_inactive" || code == codeNotInstalled
}

// NotInstalled is the error for work that waits for a workspace that has not installed the app.
func NotInstalled() error { return notInstalled("oauth.v2.access") }

func notInstalled(method string) *Error {
	return &Error{Method: method, Code: codeNotInstalled, Kind: Transient, RetryAfter: revokedRetry}
}

// gatedTransport makes no call while the gate is closed, and tells the gate when Slack refuses the token.
type gatedTransport struct {
	measuredTransport
	gate Gate // or nil
}

// Do makes the call.
func (t gatedTransport) Do(req *http.Request) (*http.Response, error) {
	method := methodOf(req)
	if t.gate == nil {
		return t.measuredTransport.Do(req)
	}
	if t.gate.Closed() && method != "auth.test" {
		return nil, notInstalled(method)
	}
	resp, err := t.measuredTransport.Do(req)
	if err != nil {
		if e := classify(method, err); e.Ended() || e.Code == CodeNotGranted {
			t.gate.Refused(e.Code)
		}
	}
	return resp, err
}
