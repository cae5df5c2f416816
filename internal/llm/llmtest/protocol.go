package llmtest

import "net/http"

// Protocol reads and answers one request, for a program that stands where a
// provider does and keeps its own record.
type Protocol struct {
	wire    protocol
	request *http.Request
}

// ProtocolOf is the protocol of a request that a Server would serve; ok is false for any other.
func ProtocolOf(r *http.Request) (p Protocol, ok bool) {
	wire := protocolOf(r)
	return Protocol{wire, r}, wire != nil
}

// Read is the call that the request makes with this body. N and At are not known.
func (p Protocol) Read(body []byte) (Call, error) {
	c, err := p.wire.read(p.request, body)
	c.Path, c.Query, c.Header, c.Body = p.request.URL.Path, p.request.URL.RawQuery, p.request.Header.Clone(), body
	return c, err
}

// Answer writes a reply, which is to have neither Delay nor Drop.
func (p Protocol) Answer(w http.ResponseWriter, c Call, r Reply) { writeReply(w, p.wire, c, r) }
