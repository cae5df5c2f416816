package webpage

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/text/encoding/japanese"

	"myao/internal/answer/document/pdf"
	"myao/internal/config"
)

// documents is shared, because compiling takes seconds.
var documents = pdf.NewReader()

// local is a fetcher that may reach the servers of tests. It is patient, as the test machine may stand still.
func local() *Fetcher {
	f := New(Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, PDF: documents})
	f.timeout = time.Hour
	return f
}

// serve answers each path with a handler.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// wantRefused checks that an address is refused with words.
func wantRefused(t *testing.T, f *Fetcher, what, address, words string) {
	t.Helper()
	page, err := f.Get(t.Context(), address)
	if reason, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(reason.Reason, words) {
		t.Errorf("%s: %q, %v; want that it is refused: %s", what, page.Text, err, words)
	}
}

const article = `<!doctype html><html><head><title> The   launch
plan </title><style>p{}</style></head><body><nav><a href="/">Home</a></nav><h1>Launch</h1>
<p>We launch on <b>Friday</b>; see <a href="plan?a=1&amp;b=x+y#top">the plan_of_June</a>. <img src="x.png" alt="A rocket"></p>
<p style="display: none">hidden words</p><script>run()</script><a href="javascript:run()">press</a>
<table><tr><th>Day</th><th>What</th></tr><tr><td>Friday</td><td>Launch</td></tr></table><pre><code>go run .
</code></pre></body></html>`

func TestKindsOfPages(t *testing.T) {
	t.Parallel()
	sjis, err := japanese.ShiftJIS.NewEncoder().String("<html><title>締め日</title><p>請求書の締め日は二十日です。</p></html>")
	if err != nil {
		t.Fatal(err)
	}
	euc, err := japanese.EUCJP.NewEncoder().String("<html><meta charset=euc-jp><p>請求書の締め日</p></html>")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("packed text"))
	_ = z.Close()
	file := "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n" +
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n" +
		"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n4 0 obj<</Length 99>>stream\nCONTENT\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
	f := local()
	for what, c := range map[string]struct {
		contentType, body string
		title             string
		want              []string
		refused           string
	}{
		"HTML":                {"text/html; charset=utf-8", article, "The launch plan", []string{"# Launch", "**Friday**", "[the plan_of_June](HOST/a/plan?a=1&b=x+y#top)", "A rocket", "press", "| Friday | Launch |", "```\ngo run .", "!hidden words", "!run()", "!x.png"}, ""},
		"untyped HTML":        {"", article, "The launch plan", []string{"**Friday**"}, ""},
		"Shift_JIS":           {"text/html; charset=Shift_JIS", sjis, "締め日", []string{"請求書の締め日は二十日です。"}, ""},
		"EUC-JP by its meta":  {"text/html", euc, "", []string{"請求書の締め日"}, ""},
		"Markdown":            {"text/markdown", "# Plan\n\n*Friday*", "", []string{"# Plan\n\n*Friday*"}, ""},
		"text":                {"text/plain", "<b>as it is</b>", "", []string{"<b>as it is</b>"}, ""},
		"JSON":                {"application/json", `{"url":"https://x.example/a"}`, "", []string{`{"url":"https://x.example/a"}`}, ""},
		"a feed":              {"application/rss+xml", `<?xml version="1.0"?><rss>news</rss>`, "", []string{"<rss>news</rss>"}, ""},
		"not UTF-8":           {"text/plain; charset=utf-8", "a\xffb", "", []string{"a\uFFFDb"}, ""},
		"no charset at all":   {"text/plain; charset=klingon", "ok", "", []string{"ok"}, ""},
		"PDF":                 {"application/pdf", strings.Replace(file, "CONTENT", "BT /F1 12 Tf 50 700 Td (Friday it is.) Tj ET", 1), "", []string{"Friday it is."}, ""},
		"PDF called text":     {"text/plain", strings.Replace(file, "CONTENT", "BT /F1 12 Tf 50 700 Td (Friday it is.) Tj ET", 1), "", []string{"Friday it is."}, ""},
		"picture":             {"image/png", "\x89PNG\r\n\x1a\n", "", nil, `"image/png"`},
		"picture called text": {"text/html", "\x89PNG\r\n\x1a\n", "", nil, `"image/png"`},
		"program":             {"text/plain", "\x7fELF\x02\x00\x01", "", nil, `"text/plain"`},
		"archive":             {"application/json", zipped.String(), "", nil, `"application/x-gzip"`},
		"text called PDF":     {"application/pdf", "hello", "", nil, `"application/pdf"`},
		"text called video":   {"video/mp4", "hello", "", nil, `"video/mp4"`},
		"broken PDF":          {"application/pdf", "%PDF-1.4 nothing", "", nil, "damaged"},
		"nested HTML":         {"text/html", strings.Repeat("<div>", 10_000), "", nil, "broken"},
	} {
		host := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = []string{c.contentType}
			_, _ = w.Write([]byte(c.body))
		})
		if c.refused != "" {
			wantRefused(t, f, what, host, c.refused)
			continue
		}
		page, err := f.Get(t.Context(), host+"/a/b")
		if err != nil || page.Title != c.title || page.URL != host+"/a/b" {
			t.Errorf("%s: %q at %s, %v; want %q", what, page.Title, page.URL, err, c.title)
		}
		for _, want := range c.want {
			want, unwanted := strings.CutPrefix(strings.ReplaceAll(want, "HOST", host), "!")
			if strings.Contains(page.Text, want) == unwanted {
				t.Errorf("%s: the text is\n%s\nwant %q, unwanted: %v", what, page.Text, want, unwanted)
			}
		}
	}
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Replace(file, "CONTENT", "0 0 9 9 re f", 1))
	})
	if page, err := f.Get(t.Context(), host); err != nil || page.Text != "" || !bytes.HasPrefix(page.PDF, []byte("%PDF-")) {
		t.Errorf("a PDF of pictures: %+v, %v", page, err)
	}
}

// What is not a public address of the web is never connected to, by whatever way it is named.
func TestOnlyPublicAddresses(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	loopback := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	port := loopback[strings.LastIndex(loopback, ":"):]
	const notPublic, onlyWeb = "Only public addresses are opened", "begin with http:// or https://"
	strict := New(Options{})
	for address, words := range map[string]string{
		loopback:                                  notPublic,
		"http://localhost" + port:                 notPublic,
		"http://localhost/":                       notPublic,
		"http://[::1]" + port:                     notPublic,
		"http://[::ffff:127.0.0.1]/":              notPublic,
		"http://0.0.0.0/":                         notPublic,
		"http://10.0.0.1/":                        notPublic,
		"http://192.168.1.1/":                     notPublic,
		"http://172.16.0.1/":                      notPublic,
		"http://100.64.0.1/":                      notPublic,
		"http://169.254.169.254/latest/meta-data": notPublic,
		"http://[fd00:ec2::254]/":                 notPublic,
		"http://[64:ff9b::7f00:1]/":               notPublic,
		"http://8.8.8.8:22/":                      notPublic,
		"ftp://x.example/":                        onlyWeb,
		"file:///etc/passwd":                      onlyWeb,
		"gopher://x.example/":                     onlyWeb,
		"//x.example/":                            onlyWeb,
		"x.example":                               onlyWeb,
		"https://":                                "names no host",
		"https://user:secret@x.example/":          "user name or password",
		"https://good.example@evil.example/":      "user name or password",
		"https://x.example\\@evil.example/":       "not an address",
		"https://x.example/\n":                    "not an address",
		"":                                        onlyWeb,
	} {
		wantRefused(t, strict, address, address, words)
	}
	f := local()
	for _, to := range []string{"http://127.0.0.2" + port, "http://[::1]" + port, "http://10.0.0.1/", "http://169.254.169.254/", "http://0.0.0.0" + port} {
		from := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		wantRefused(t, f, "redirect to "+to, from, notPublic)
	}
	for to, words := range map[string]string{"file:///etc/passwd": onlyWeb, "https://me:secret@x.example/": "user name", "ftp://x.example": onlyWeb} {
		from := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		wantRefused(t, f, "redirect to "+to, from, words)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("loopback was reached %d times", n)
	}
}

// Addresses that are public and still nobody's business: what is denied, and the machine's own.
func TestDeniedAddresses(t *testing.T) {
	t.Parallel()
	const notPublic = "Only public addresses are opened"
	f := New(Options{Denied: config.Default().Tools.Denied(), interfaces: func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.IPv4(8, 8, 4, 4), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2600::1"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}})
	for _, address := range []string{
		"http://168.63.129.16/metadata", "http://100.100.100.200/", "http://192.0.0.192/", "http://[fd00:ec2::254]/", "http://[fd20:ce::254]/",
		"http://161.26.0.10/", "http://166.11.1.1/", "http://8.8.4.4/", "http://[2600::1]/",
	} {
		wantRefused(t, f, address, address, notPublic)
	}
	own := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("it was reached") })
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	wantRefused(t, New(Options{Allowed: loopback, Denied: loopback}), "what is allowed and denied", own, notPublic)
	blind := New(Options{interfaces: func() ([]net.Addr, error) { return nil, errors.New("not allowed") }})
	wantRefused(t, blind, "where the machine's addresses are not known", "http://8.8.8.8/", notPublic)
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var asked []*http.Request
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r)
		n := len(r.URL.Path)
		if n < 7 && r.URL.Path != "/loop" {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: "you"})
			http.Redirect(w, r, r.URL.Path+"x", http.StatusMovedPermanently)
			return
		}
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
		fmt.Fprint(w, "arrived")
	})
	f := local()
	page, err := f.Get(t.Context(), host+"/x")
	if err != nil || page.Text != "arrived" || page.URL != host+"/xxxxxx" {
		t.Errorf("%+v, %v", page, err)
	}
	for _, r := range asked {
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" || r.UserAgent() != userAgent {
			t.Errorf("asked with %v", r.Header)
		}
	}
	wantRefused(t, f, "one more", host+"/", "redirects more than 5 times")
	wantRefused(t, f, "a loop", host+"/loop", "redirects more than 5 times")
}

// A hostile site costs little time and memory.
func TestHostileSites(t *testing.T) {
	t.Parallel()
	f := local()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 100 {
		_, _ = z.Write(bytes.Repeat([]byte("word "), 1<<20))
	}
	_ = z.Close()
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(bomb.Bytes())
		case "/endless":
			w.Header().Set("Content-Type", "text/plain")
			for r.Context().Err() == nil {
				_, _ = w.Write(bytes.Repeat([]byte("word "), 1<<10))
			}
		case "/packed":
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "?")
		case "/missing":
			http.NotFound(w, r)
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("a", maxHeaderBytes+1))
		case "/pdf":
			_, _ = w.Write(append([]byte("%PDF-1.4\n"), make([]byte, maxBytes)...))
		case "/deep":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.Repeat("<blockquote>", 400)+strings.Repeat("<p>a</p>", 50_000))
		case "/span":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<table><tr><td colspan="1000000000" rowspan="1000000000">wide</td></tr></table>`)
		}
	})
	for path, want := range map[string]string{"/bomb": "word word", "/endless": "word word", "/deep": "> a", "/span": "wide"} {
		page, err := f.Get(t.Context(), host+path)
		if err != nil || !strings.Contains(page.Text, want) || len(page.Text) > maxCharacters || page.Cut != (path != "/span") {
			t.Errorf("%s: %d bytes, cut: %v, %v", path, len(page.Text), page.Cut, err)
		}
	}
	for path, words := range map[string]string{"/packed": `packed as "br"`, "/missing": "404 Not Found", "/header": "could not be reached", "/pdf": "larger than 2 MiB"} {
		wantRefused(t, f, path, host+path, words)
	}
	wantRefused(t, f, "nobody there", "http://127.0.0.1:1/", "could not be reached")
}

// A site that sends nothing more is left, also where nobody waits any more.
func TestASlowSite(t *testing.T) {
	t.Parallel()
	f := local()
	ctx, cancel := context.WithCancel(t.Context())
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "a")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/cancel" {
			cancel()
		}
		<-r.Context().Done()
	})
	if _, err := f.Get(ctx, host+"/cancel"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
	f.timeout = 100 * time.Millisecond
	wantRefused(t, f, "a body that never ends", host+"/slow", "took longer than")
}

// So many pages are fetched at once, and no more.
func TestFetchesAtOnce(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	entered, leave := make(chan struct{}, 3*maxFetches), make(chan struct{})
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		entered <- struct{}{}
		<-leave
		fmt.Fprint(w, "done")
	})
	f := local()
	var wg sync.WaitGroup
	for range 3 * maxFetches {
		wg.Go(func() {
			if page, err := f.Get(t.Context(), host); err != nil || page.Text != "done" {
				t.Errorf("%q, %v", page.Text, err)
			}
		})
	}
	for range maxFetches {
		<-entered
	}
	if len(f.fetching) != maxFetches || cap(f.fetching) != maxFetches {
		t.Errorf("%d of %d pages are being fetched, want %d", len(f.fetching), cap(f.fetching), maxFetches)
	}
	close(leave)
	wg.Wait()
	if n := most.Load(); n > maxFetches {
		t.Errorf("%d pages at once, want at most %d", n, maxFetches)
	}
}

// A page is read as the whole of it says, not as its beginning does, and a guess is told.
func TestEncodings(t *testing.T) {
	t.Parallel()
	ascii := strings.Repeat("plain text ", 200)
	f := local()
	for what, c := range map[string]struct{ contentType, body, want, guess string }{
		"text":                    {"text/plain", ascii + "Käse, 日本", "Käse, 日本", ""},
		"JSON":                    {"application/json", `{"pad":"` + ascii + `","name":"Käse"}`, `"name":"Käse"`, ""},
		"Markdown":                {"text/markdown", "# Plan\n\n" + ascii + "\n\nKäse", "Käse", ""},
		"YAML":                    {"application/yaml", "pad: " + ascii + "\nname: Käse\n", "name: Käse", ""},
		"HTML":                    {"text/html", "<p>" + ascii + "<p>Käse", "Käse", ""},
		"untyped":                 {"", ascii + "Käse", "Käse", ""},
		"declared as Latin-1":     {"text/html; charset=iso-8859-1", "<p>" + ascii + "<p>Käse", "Käse", ""},
		"cut within a character":  {"text/plain", "x" + strings.Repeat("ä", maxBytes/2), strings.Repeat("ä", 100), ""},
		"Latin-1":                 {"text/plain", ascii + "K\xe4se", "Käse", "Windows-1252"},
		"Latin-1, a meta late":    {"text/html", "<p>" + ascii + "<meta charset=iso-8859-1><p>K\xe4se", "Käse", ""},
		"Latin-1 called UTF-8":    {"text/csv; charset=utf-8", "Artikel;Menge\nK\xe4se;12\nB\xe4r;3\n", "Käse;12\nBär;3", "Windows-1252"},
		"Shift_JIS":               {"text/csv", "\x8f\xa4\x95i,\x90\x94\x97\xca\n", "商品,数量", "Shift_JIS"},
		"UTF-16 without a mark":   {"text/plain", "K\x00\xe4\x00s\x00e\x00", "Käse", "UTF-16LE"},
		"UTF-16, declared":        {"text/plain; charset=utf-16be", "\x00K\x00\xe4\x00s\x00e", "Käse", ""},
		"HTML in UTF-16, no mark": {"text/html", "<\x00p\x00>\x00K\x00\xe4\x00s\x00e\x00", "Käse", "UTF-16LE"},
	} {
		host := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = []string{c.contentType}
			_, _ = w.Write([]byte(c.body))
		})
		page, err := f.Get(t.Context(), host)
		if err != nil || !strings.Contains(page.Text, c.want) || page.Guess != c.guess || strings.Contains(page.Text, "\uFFFD") {
			t.Errorf("%s: %.99q by the guess %q, %v; want %.99q by %q", what, page.Text, page.Guess, err, c.want, c.guess)
		}
	}
}
