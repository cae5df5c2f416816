package testserver

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy forwards connections to Postgres and can fail as a network does.
type Proxy struct {
	// URL reaches Postgres through the proxy.
	URL string

	mu      sync.Mutex
	changed *sync.Cond // signals a new mode
	mode    ProxyMode
	conns   []net.Conn
}

// ProxyMode says what happens to the bytes that either side sends.
type ProxyMode string

const (
	// ProxyForward delivers them.
	ProxyForward ProxyMode = "forward"
	// ProxyBlackhole loses them without an error, as a cut network does.
	ProxyBlackhole ProxyMode = "blackhole"
	// ProxyHoldAnswers delivers requests and holds answers back until the mode changes.
	ProxyHoldAnswers ProxyMode = "hold answers"
	// ProxyClose closes open and new connections.
	ProxyClose ProxyMode = "close"
)

// NewProxy starts a proxy for the Postgres at a URL in the mode ProxyForward. It ends with
// the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{mode: ProxyForward}
	p.changed = sync.NewCond(&p.mu)
	p.URL = Intercept(t, target, func(client, server net.Conn) {
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		if p.mode == ProxyClose {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		go p.copy(server, client, false)
		p.copy(client, server, true)
	})
	t.Cleanup(func() { p.SetMode(ProxyClose) })
	return p
}

// Intercept listens in front of the Postgres at a URL until the test ends, and returns the
// URL to use instead. For each client connection it dials the server and calls carry, which
// must copy the bytes in both directions and close both connections.
func Intercept(t testing.TB, target string, carry func(client, server net.Conn)) string {
	t.Helper()
	u, err := url.Parse(target)
	Must(t, err)
	address := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	u.Host = l.Addr().String()
	var group sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); group.Wait() })
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				_ = client.Close()
				continue
			}
			group.Go(func() { carry(client, server) })
		}
	})
	return u.String()
}

func (p *Proxy) copy(to, from net.Conn, answers bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for answers && p.mode == ProxyHoldAnswers {
			p.changed.Wait()
		}
		lose := p.mode == ProxyBlackhole
		p.mu.Unlock()
		if err != nil {
			return
		}
		if lose {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// SetMode changes the mode, for open connections as well.
func (p *Proxy) SetMode(mode ProxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	p.changed.Broadcast()
	if mode == ProxyClose {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}
