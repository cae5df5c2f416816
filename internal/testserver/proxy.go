package testserver

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between a client and a Postgres, and can fail as a network does.
type Proxy struct {
	// URL is the Postgres as it is reached through the proxy.
	URL string

	mu    sync.Mutex
	turn  *sync.Cond // the state has changed
	state ProxyMode
	conns []net.Conn
}

// ProxyMode is what becomes of what is sent.
type ProxyMode string

const (
	// Passing: it arrives.
	ProxyForward ProxyMode = "passing"
	// Silent: it is lost, as on a machine that is cut off: no answer, and no word that there will be none.
	ProxyBlackhole ProxyMode = "silent"
	// Mute: the server hears it, and its answers wait until the state is another.
	ProxyHoldAnswers ProxyMode = "mute"
	// Gone: connections are closed, those that are made as well.
	ProxyClose ProxyMode = "gone"
)

// NewProxy stands before the Postgres at an address, and passes everything. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{state: ProxyForward}
	p.turn = sync.NewCond(&p.mu)
	p.URL = Intercept(t, target, func(client, server net.Conn) {
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		if p.state == ProxyClose {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		go p.copy(server, client, false)
		p.copy(client, server, true)
	})
	t.Cleanup(func() { p.SetMode(ProxyClose) })
	return p
}

// Intercept stands before the Postgres at an address until the test ends, and returns the
// address by which that is reached through it. Of each connection of a client it makes one
// to the server; to carry what is sent from one to the other, and to close both, is carry's.
func Intercept(t testing.TB, target string, carry func(client, server net.Conn)) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	address := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
		for answers && p.state == ProxyHoldAnswers {
			p.turn.Wait()
		}
		silent := p.state == ProxyBlackhole
		p.mu.Unlock()
		if err != nil {
			return
		}
		if silent {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// SetMode changes the state, for what is under way as well.
func (p *Proxy) SetMode(state ProxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	p.turn.Broadcast()
	if state == ProxyClose {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}
