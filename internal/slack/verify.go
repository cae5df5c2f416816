package slack

import (
	"crypto/hmac"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Headers of a signed request (docs.slack.dev/authentication/verifying-requests-from-slack).
const (
	SignatureHeader = "X-Slack-Signature"
	TimestampHeader = "X-Slack-Request-Timestamp"
)

// MaxSkew is the largest difference between a request's timestamp and the clock, in both directions.
const MaxSkew = 5 * time.Minute

// Errors of Verify.
var (
	// ErrUnsigned: a signature header is missing.
	ErrUnsigned = errors.New("slack signature: header missing")
	// ErrRepeated: a signature header occurs twice. Slack sends one of each; a proxy before us might
	// have checked the other.
	ErrRepeated = errors.New("slack signature: header repeated")
	// ErrStale: the timestamp is malformed, or further than MaxSkew from the clock.
	ErrStale = errors.New("slack signature: timestamp not within five minutes of now")
	// ErrForged: the signature is malformed, or does not match the body and timestamp.
	ErrForged = errors.New("slack signature: does not match")
	// ErrNoSecret: no signing secret is configured; nothing passes.
	ErrNoSecret = errors.New("slack signature: no signing secret configured")
)

// CheckHeaders is the part of Verify that needs no body: both headers are there and well formed, and the
// timestamp is recent. With it a door can refuse before it reads the body. It returns ErrUnsigned,
// ErrRepeated, ErrStale or ErrForged.
func CheckHeaders(header http.Header, now time.Time) error {
	_, _, err := parseHeaders(header, now)
	return err
}

// Verify checks Slack's v0 signature of the raw body in constant time. It returns the errors of
// CheckHeaders, or ErrNoSecret. A valid request passes again within MaxSkew, so its handler must
// recognise duplicates.
func Verify(header http.Header, body []byte, secret string, now time.Time) error {
	if secret == "" {
		return ErrNoSecret
	}
	timestamp, claimed, err := parseHeaders(header, now)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(signature(timestamp, body, secret)), []byte(claimed)) {
		return ErrForged
	}
	return nil
}

// version is the only version of signatures so far.
const version = "v0"

var (
	signaturePattern = regexp.MustCompile(`^` + version + `=[0-9a-f]{64}$`)
	// Twelve digits reach past the year 30000 and cannot overflow the difference.
	timestampPattern = regexp.MustCompile(`^[1-9][0-9]{0,11}$`)
)

// parseHeaders returns the timestamp and the signature as Slack writes them. Any other spelling of the
// same number does not come from Slack.
func parseHeaders(header http.Header, now time.Time) (timestamp, claimed string, err error) {
	timestamps, signatures := header.Values(TimestampHeader), header.Values(SignatureHeader)
	switch {
	case len(timestamps) > 1 || len(signatures) > 1:
		return "", "", ErrRepeated
	case header.Get(TimestampHeader) == "" || header.Get(SignatureHeader) == "":
		return "", "", ErrUnsigned
	}
	timestamp, claimed = timestamps[0], signatures[0]
	if !timestampPattern.MatchString(timestamp) {
		return "", "", ErrStale
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > MaxSkew {
		return "", "", ErrStale
	}
	if !signaturePattern.MatchString(claimed) {
		return "", "", ErrForged
	}
	return timestamp, claimed, nil
}
