package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// sign makes Slack's signature as its documentation describes.
func sign(secret string, at time.Time, body string) http.Header {
	timestamp := fmt.Sprint(at.Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", timestamp, body)
	h := http.Header{}
	h.Set(TimestampHeader, timestamp)
	h.Set(SignatureHeader, "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

// The worked example of docs.slack.dev/authentication/verifying-requests-from-slack.
func TestVerifyDocumentedExample(t *testing.T) {
	t.Parallel()
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	h := http.Header{}
	h.Set(TimestampHeader, "1531420618")
	h.Set(SignatureHeader, "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503")
	if err := Verify(h, []byte(body), "8f742231b10e8888abcd99yyyzzz85a5", time.Unix(1531420618, 0)); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const secret, body = "s3cret", `{"type":"event_callback"}`
	now := time.Unix(1_700_000_000, 0)
	set := func(key, value string) func(http.Header) {
		return func(h http.Header) { h.Set(key, value) }
	}
	again := func(key string) func(http.Header) {
		return func(h http.Header) { h.Add(key, h.Get(key)) }
	}
	joined := func(key string) func(http.Header) {
		return func(h http.Header) { h.Set(key, h.Get(key)+", "+h.Get(key)) }
	}
	capital := func(key, prefix string) func(http.Header) {
		return func(h http.Header) { h.Set(key, prefix+strings.ToUpper(strings.TrimPrefix(h.Get(key), prefix))) }
	}
	for _, tc := range []struct {
		name   string
		at     time.Time
		alter  func(http.Header)
		secret string
		body   string
		want   error
		early  error // what CheckHeaders says
	}{
		{name: "good", at: now},
		{name: "five minutes old", at: now.Add(-5 * time.Minute)},
		{name: "five minutes ahead", at: now.Add(5 * time.Minute)},
		{name: "too old", at: now.Add(-301 * time.Second), want: ErrStale, early: ErrStale},
		{name: "too far ahead", at: now.Add(301 * time.Second), want: ErrStale, early: ErrStale},
		{name: "other body", at: now, body: body + " ", want: ErrForged},
		{name: "other secret", at: now, secret: "s3creT", want: ErrForged},
		{name: "no secret", at: now, secret: "-", want: ErrNoSecret},
		{name: "other timestamp", at: now, alter: set(TimestampHeader, "1700000001"), want: ErrForged},
		{name: "no signature", at: now, alter: func(h http.Header) { h.Del(SignatureHeader) }, want: ErrUnsigned, early: ErrUnsigned},
		{name: "no timestamp", at: now, alter: func(h http.Header) { h.Del(TimestampHeader) }, want: ErrUnsigned, early: ErrUnsigned},
		{name: "timestamp no number", at: now, alter: set(TimestampHeader, "soon"), want: ErrStale, early: ErrStale},
		{name: "timestamp zero-padded", at: now, alter: set(TimestampHeader, "01700000000"), want: ErrStale, early: ErrStale},
		{name: "timestamp with a sign", at: now, alter: set(TimestampHeader, "+1700000000"), want: ErrStale, early: ErrStale},
		{name: "timestamp with a space", at: now, alter: set(TimestampHeader, "1700000000 "), want: ErrStale, early: ErrStale},
		{name: "timestamp with a line break", at: now, alter: set(TimestampHeader, "1700000000\n"), want: ErrStale, early: ErrStale},
		{name: "timestamp with a fraction", at: now, alter: set(TimestampHeader, "1700000000.0"), want: ErrStale, early: ErrStale},
		{name: "timestamp in hexadecimal", at: now, alter: set(TimestampHeader, "0x6553f100"), want: ErrStale, early: ErrStale},
		{name: "timestamp in other digits", at: now, alter: set(TimestampHeader, "１７００００００００"), want: ErrStale, early: ErrStale},
		{name: "timestamp zero", at: now, alter: set(TimestampHeader, "0"), want: ErrStale, early: ErrStale},
		{name: "timestamp past 64 bits", at: now, alter: set(TimestampHeader, "18446744073709551616"), want: ErrStale, early: ErrStale},
		{name: "timestamp twice", at: now, alter: again(TimestampHeader), want: ErrRepeated, early: ErrRepeated},
		{name: "signature twice", at: now, alter: again(SignatureHeader), want: ErrRepeated, early: ErrRepeated},
		{name: "two in one header", at: now, alter: joined(SignatureHeader), want: ErrForged, early: ErrForged},
		{name: "a second one that is empty", at: now, alter: func(h http.Header) { h.Add(SignatureHeader, "") }, want: ErrRepeated, early: ErrRepeated},
		{name: "capital digits", at: now, alter: capital(SignatureHeader, "v0="), want: ErrForged, early: ErrForged},
		{name: "capital version", at: now, alter: func(h http.Header) { h.Set(SignatureHeader, "V"+h.Get(SignatureHeader)[1:]) }, want: ErrForged, early: ErrForged},
		{name: "signature with a space", at: now, alter: func(h http.Header) { h.Set(SignatureHeader, h.Get(SignatureHeader)+" ") }, want: ErrForged, early: ErrForged},
		{name: "signature without its version", at: now, alter: func(h http.Header) { h.Set(SignatureHeader, h.Get(SignatureHeader)[3:]) }, want: ErrForged, early: ErrForged},
		{name: "timestamp negative", at: now, alter: set(TimestampHeader, "-1700000000"), want: ErrStale, early: ErrStale},
		{name: "timestamp overflows", at: now, alter: set(TimestampHeader, "9223372036854775807"), want: ErrStale, early: ErrStale},
		{name: "version", at: now, alter: set(SignatureHeader, "v1="+strings.Repeat("00", 32)), want: ErrForged, early: ErrForged},
		{name: "not hex", at: now, alter: set(SignatureHeader, "v0="+strings.Repeat("zz", 32)), want: ErrForged, early: ErrForged},
		{name: "short", at: now, alter: set(SignatureHeader, "v0=00"), want: ErrForged, early: ErrForged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			header := sign(secret, tc.at, body)
			if tc.alter != nil {
				tc.alter(header)
			}
			key, sent := secret, body
			if tc.secret != "" {
				key = strings.Trim(tc.secret, "-")
			}
			if tc.body != "" {
				sent = tc.body
			}
			if err := CheckHeaders(header, now); !errors.Is(err, tc.early) {
				t.Errorf("CheckHeaders: got %v, want %v", err, tc.early)
			}
			err := Verify(header, []byte(sent), key, now)
			if !errors.Is(err, tc.want) {
				t.Errorf("Verify: got %v, want %v", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

// Only the one signature of this body, timestamp and secret passes, with each header once, and within
// five minutes of the timestamp. The test computes what Slack would send and compares it exactly.
func FuzzVerify(f *testing.F) {
	const key, said = "s3cret", `{"type":"event_callback"}`
	instant := time.Unix(1_700_000_000, 0)
	good := sign(key, instant, said)
	stamp, mac := good.Get(TimestampHeader), good.Get(SignatureHeader)
	for _, seed := range []struct{ timestamp, signature, second, body, secret string }{
		{stamp, mac, "", said, key},
		{stamp, mac, mac, said, key},
		{stamp, mac, "", said + " ", key},
		{stamp, mac, "", said, "S3cret"},
		{stamp, strings.ToUpper(mac), "", said, key},
		{stamp + " ", mac, "", said, key},
		{"-" + stamp, mac, "", said, key},
		{"0" + stamp, mac, "", said, key},
		{"1７00000000", mac, "", said, key},
		{"99999999999999999999", mac, "", said, key},
		{"", "", "", "", ""},
	} {
		f.Add(seed.timestamp, seed.signature, seed.second, []byte(seed.body), seed.secret, int64(0))
	}
	f.Fuzz(func(t *testing.T, timestamp, signature, second string, body []byte, secret string, skew int64) {
		skew %= 1000
		now := instant.Add(time.Duration(skew) * time.Second)
		h := http.Header{TimestampHeader: {timestamp}, SignatureHeader: {signature}}
		if second != "" {
			h.Add(SignatureHeader, second)
		}
		want := false
		for at := now.Add(-MaxSkew); secret != "" && second == "" && !at.After(now.Add(MaxSkew)); at = at.Add(time.Second) {
			if fmt.Sprint(at.Unix()) == timestamp {
				want = sign(secret, at, string(body)).Get(SignatureHeader) == signature
			}
		}
		err := Verify(h, body, secret, now)
		if (err == nil) != want {
			t.Errorf("%q %q %q: %v, want it to pass: %v", timestamp, signature, second, err, want)
		}
		if early := CheckHeaders(h, now); err == nil && early != nil {
			t.Errorf("%q %q: the headers alone are refused: %v", timestamp, signature, early)
		}
		// Whatever was sent, who has the secret can sign it, and then it passes.
		if secret != "" {
			if err := Verify(sign(secret, now, string(body)), body, secret, now); err != nil {
				t.Errorf("a signed request is refused: %v", err)
			}
		}
	})
}

// docs/alerts.md says what to do about each reason in the log.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []error{ErrUnsigned, ErrRepeated, ErrStale, ErrForged} {
		if !strings.Contains(string(page), "`"+reason.Error()+"`") {
			t.Errorf("the page does not name %q", reason)
		}
	}
}
