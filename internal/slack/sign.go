package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// Sign returns the headers that Verify accepts for a body. Doctor tests our own door with it.
func Sign(body []byte, secret string, now time.Time) http.Header {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	header := http.Header{}
	header.Set(TimestampHeader, timestamp)
	header.Set(SignatureHeader, signature(timestamp, body, secret))
	return header
}

// signature returns Slack's v0 signature of a body and a timestamp.
func signature(timestamp string, body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(version + ":" + timestamp + ":"))
	mac.Write(body)
	return version + "=" + hex.EncodeToString(mac.Sum(nil))
}
