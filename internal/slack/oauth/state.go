package oauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// stateTime is how long an installation may take in the browser.
	stateTime = 10 * time.Minute
	// maxSkew is how far the clock of another starter, which made the state, may be ahead.
	maxSkew = time.Minute
	// maxUsed bounds the states that are remembered. When there are more, the oldest are forgotten: then only Slack
	// refuses the second use, since a code serves once.
	maxUsed = 1000
)

// Why a state is refused.
var (
	errMalformed = errors.New("malformed")
	errForeign   = errors.New("made by another server, or for another browser")
	errOld       = errors.New("too old")
	errUsed      = errors.New("used before")
)

const (
	nonceBytes = 16
	macBytes   = sha256.Size
)

// newState returns a state for the browser that has the secret in a cookie: a nonce, the time in seconds, and a
// signature of both and of the secret.
func newState(key, browser string, now time.Time) string {
	state := make([]byte, nonceBytes, nonceBytes+8+macBytes)
	_, _ = rand.Read(state) // never fails
	state = binary.BigEndian.AppendUint64(state, uint64(now.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(state, sign(key, browser, state)...))
}

// checkState returns the nonce of a state, and an error unless we made it for this browser less than ten minutes ago.
func checkState(key, browser, text string, now time.Time) (nonce string, err error) {
	state, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(state) != nonceBytes+8+macBytes {
		return "", errMalformed
	}
	signed, mac := state[:nonceBytes+8], state[nonceBytes+8:]
	nonce = string(signed[:nonceBytes])
	if browser == "" || !hmac.Equal(mac, sign(key, browser, signed)) {
		return nonce, errForeign
	}
	made := time.Unix(int64(binary.BigEndian.Uint64(signed[nonceBytes:])), 0)
	if age := now.Sub(made); age > stateTime || age < -maxSkew {
		return nonce, errOld
	}
	return nonce, nil
}

// sign signs what is made of parts of fixed length, except the last.
func sign(key, browser string, state []byte) []byte {
	derived := hmac.New(sha256.New, []byte(key))
	derived.Write([]byte("state of an installation"))
	mac := hmac.New(sha256.New, derived.Sum(nil))
	mac.Write(state)
	mac.Write([]byte(browser))
	return mac.Sum(nil)
}

// newBrowser returns a secret for a cookie.
func newBrowser() string { return rand.Text() }

// used remembers the states that came back.
type used struct {
	mu     sync.Mutex
	states []usedState // oldest first
}

type usedState struct {
	nonce string
	at    time.Time
}

// first reports whether a state comes back for the first time.
func (u *used) first(nonce string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.states = slices.DeleteFunc(u.states, func(s usedState) bool { return now.Sub(s.at) > stateTime+maxSkew })
	if u.holds(nonce) {
		return false
	}
	u.states = append(u.states[max(0, len(u.states)-maxUsed+1):], usedState{nonce, now})
	return true
}

// has reports whether a state came back before.
func (u *used) has(nonce string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.holds(nonce)
}

func (u *used) holds(nonce string) bool {
	return slices.ContainsFunc(u.states, func(s usedState) bool { return s.nonce == nonce })
}

// cookieName names the cookie with the browser's secret. Over HTTPS no other host can set it
// (developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes).
func cookieName(publicURL string) string {
	if isHTTPS(publicURL) {
		return "__Host-myao_install"
	}
	return "myao_install"
}

func isHTTPS(address string) bool { return strings.HasPrefix(address, "https://") }
