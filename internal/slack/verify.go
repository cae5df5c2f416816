package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a signed request (docs.slack.dev/authentication/verifying-requests-from-slack).
const (
	SignatureHeader = "X-Slack-Signature"
	TimestampHeader = "X-Slack-Request-Timestamp"
)

// MaxSkew is how far a request's timestamp may lie from now, in both directions.
const MaxSkew = 5 * time.Minute

// What can be wrong with a request's signature.
var (
	// ErrUnsigned: a signature header is missing.
	ErrUnsigned = errors.New("slack signature: header missing")
	// ErrStale: the timestamp is unreadable or further than MaxSkew from now.
	ErrStale = errors.New("slack signature: timestamp not within five minutes of now")
	// ErrForged: the signature is malformed, or not that of this body and timestamp.
	ErrForged = errors.New("slack signature: does not match")
	// ErrNoSecret: there is no signing secret to check against; nothing passes.
	ErrNoSecret = errors.New("slack signature: no signing secret configured")
)

// CheckHeaders is the part of Verify that needs no body: both headers are there,
// well formed, and the timestamp is fresh. It lets a door refuse before it reads.
// It returns ErrUnsigned, ErrStale or ErrForged.
func CheckHeaders(header http.Header, now time.Time) error {
	_, _, err := signature(header, now)
	return err
}

// Verify checks Slack's v0 signature of the raw body in constant time. It returns
// the errors of CheckHeaders, or ErrNoSecret. A valid request passes again within
// MaxSkew: whoever acts on it has to tell duplicates apart.
func Verify(header http.Header, body []byte, secret string, now time.Time) error {
	if secret == "" {
		return ErrNoSecret
	}
	timestamp, claimed, err := signature(header, now)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":"))
	mac.Write(body)
	if !hmac.Equal(mac.Sum(nil), claimed) {
		return ErrForged
	}
	return nil
}

// signature is the timestamp as sent and the decoded signature.
func signature(header http.Header, now time.Time) (timestamp string, mac []byte, err error) {
	timestamp = header.Get(TimestampHeader)
	claimed := header.Get(SignatureHeader)
	if timestamp == "" || claimed == "" {
		return "", nil, ErrUnsigned
	}
	// Twelve digits reach past the year 30000 and cannot overflow the difference.
	seconds, err := strconv.ParseUint(timestamp, 10, 63)
	if err != nil || len(timestamp) > 12 {
		return "", nil, ErrStale
	}
	if now.Sub(time.Unix(int64(seconds), 0)).Abs() > MaxSkew {
		return "", nil, ErrStale
	}
	digits, ok := strings.CutPrefix(claimed, "v0=")
	if !ok {
		return "", nil, ErrForged
	}
	mac, err = hex.DecodeString(digits)
	if err != nil || len(mac) != sha256.Size {
		return "", nil, ErrForged
	}
	return timestamp, mac, nil
}
