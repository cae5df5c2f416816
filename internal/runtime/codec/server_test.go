package codec

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	_ "myao/test/keepalive"
)

const page = "http://localhost:8233" // a Web UI

// serve starts a server and returns its address, as http://127.0.0.1:1234.
func serve(t *testing.T, s Server) string {
	t.Helper()
	if s.Codec == nil {
		s.Codec = with(t, "new", "old", "new")
	}
	s.Origins = []string{page, "https://temporal.example.com"}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// do sends a request. The headers are names and values in turn; "Host" sets the host.
func do(t *testing.T, method, url string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// body is a request for one payload.
func body(t *testing.T, p *commonpb.Payload) io.Reader {
	t.Helper()
	text, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{p}})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

// The SDK has a client of the protocol, which the CLI uses too.
func TestServerServesTheSDK(t *testing.T) {
	t.Parallel()
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: serve(t, Server{Local: true}) + "/any/prefix"})
	plain := []*commonpb.Payload{payload(`"a secret"`), {}, payload("2")}
	sealed, err := remote.Encode(plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Decode(append([]*commonpb.Payload{payload("in clear")}, sealed...))
	if err != nil || len(got) != 4 {
		t.Fatalf("got %d payloads, %v", len(got), err)
	}
	for i, want := range append([]*commonpb.Payload{payload("in clear")}, plain...) {
		if !proto.Equal(got[i], want) {
			t.Errorf("payload %d: got %v, want %v", i, got[i], want)
		}
	}
	if string(sealed[0].Metadata["encryption-key-id"]) != "new" || bytes.Contains(sealed[0].Data, []byte("secret")) {
		t.Errorf("encoded to %v", sealed[0])
	}
}

func TestServerReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	url := serve(t, Server{Codec: with(t, "new", "new"), Local: true})
	resp, text := do(t, http.MethodPost, url+"/decode", body(t, encode(t, with(t, "old", "old"), payload("1"))))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, `key "old"`) {
		t.Errorf("status %d, %q", resp.StatusCode, text)
	}
	if resp, text := do(t, http.MethodPost, url+"/decode", strings.NewReader("{")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("no JSON: status %d, %q", resp.StatusCode, text)
	}
}

// A browser sends a preflight request, and lets the page continue by its answer.
func TestOrigins(t *testing.T) {
	t.Parallel()
	url := serve(t, Server{Local: true})
	sealed := encode(t, with(t, "new", "new"), payload(`"a secret"`))
	for _, origin := range []string{page, "https://temporal.example.com"} {
		resp, _ := do(t, http.MethodOptions, url+"/decode", http.NoBody, "Origin", origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-namespace")
		h := resp.Header
		if resp.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Methods") != "POST" ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-Namespace") || h.Get("Vary") != "Origin" {
			t.Errorf("preflight of %s: status %d, %v", origin, resp.StatusCode, h)
		}
		resp, text := do(t, http.MethodPost, url+"/decode?preserveStorageRefs=true", body(t, sealed), "Origin", origin,
			"Content-Type", "application/json", "X-Namespace", "default")
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(text, "ImEgc2VjcmV0Ig==") {
			t.Errorf("%s: status %d, %v, %q", origin, resp.StatusCode, resp.Header, text)
		}
		if resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("a decrypted payload may be cached: %v", resp.Header)
		}
	}
	for _, origin := range []string{"https://evil.example.com", "null", "http://localhost:8233.evil.com", "https://localhost:8233", "http://localhost", "HTTP://LOCALHOST:8233"} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			resp, text := do(t, method, url+"/decode", body(t, sealed), "Origin", origin, "Content-Type", "text/plain")
			if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(text, "payloads") {
				t.Errorf("%s by %s: status %d, %v, %q", method, origin, resp.StatusCode, resp.Header, text)
			}
		}
	}
}

// With a name that resolves to 127.0.0.1, an attacker's page has the same origin. Only the host
// of its requests shows that.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	url := serve(t, Server{Local: true})
	everywhere := serve(t, Server{Token: "a-token-of-some-length"})
	sealed := encode(t, with(t, "new", "new"), payload("1"))
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8234": 200, "LocalHost:1": 200, "127.0.0.1:8234": 200, "127.9.9.9": 200, "[::1]:8234": 200, "[::1]": 200,
		"evil.example.com": 403, "evil.example.com:8234": 403, "localhost.evil.example.com": 403, "127.0.0.1.evil.example.com": 403, "10.0.0.1:8234": 403,
		"localhost:": 200, "0.0.0.0:8234": 403,
	} {
		if resp, text := do(t, http.MethodPost, url+"/decode", body(t, sealed), "Host", host); resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %q", host, resp.StatusCode, want, text)
		}
		resp, text := do(t, http.MethodPost, everywhere+"/decode", body(t, sealed), "Host", host, "Authorization", "Bearer a-token-of-some-length")
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s, with a token instead: status %d: %q", host, resp.StatusCode, text)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	const token = "correct-horse-battery"
	url := serve(t, Server{Local: true, Token: token, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	sealed := encode(t, with(t, "new", "new"), payload(`"a secret"`))
	for authorization, want := range map[string]int{
		"Bearer " + token: 200, "bearer " + token: 200,
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer correct-horse-batterx": 401, "Bearer correct-horse": 401, "Bearer " + token + "x": 401,
		"Basic " + token: 401, token: 401, "Bearer  " + token: 401,
	} {
		resp, text := do(t, http.MethodPost, url+"/decode", body(t, sealed), "Authorization", authorization)
		if resp.StatusCode != want || (want != 200 && strings.Contains(text, "payloads")) {
			t.Errorf("%q: status %d, want %d: %q", authorization, resp.StatusCode, want, text)
		}
	}
	// A preflight request has no token: it asks whether it may send one.
	if resp, _ := do(t, http.MethodOptions, url+"/decode", http.NoBody, "Origin", page); resp.StatusCode != http.StatusNoContent {
		t.Errorf("preflight: status %d", resp.StatusCode)
	}
	if strings.Contains(log.String(), "correct-horse") || !strings.Contains(log.String(), "status=401") {
		t.Errorf("log:\n%s", &log)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, Server{Local: true})
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/decode", 405}, {"PUT", "/decode", 405}, {"OPTIONS", "/decode", 405}, {"HEAD", "/encode", 405},
		{"POST", "/", 404}, {"POST", "/decoder", 404}, {"POST", "/download", 404}, {"POST", "/decode", 200}, {"POST", "/encode", 200},
	} {
		if resp, text := do(t, c.method, url+c.path, strings.NewReader(`{"payloads":[]}`)); resp.StatusCode != c.want {
			t.Errorf("%s %s: status %d, want %d: %q", c.method, c.path, resp.StatusCode, c.want, text)
		}
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	url := serve(t, Server{Local: true})
	// The largest payload of Temporal, as a stream of unknown length.
	p := payload(strings.Repeat("x", 2<<20))
	resp, _ := do(t, http.MethodPost, url+"/decode", io.MultiReader(body(t, encode(t, with(t, "new", "new"), p))))
	if resp.StatusCode != http.StatusOK {
		t.Errorf("two megabytes: status %d", resp.StatusCode)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(conn, "POST /decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n")
		_, _ = io.CopyN(conn, spaces{}, bodyLimit+1<<16)
	}()
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 413" {
		t.Errorf("beyond the limit: %q, %v", answer, err)
	}
	<-written
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
