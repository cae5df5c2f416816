package tap

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	"myao/internal/answer/providers"
	"myao/internal/config"
	"myao/internal/llm"
)

// providerBackend forwards requests to a provider, and returns its answers unchanged.
func providerBackend(upstream *url.URL, transport http.RoundTripper) backend {
	answers := newReader()
	return func(w http.ResponseWriter, r *http.Request, q question, note func(answer, fault string)) {
		proxy := httputil.ReverseProxy{
			Transport: transport,
			ErrorLog:  log.New(io.Discard, "", 0), // ErrorHandler reports errors
			Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(upstream)
				// The transport then compresses and decompresses on its own.
				p.Out.Header.Del("Accept-Encoding")
				body := []byte(q.Body)
				if provider, err := providers.Named(config.Provider(q.Provider)); err == nil &&
					provider.Forward != nil {
					body = provider.Forward(p.Out, upstream, body)
				}
				if user := upstream.User; user != nil && p.Out.Header.Get("Authorization") == "" {
					password, _ := user.Password()
					p.Out.SetBasicAuth(user.Username(), password)
				}
				setBody(p.Out, body)
			},
			ModifyResponse: func(res *http.Response) error {
				body, err := read(res)
				if err != nil {
					return err
				}
				note(answers.read(r.Context(), q.Call, res, body))
				return nil
			},
			ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
				fault := fmt.Sprintf("no answer from %s: %v", upstream.Host, err)
				if r.Context().Err() != nil {
					fault = "the bot stopped waiting for the answer"
				}
				note("", fault)
				q.refuse(w, http.StatusBadGateway, fault)
			},
		}
		proxy.ServeHTTP(w, r)
	}
}

// setBody sets a body that the transport can send again after a dead connection.
func setBody(out *http.Request, body []byte) {
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(body))
}

// read returns an answer's body and leaves it readable. The status alone shows a refusal, even
// if its body is incomplete.
func read(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, llm.BodyLimit+1))
	_ = res.Body.Close()
	if err != nil && res.StatusCode < 300 {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(body) > llm.BodyLimit {
		return nil, fmt.Errorf("the answer is longer than %d MiB", llm.BodyLimit>>20)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))
	res.TransferEncoding = nil
	return body, nil
}
