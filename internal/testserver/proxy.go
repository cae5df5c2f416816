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
	state ProxyState
	conns []net.Conn
}

// ProxyState is what becomes of what is sent.
type ProxyState string

const (
	// Passing: it arrives.
	Passing ProxyState = "passing"
	// Silent: it is lost, as on a machine that is cut off: no answer, and no word that there will be none.
	Silent ProxyState = "silent"
	// Mute: the server hears it, and its answers wait until the state is another.
	Mute ProxyState = "mute"
	// Gone: connections are closed, those that are made as well.
	Gone ProxyState = "gone"
)

// NewProxy stands before the Postgres at an address, and passes everything. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	p := &Proxy{URL: u.String(), state: Passing}
	p.turn = sync.NewCond(&p.mu)
	t.Cleanup(func() { _ = l.Close(); p.Set(Gone) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			if p.state == Gone {
				_, _ = in.Close(), out.Close()
			}
			p.mu.Unlock()
			go p.copy(out, in, false)
			go p.copy(in, out, true)
		}
	}()
	return p
}

func (p *Proxy) copy(to, from net.Conn, answers bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for answers && p.state == Mute {
			p.turn.Wait()
		}
		silent := p.state == Silent
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

// Set changes the state, for what is under way as well.
func (p *Proxy) Set(state ProxyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	p.turn.Broadcast()
	if state == Gone {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}
