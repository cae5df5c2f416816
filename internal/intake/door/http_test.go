package door

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/internal/runtime/timeout"
)

// address is one of the door's paths, and a good request to it.
type address struct {
	path string
	good func(ts string) string
	// full is a good body of so many bytes.
	full func(size int) string
	// malformed are bodies that are no request of this kind, signed or not.
	malformed []string
}

func fill(before, after string, size int) string {
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}

func payload(object string) string { return "payload=" + url.QueryEscape(object) }

var addresses = []address{
	{
		path:      events,
		good:      func(ts string) string { return callback(strings.Replace(hello, "100.000001", ts, 1)) },
		full:      func(size int) string { return fill(`{"type":"`, `"}`, size) },
		malformed: []string{"hello", "", "[1]", `"x"`, "null", callback(hello)[:40], "{}{}"},
	},
	{
		path:      interactions,
		good:      func(string) string { return payload(`{"type":"block_actions","team":{"id":"T1"},"api_app_id":"A1"}`) },
		full:      func(size int) string { return fill("payload=%7B%22type%22:%22", "%22%7D", size) },
		malformed: []string{"hello", "", payload("[1]"), payload("null"), payload(`{"type":`), `{"type":"block_actions"}`, "payload=%zz"},
	},
	{
		path:      commands,
		good:      func(string) string { return "command=%2Fmyao&team_id=T1&api_app_id=A1&text=hi" },
		full:      func(size int) string { return fill("command=%2Fmyao&text=", "", size) },
		malformed: []string{"hello", "", "team_id=T1", `{"command":"/myao"}`, "command=%zz"},
	},
}

// with returns a header with another value under a key, or without the key.
func with(h http.Header, key, value string) http.Header {
	h = h.Clone()
	if value == "" {
		h.Del(key)
	} else {
		h.Set(key, value)
	}
	return h
}

// twice returns a header with a key repeated.
func twice(h http.Header, key string) http.Header {
	h = h.Clone()
	h.Add(key, h.Get(key))
	return h
}

// Each path accepts and refuses the same, with the same statuses.
func TestDoorRefuses(t *testing.T) {
	t.Parallel()
	const signature, timestamp = "X-Slack-Signature", "X-Slack-Request-Timestamp"
	for _, at := range addresses {
		t.Run(at.path, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			body, first := at.good("100.000009"), at.good("100.000001")
			good := sign(body, secret, noon)
			full, large := at.full(bodyLimit), at.full(bodyLimit+1)
			huge := at.full(8 * bodyLimit)
			type row struct {
				name    string
				body    string
				header  http.Header
				chunked bool
				want    int
			}
			table := []row{
				{"good", first, sign(first, secret, noon), false, 200},
				{"good and chunked", at.good("100.000002"), sign(at.good("100.000002"), secret, noon), true, 200},
				{"no headers", body, http.Header{}, false, 401},
				{"no signature", body, with(good, signature, ""), false, 401},
				{"no timestamp", body, with(good, timestamp, ""), false, 401},
				{"two signatures", body, twice(good, signature), false, 401},
				{"two timestamps", body, twice(good, timestamp), false, 401},
				{"another secret", body, sign(body, "other", noon), false, 401},
				{"no secret", body, sign(body, "", noon), false, 401},
				{"another body", body + " ", good, false, 401},
				{"signature is no hex", body, with(good, signature, "v0=zz"), false, 401},
				{"signature cut short", body, with(good, signature, good.Get(signature)[:40]), false, 401},
				{"signature in capitals", body, with(good, signature, "v0="+strings.ToUpper(good.Get(signature)[3:])), false, 401},
				{"signature of another version", body, with(good, signature, "v1"+good.Get(signature)[2:]), false, 401},
				{"timestamp is no number", body, with(good, timestamp, "now"), false, 401},
				{"another timestamp", body, with(good, timestamp, strconv.FormatInt(noon.Unix()+1, 10)), false, 401},
				{"five minutes old", at.good("100.000003"), sign(at.good("100.000003"), secret, noon.Add(-5*time.Minute)), false, 200},
				{"older", body, sign(body, secret, noon.Add(-5*time.Minute-time.Second)), false, 401},
				{"from the future", body, sign(body, secret, noon.Add(5*time.Minute+time.Second)), false, 401},

				{"largest body", full, sign(full, secret, noon), false, 200},
				{"largest body, chunked", full, sign(full, secret, noon), true, 200},
				{"one byte more", large, sign(large, secret, noon), false, 413},
				{"one byte more, chunked", large, sign(large, secret, noon), true, 413},
				{"much too large", huge, sign(huge, secret, noon), false, 413},
				{"much too large and chunked", huge, sign(huge, secret, noon), true, 413},
				{"too large with a forged signature", large, sign(large, "other", noon), false, 413},
				{"too large with bad headers", large, with(good, signature, "v0=zz"), false, 401},
				{"too large and old", large, sign(large, secret, noon.Add(-time.Hour)), true, 401},
				{"too large without headers", large, http.Header{}, true, 401},
			}
			for i, malformed := range at.malformed {
				table = append(table,
					row{fmt.Sprintf("malformed %d", i), malformed, sign(malformed, secret, noon), false, 400},
					row{fmt.Sprintf("malformed %d, forged", i), malformed, sign(malformed, "other", noon), false, 401})
			}
			for _, test := range table {
				refused := func() float64 { return b.counted(t, "myao_requests_refused_total", strconv.Itoa(test.want)) }
				before := refused()
				status, answer := b.postTo(t, at.path, test.body, test.header, test.chunked)
				if status != test.want {
					t.Errorf("%s: status %d, %q, want %d", test.name, status, answer, test.want)
				}
				if strings.Contains(answer, secret) {
					t.Errorf("%s: it tells the secret: %q", test.name, answer)
				}
				if test.want == 200 && answer != "" {
					t.Errorf("%s: it says %q", test.name, answer)
				}
				if got, want := refused()-before, min(1, float64(test.want-200)); got != want {
					t.Errorf("%s: %v refusals counted, want %v", test.name, got, want)
				}
			}
			for _, ts := range []string{"100.000001", "100.000002", "100.000003"} {
				if got := b.stored(t, ts); got != (at.path == events) {
					t.Errorf("%s stored: %v", ts, got)
				}
			}
			notified := map[string]int{events: 3}[at.path]
			if got := b.notified.targets(); b.stored(t, "100.000009") || len(got) != notified {
				t.Errorf("a refused request is stored, or relayed: %q", got)
			}
		})
	}
}

// The door verifies the body as it was sent, and never decompresses it: a small packet cannot become a
// large body.
func TestDoorDoesNotDecompress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := callback(hello)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, body)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, sent, signed string
		want               int
	}{
		{"packed, and so signed", packed.String(), packed.String(), 400},
		{"packed, signed before", packed.String(), body, 401},
	} {
		header := with(sign(test.signed, secret, noon), "Content-Encoding", "gzip")
		if status, answer := b.post(t, test.sent, header, false); status != test.want || b.stored(t, "100.000001") {
			t.Errorf("%s: status %d, %q, want %d", test.name, status, answer, test.want)
		}
	}
	if status, _ := b.post(t, body, with(sign(body, secret, noon), "Content-Encoding", "gzip"), false); status != 200 || !b.stored(t, "100.000001") {
		t.Errorf("plain, and called packed: status %d, want 200", status)
	}
}

// A body that is shorter than announced is refused.
func TestDoorRefusesABodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, at := range addresses {
		body := at.good("100.000001")
		r := httptest.NewRequestWithContext(timeout.Extend(t.Context()), http.MethodPost, at.path, io.MultiReader(strings.NewReader(body), failing{}))
		r.Header = sign(body, secret, noon)
		w := httptest.NewRecorder()
		map[string]http.Handler{events: b.Events(), interactions: b.Interactions(), commands: b.Commands()}[at.path].ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest || b.stored(t, "100.000001") {
			t.Errorf("%s: status %d", at.path, w.Code)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// An unsigned request is refused before its body is read, and so is one that announces too large a body.
func TestDoorDoesNotReadWhatItRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := sign("x", secret, noon)
	for _, handler := range []http.Handler{b.Events(), b.Interactions(), b.Commands()} {
		for _, test := range []struct {
			name   string
			header http.Header
			want   int
		}{
			{"no headers", http.Header{}, http.StatusUnauthorized},
			{"old", sign("x", secret, noon.Add(-time.Hour)), http.StatusUnauthorized},
			{"no hex", with(good, "X-Slack-Signature", "v0=zz"), http.StatusUnauthorized},
			{"repeated", twice(good, "X-Slack-Request-Timestamp"), http.StatusUnauthorized},
			{"no number", with(good, "X-Slack-Request-Timestamp", "now"), http.StatusUnauthorized},
			{"too large", good, http.StatusRequestEntityTooLarge},
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", unread{t})
			r.Header, r.ContentLength = test.header, 1<<40
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != test.want || w.Header().Get("Connection") != "close" {
				t.Errorf("%s: status %d, %v, want %d", test.name, w.Code, w.Header(), test.want)
			}
		}
	}
}

// holdBack sends the header of a request that Slack could have signed, and a part of the body that it announces. The
// answer is nil if the connection is reset before it is read.
func (b *bundle) holdBack(t *testing.T, path string, announced, sent int, answers chan<- *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", path, announced)
	for key, values := range sign("x", secret, noon) {
		head += key + ": " + values[0] + "\r\n"
	}
	_, err = io.WriteString(conn, head+"\r\n"+strings.Repeat("x", sent))
	go func() {
		resp, failed := http.ReadResponse(bufio.NewReader(conn), nil)
		if err = errors.Join(err, failed); err != nil {
			resp = nil
		}
		answers <- resp
	}()
}

// However many bodies are held back, and however large they claim to be, Slack's requests pass, from the same address.
// The oldest of the others are cut off once they take more than the memory for bodies without a checked signature.
func TestBodiesThatAreHeldBackKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                      string
		requests, announced, sent int
		cut                       int // how many there is no room for
	}{
		{name: "small ones, a byte at a time", requests: 400, announced: 64 << 10, sent: 1},
		{name: "large ones, a byte at a time", requests: 100, announced: bodyLimit, sent: 1},
		{name: "large ones, but for the last byte", requests: 40, announced: bodyLimit, sent: bodyLimit - 1, cut: 40 - unverifiedLimit/bodyLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			answers := make(chan *http.Response, test.requests)
			for i := range test.requests {
				b.holdBack(t, addresses[i%len(addresses)].path, test.announced, test.sent, answers)
			}
			for range test.cut {
				if resp := <-answers; resp != nil && (resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || !resp.Close) {
					t.Errorf("got %+v; want 503 with Retry-After, and the end of the connection", resp)
				}
			}
			good, full := callback(hello), addresses[0].full(bodyLimit)
			for _, body := range []string{good, full} {
				for _, chunked := range []bool{false, true} {
					if status, answer := b.post(t, body, sign(body, secret, noon), chunked); status != http.StatusOK {
						t.Errorf("%d bytes, chunked %t: %d %s", len(body), chunked, status, answer)
					}
				}
			}
			b.unverified.mu.Lock()
			defer b.unverified.mu.Unlock()
			if got := b.unverified.size; got > unverifiedLimit {
				t.Errorf("%d bytes are held, want %d at most", got, unverifiedLimit)
			}
		})
	}
}

// Who holds a body back has two seconds.
func TestASlowBodyIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(b.Events()) // whose limits are not extended
	t.Cleanup(server.Close)
	b.url = server.URL
	answers := make(chan *http.Response, 1)
	b.holdBack(t, events, 1000, 1, answers)
	select {
	case resp := <-answers:
		if resp == nil || resp.StatusCode != http.StatusRequestTimeout || !resp.Close || b.counted(t, "myao_requests_refused_total", "slow") != 1 {
			t.Errorf("got %+v; want 408, and the end of the connection", resp)
		}
	case <-time.After(time.Minute):
		t.Error("no answer within a minute")
	}
}

// Room is made by the oldest body, but first by a network that holds more than its share. An IPv6 network of 64 bits
// is one.
func TestWhoHoldsMoreThanAShareMakesRoom(t *testing.T) {
	t.Parallel()
	var u unverified
	var cut []string
	enter := func(from string, size int64, want ...string) {
		t.Helper()
		cut = nil
		u.grow(&unverifiedBody{network: networkOf(&http.Request{RemoteAddr: from}), cut: func() { cut = append(cut, from) }}, size)
		if !slices.Equal(cut, want) {
			t.Errorf("after %d bytes from %s, cut off are %q, want %q", size, from, cut, want)
		}
	}
	enter("192.0.2.1:1", 1000)
	enter("192.0.2.1:2", 1000)
	for i := range 5 {
		enter(fmt.Sprintf("[2001:db8:0:%d::1]:1", i), networkShare/2)
	}
	enter("[2001:db8:0:4::2]:1", networkShare/2)                     // as much as a share, and no more
	enter("192.0.2.2:1", networkShare, "192.0.2.1:1", "192.0.2.1:2") // full to the last byte
	enter("[2001:db8:0:4::3]:1", 1000, "[2001:db8:0:4::1]:1")
	enter("192.0.2.3:1", networkShare/2, "[2001:db8:0:0::1]:1")
}

// A recorded request that is sent again is accepted for five minutes, and changes nothing. Then it is
// refused.
func TestDoorAcceptsReplays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := noon
	b.Clock = func() time.Time { return now }
	deliver := func(body string) http.Header {
		t.Helper()
		header := sign(body, secret, now)
		if status, answer := b.post(t, body, header, false); status != 200 {
			t.Fatalf("status %d, %s", status, answer)
		}
		return header
	}
	said := callback(strings.Replace(hello, "hello", "<@UBOT> hello", 1))
	header := deliver(said)
	edit := callback(`{"type":"message","subtype":"message_changed","channel":"C1","channel_type":"channel","ts":"101.1","message":{"type":"message","user":"U1","ts":"100.000001","text":"<@UBOT> hi","edited":{"user":"U1","ts":"101.000000"}},"previous_message":{"user":"U1","ts":"100.000001","text":"<@UBOT> hello"}}`)
	edited := deliver(edit)
	deliver(callback(`{"type":"message","subtype":"message_deleted","channel":"C1","channel_type":"channel","ts":"102.1","deleted_ts":"100.000001","previous_message":{"user":"U1","ts":"100.000001","text":"<@UBOT> hi"}}`))
	before, _, err := b.Store.BacklogSize(t.Context())
	if err != nil || before == 0 {
		t.Fatalf("%d changes, %v", before, err)
	}
	kicked := len(b.notified.targets())
	now = now.Add(5 * time.Minute)
	for range 3 {
		for body, header := range map[string]http.Header{said: header, edit: edited} {
			if status, answer := b.post(t, body, header, false); status != 200 {
				t.Errorf("within five minutes: status %d, %s", status, answer)
			}
		}
	}
	m, err := b.Store.Message(t.Context(), "T1", "C1", "100.000001")
	if err != nil || !m.Deleted || m.Text != "" {
		t.Errorf("the deleted message is now %+v, %v", m, err)
	}
	if after, _, err := b.Store.BacklogSize(t.Context()); after != before || err != nil || len(b.notified.targets()) != kicked {
		t.Errorf("%d changes, %v, %d told; want %d and %d", after, err, len(b.notified.targets()), before, kicked)
	}
	now = now.Add(time.Second)
	if status, _ := b.post(t, said, header, false); status != 401 {
		t.Errorf("after five minutes: status %d, want 401", status)
	}
}

// The alert fires for requests that claim to be Slack's. Those of starter doctor, which must be refused,
// claim nothing.
func TestRefusalsAreCountedByReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const body, signature = "{", "X-Slack-Signature"
	good := sign(body, secret, noon)
	large := strings.Repeat(" ", bodyLimit+1)
	for _, test := range []struct {
		reason, body string
		header       http.Header
	}{
		{"unsigned", body, http.Header{}},
		{"unsigned", body, with(good, signature, "")},
		{"repeated", body, twice(good, signature)},
		{"stale", body, sign(body, secret, noon.Add(-time.Hour))},
		{"forged", body, sign(body, "other", noon)},
		{"forged", body, with(good, signature, "v0=zz")},
		{"large", large, sign(large, secret, noon)},
		{"unreadable", body, good},
	} {
		before := b.counted(t, "myao_requests_refused_total", test.reason)
		b.postTo(t, events, test.body, test.header, false)
		if got := b.counted(t, "myao_requests_refused_total", test.reason) - before; got != 1 {
			t.Errorf("%v refusals counted as %s, want 1", got, test.reason)
		}
	}
}

// Slack checks the certificate of a slash command's address from time to time. The door answers even if
// the bot's identity is unknown.
func TestDoorAnswersTheCertificateCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.directory.fail(errors.New("no Slack yet"))
	const check = "ssl_check=1&token=gIkuvaNzQIHg97ATvDxqgjtO"
	for _, test := range []struct {
		name, path, body, secret string
		want                     int
	}{
		{"signed", commands, check, secret, 200},
		{"forged", commands, check, "other", 401},
		{"no check", commands, "ssl_check=0&token=gIkuvaNzQIHg97ATvDxqgjtO", secret, 400},
		{"elsewhere", interactions, check, secret, 400},
		{"with a command", commands, check + "&command=%2Fmyao", secret, 503},
	} {
		refused := func() float64 { return b.counted(t, "myao_requests_refused_total", test.path) }
		before := refused()
		status, answer := b.postTo(t, test.path, test.body, sign(test.body, test.secret, noon), false)
		if status != test.want || status == 200 && answer != "" {
			t.Errorf("%s: status %d, %q, want %d", test.name, status, answer, test.want)
		}
		if got, want := refused() != before, test.want == 400 || test.want == 401; got != want {
			t.Errorf("%s: counted as refused: %v", test.name, got)
		}
	}
}

// Requests that nothing handles are acknowledged, and counted by reason.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, test := range []struct{ path, body, result string }{
		{interactions, payload(`{"type":"block_actions","team":{"id":"T1"},"api_app_id":"A1","user":{"id":"U1"},"actions":[{"action_id":"a","value":"v"}]}`), "ignored"},
		{interactions, payload(`{"type":"view_submission","team":{"id":"T1"},"user":{"id":"U1"},"view":{"callback_id":"c"}}`), "ignored"},
		{interactions, payload(`{"type":"view_closed","team":{"id":"T1"},"user":{"id":"U1"}}`), "ignored"},
		{interactions, payload(`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"}}`), "unusable"},
		{interactions, payload(`{"type":"block_actions","team":{"id":"T2"},"api_app_id":"A1"}`), "foreign"},
		{interactions, payload(`{"type":"block_actions","team":{"id":"T1"},"api_app_id":"A2"}`), "foreign"},
		{interactions, payload(`{}`), "foreign"},
		{interactions, payload(`{"type":"message_action","callback_id":"other","team":{"id":"T1"},"user":{"id":"U1"},"channel":{"id":"C1"}}`), "ignored"},
		{interactions, payload(`{"type":"message_action","callback_id":"answer_now","team":{"id":"T1"},"user":{"id":"U1"}}`), "unusable"},
		{commands, "command=%2Fmyao&team_id=T1&api_app_id=A1", "unusable"},
		{commands, "command=%2Fmyao&team_id=T2&api_app_id=A1", "foreign"},
		{commands, "command=%2Fmyao&team_id=T1&api_app_id=A2", "foreign"},
	} {
		before := b.counted(t, "myao_events_total", test.result)
		if status, answer := b.postTo(t, test.path, test.body, sign(test.body, secret, noon), false); status != 200 || answer != "" {
			t.Errorf("%s: status %d, %q", test.body, status, answer)
		}
		if got := b.counted(t, "myao_events_total", test.result); got != before+1 {
			t.Errorf("%s %s is not counted as %s", test.path, test.body, test.result)
		}
	}
	b.directory.fail(errors.New("Slack is away"))
	body := addresses[2].good("")
	if status, _ := b.postTo(t, commands, body, sign(body, secret, noon), false); status != http.StatusServiceUnavailable {
		t.Errorf("who the bot is, is not known: status %d, want 503", status)
	}
}
