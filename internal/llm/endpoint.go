package llm

import (
	"errors"
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
