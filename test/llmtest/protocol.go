package llmtest

import "net/http"

// Protocol reads and answers one request, for a program that acts as a provider
// and records requests itself.
type Protocol struct {
	wire    protocol
	request *http.Request
}

// ProtocolOf returns the protocol of a request. ok is false if a Server would not serve it.
func ProtocolOf(r *http.Request) (p Protocol, ok bool) {
	wire := protocolOf(r)
	return Protocol{wire, r}, wire != nil
}

// Read returns the request as a Call, given its body. N and At stay zero.
func (p Protocol) Read(body []byte) (Call, error) {
	c, err := p.wire.read(p.request, body)
	c.Path, c.Query, c.Header, c.Body = p.request.URL.Path, p.request.URL.RawQuery, p.request.Header.Clone(), body
	return c, err
}

// Answer writes a reply, which must have neither Delay nor Drop.
func (p Protocol) Answer(w http.ResponseWriter, c Call, r Reply) { writeReply(w, p.wire, c, r) }
