package webpage

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

var errDenied = errors.New("denied address")

// guard decides what may be connected to: public addresses that are neither denied nor this machine's own. A host in
// the machine's network that has a public address of its own looks like any other; whoever has such hosts denies them.
type guard struct {
	Options
	public *ssrf.Guardian
}

func newGuard(o Options) guard {
	var allowed []ssrf.Option
	if len(o.Allowed) > 0 {
		allowed = []ssrf.Option{ssrf.WithAllowedV4Prefixes(o.Allowed...), ssrf.WithAnyPort()}
	}
	if o.interfaces == nil {
		o.interfaces = net.InterfaceAddrs
	}
	return guard{o, ssrf.New(allowed...)}
}

// check is the Control of a net.Dialer.
func (g guard) check(network, address string, c syscall.RawConn) error {
	if err := g.public.Safe(network, address, c); err != nil {
		return err
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errDenied, err)
	}
	in := func(networks []netip.Prefix) bool {
		return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(to.Addr()) })
	}
	switch own, err := g.own(to.Addr()); {
	case in(g.Denied):
		return fmt.Errorf("%w: %s is in tools.deny_addresses", errDenied, to.Addr())
	case in(g.Allowed):
		return nil
	case err != nil:
		return fmt.Errorf("%w: cannot tell whether %s is this machine's: %w", errDenied, to.Addr(), err)
	case own:
		return fmt.Errorf("%w: %s is this machine's", errDenied, to.Addr())
	}
	return nil
}

// own reports whether an address is one of this machine's, as its interfaces are now.
func (g guard) own(address netip.Addr) (bool, error) {
	all, err := g.interfaces()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(address.AsSlice())
	}), err
}
