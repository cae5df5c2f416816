package door

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"myao/internal/runtime/timeout"
)

const (
	// bodyLimit is the size of the largest body that is read, in bytes.
	bodyLimit = 1 << 20
	// bodyTimeout is how long a body may take after its header. Slack sends both at once.
	bodyTimeout = 2 * time.Second
	// unverifiedLimit bounds, in bytes, the bodies that are being read, or wait for the check of their signature.
	unverifiedLimit = 24 << 20
	// networkShare is what one network may hold of that without being cut off first.
	networkShare = unverifiedLimit / 4
	// firstRead is how much room a body gets for its first bytes; it doubles as often as it is full.
	firstRead = 4 << 10
)

var (
	errTooLarge   = errors.New("the body is larger than 1 MiB")
	errEndedEarly = errors.New("the body ended early")
	errSlow       = errors.New("the body took too long")
	errCrowded    = errors.New("too many requests are being read; send it again")
)

// unverified holds the bodies whose signature has not been checked yet. Anybody may send them.
//
// A body takes room for what has come of it, whatever it announces. Where there is no more room, the oldest body makes
// some: it is cut off, and the newest goes on. Slack sends a body at once, so the oldest are those that somebody holds
// back, however many networks they come from. A network that holds more than its share makes room first, which never
// is Slack's unless all come from the one address of a proxy; and then its oldest are cut off, too. Requests beyond a
// share that were turned away would let whoever fills the proxy's share keep Slack out.
type unverified struct {
	mu     sync.Mutex
	bodies []*unverifiedBody // the oldest first
	size   int64             // of all of them
	sizes  map[netip.Prefix]int64
}

// unverifiedBody is a body that is being read, with the room that it takes.
type unverifiedBody struct {
	network netip.Prefix
	// cut has its next read fail.
	cut   func()
	size  int64
	isCut bool
}

// grow gives a body room for so many bytes in all. It returns false if the body is cut off.
func (u *unverified) grow(b *unverifiedBody, size int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if b.isCut {
		return false
	}
	if b.size == 0 {
		u.bodies = append(u.bodies, b)
	}
	u.resize(b, size)
	for u.size > unverifiedLimit {
		dispensable := u.dispensable()
		u.remove(dispensable)
		dispensable.isCut = true
		dispensable.cut()
	}
	return !b.isCut
}

// leave gives back the room of a body. It returns false if the body was cut off.
func (u *unverified) leave(b *unverifiedBody) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !b.isCut {
		u.remove(b)
	}
	return !b.isCut
}

// dispensable is the oldest body of a network that holds more than its share, or else the oldest of all.
func (u *unverified) dispensable() *unverifiedBody {
	return u.bodies[max(0, slices.IndexFunc(u.bodies,
		func(b *unverifiedBody) bool { return u.sizes[b.network] > networkShare }))]
}

func (u *unverified) remove(b *unverifiedBody) {
	u.resize(b, 0)
	u.bodies = slices.DeleteFunc(u.bodies, func(other *unverifiedBody) bool { return other == b })
}

func (u *unverified) resize(b *unverifiedBody, size int64) {
	if u.sizes == nil {
		u.sizes = map[netip.Prefix]int64{}
	}
	u.size += size - b.size
	u.sizes[b.network] += size - b.size
	if u.sizes[b.network] == 0 {
		delete(u.sizes, b.network)
	}
	b.size = size
}

// networkOf is what counts as one sender: an IPv4 address, or the network of 64 bits that one gets with IPv6.
func networkOf(r *http.Request) netip.Prefix {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr := from.Addr().Unmap().WithZone("")
	return netip.PrefixFrom(addr, min(addr.BitLen(), 64)).Masked()
}

// readVerified reads a body within bodyTimeout, and checks its signature with verify. It returns errCrowded if the
// body was cut off to make room for others.
func (u *unverified) readVerified(w http.ResponseWriter, r *http.Request, verify func(body []byte) error) (
	[]byte, error) {
	if r.ContentLength > bodyLimit {
		return nil, errTooLarge
	}
	// The deadline is the connection's, so the machine's clock counts. Not every writer of a test has one.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(timeout.Of(r.Context(), bodyTimeout)))
	b := &unverifiedBody{network: networkOf(r), cut: func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) }}
	body, err := u.read(b, http.MaxBytesReader(w, r.Body, bodyLimit))
	if err == nil {
		err = verify(body)
	}
	if !u.leave(b) {
		return nil, errCrowded
	}
	if err != nil {
		return nil, err
	}
	// The request may take longer than its body.
	_ = connection.SetReadDeadline(time.Time{})
	return body, nil
}

// read reads a body to its end.
func (u *unverified) read(b *unverifiedBody, r io.Reader) (body []byte, err error) {
	for err == nil {
		if len(body) == cap(body) {
			size := min(max(firstRead, 2*len(body)), bodyLimit+1)
			if !u.grow(b, int64(size)) {
				return nil, errCrowded
			}
			body = append(make([]byte, 0, size), body...)
		}
		var n int
		n, err = r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
	}
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, io.EOF):
		return body, nil
	case large:
		return nil, errTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	}
	return nil, errEndedEarly
}
