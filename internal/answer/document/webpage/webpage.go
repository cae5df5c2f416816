// Package webpage fetches pages of the web as text for a model. It connects to public addresses only,
// which is checked when it connects, so that neither a name nor a redirect leads elsewhere.
package webpage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"myao/internal/answer/document/decoding"
	"myao/internal/answer/document/pdf"
)

const (
	// timeout bounds a fetch with its redirects, and then the reading of a PDF.
	timeout = 10 * time.Second
	// maxRedirects is how many redirects are followed.
	maxRedirects = 5
	// maxBytes is how much is read of a page, unpacked, maxFetches how many pages are fetched at once.
	maxBytes   = 2 << 20
	maxFetches = 8
	// maxHeaderBytes bounds the header of a response.
	maxHeaderBytes = 64 << 10
	// maxCharacters bounds Page.Text, maxTitle Page.Title.
	maxCharacters = 200_000
	maxTitle      = 300
)

// userAgent tells a site who asks.
const userAgent = "myao (opens links that people share)"

// Page is what was found at an address.
type Page struct {
	// URL is where it was found, after all redirects.
	URL string
	// Title is one line; it may be empty.
	Title string
	// Text is Markdown where the page is HTML.
	Text string
	// Cut is set if the page is longer than Text.
	Cut bool
	// Guess is the encoding that the page was read in, if neither the site nor the page says it.
	Guess string
	// PDF is a PDF file without text that can be read; Text is empty then.
	PDF []byte
}

// Refused is an error of the page, the site or the address. Its text is for whoever asked: one sentence.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

func refused(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// Options are what a Fetcher may be told.
type Options struct {
	// PDF reads PDF files; nil: a reader of its own does.
	PDF *pdf.Reader
	// Denied are addresses that are not connected to although they are public.
	Denied []netip.Prefix
	// Memory is what pages take while they are read; nil: one of its own.
	Memory *decoding.Memory
	// Allowed are IPv4 addresses that may be connected to although they are not public. With them any
	// port is allowed. It is for tests alone: nothing that is configured reaches it.
	Allowed []netip.Prefix

	// interfaces, unless nil, replaces net.InterfaceAddrs.
	interfaces func() ([]net.Addr, error)
}

// Fetcher fetches pages. It is safe for concurrent use.
type Fetcher struct {
	client  *http.Client
	pdf     *pdf.Reader
	timeout time.Duration
	memory  *decoding.Memory
	// fetching has room for as many pages as are fetched at once.
	fetching chan struct{}
}

// New makes a Fetcher.
func New(o Options) *Fetcher {
	dialer := &net.Dialer{Timeout: timeout, Control: newGuard(o).check}
	transport := &http.Transport{ // without a proxy: it would connect in our place
		DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeaderBytes, TLSHandshakeTimeout: timeout,
	}
	if o.PDF == nil {
		o.PDF = pdf.NewReader()
	}
	if o.Memory == nil {
		o.Memory = decoding.New()
	}
	return &Fetcher{
		client: &http.Client{Transport: transport, CheckRedirect: redirect}, pdf: o.PDF, timeout: timeout,
		memory:   o.Memory,
		fetching: make(chan struct{}, maxFetches),
	}
}

func redirect(r *http.Request, via []*http.Request) error {
	r.Header.Del("Referer")
	if len(via) > maxRedirects {
		return refused("The page redirects more than %d times.", maxRedirects)
	}
	return check(r.URL)
}

// check reports why an address is not fetched, whatever it leads to.
func check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refused("Only addresses that begin with http:// or https:// are opened.")
	case u.User != nil:
		return refused("An address with a user name or password in it is not opened.")
	case u.Hostname() == "":
		return refused("The address names no host.")
	}
	return nil
}

// Get fetches the page at an address. It returns a Refused, or the context's error.
func (f *Fetcher) Get(ctx context.Context, address string) (Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Page{}, refused("This is not an address of the web.")
	}
	if err := check(u); err != nil {
		return Page{}, err
	}
	page, err := f.fetch(ctx, u)
	switch reason, ok := errors.AsType[*Refused](err); {
	case err == nil:
	case ctx.Err() != nil:
		return Page{}, ctx.Err()
	case ok:
		return Page{}, reason
	case errors.Is(err, errDenied), errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort),
		errors.Is(err, ssrf.ErrProhibitedNetwork):
		return Page{}, refused("Only public addresses are opened, at the usual ports 80 and 443.")
	case errors.Is(err, context.DeadlineExceeded):
		return Page{}, refused("The page took longer than %s.", f.timeout)
	default:
		return Page{}, refused("The page could not be reached.")
	}
	return page, nil
}

func (f *Fetcher) fetch(ctx context.Context, u *url.URL) (Page, error) {
	select {
	case f.fetching <- struct{}{}:
		defer func() { <-f.fetching }()
	case <-ctx.Done():
		return Page{}, ctx.Err()
	}
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "text/html, text/markdown, text/plain, application/pdf, application/json;q=0.9, "+
		"*/*;q=0.1")
	response, err := f.client.Do(request)
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return Page{}, refused("The site answers %d %s.", response.StatusCode, http.StatusText(response.StatusCode))
	}
	if packed := response.Header.Get("Content-Encoding"); packed != "" { // which we did not ask for
		return Page{}, refused("The page is packed as %q, which is not read.", packed)
	}
	body := bytes.NewBuffer(make([]byte, 0, maxBytes+bytes.MinRead)) // at once: what grows takes several times as much
	if _, err := body.ReadFrom(io.LimitReader(response.Body, maxBytes+1)); err != nil {
		return Page{}, err
	}
	cut := body.Len() > maxBytes
	page, err := f.read(ctx, response.Request.URL, response.Header.Get("Content-Type"),
		body.Bytes()[:min(body.Len(), maxBytes)], cut)
	if err != nil {
		return Page{}, err
	}
	page.URL, page.Title = response.Request.URL.String(), shortened(strings.Join(strings.Fields(page.Title), " "),
		maxTitle)
	text := shortened(page.Text, maxCharacters)
	page.Cut, page.Text = cut || page.Cut || len(text) < len(page.Text), text
	return page, nil
}

// shortened is at most so many characters of a text.
func shortened(text string, most int) string {
	n := 0
	for at := range text {
		if n++; n > most {
			return strings.Clone(text[:at])
		}
	}
	return text
}
