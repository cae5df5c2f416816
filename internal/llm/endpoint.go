package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ParseEndpoint parses the address of a provider, which must be an absolute http or
// https URL. The error does not repeat it, since operators put secrets into URLs.
func ParseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("read endpoint: not an absolute http or https URL")
	}
	return u, nil
}

// ParseAccess checks the access to a provider's server. An empty address stands for the provider's own, which wants a
// key.
func ParseAccess(provider, apiKey, address, own string) (key string, base *url.URL, err error) {
	if key, err = ParseKey(apiKey); err == nil && key == "" && address == "" {
		err = errors.New("no API key")
	}
	if err == nil {
		base, err = ParseEndpoint(cmp.Or(address, own))
	}
	if err != nil {
		return "", nil, fmt.Errorf("open %s: %w", provider, err)
	}
	return key, base, nil
}

// WithoutQuery returns an address without its query and with a slash at its end, as client libraries want it.
func WithoutQuery(base *url.URL) string {
	bare := *base
	bare.RawQuery, bare.Fragment, bare.RawPath = "", "", ""
	bare.Path = strings.TrimRight(bare.Path, "/") + "/"
	return bare.String()
}

// ParseKey trims a key, since many secret files end in a line break, and refuses
// one with characters that HTTP headers forbid. The error does not repeat it.
func ParseKey(s string) (string, error) {
	s = strings.TrimSpace(s)
	for _, r := range s {
		if r < 0x20 || r > 0x7e {
			return "", errors.New("read API key: it has characters that HTTP headers forbid")
		}
	}
	return s, nil
}
