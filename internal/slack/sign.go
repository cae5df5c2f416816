package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// Sign makes the headers by which a door takes a request with this body for one of
// Slack's: for asking our own door how it is.
func Sign(body []byte, secret string, now time.Time) http.Header {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	header := http.Header{}
	header.Set(TimestampHeader, timestamp)
	header.Set(SignatureHeader, signature(timestamp, body, secret))
	return header
}

// signature is the signature of a body and a timestamp.
func signature(timestamp string, body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(version + ":" + timestamp + ":"))
	mac.Write(body)
	return version + "=" + hex.EncodeToString(mac.Sum(nil))
}
