package serve

import (
	"context"
	"net"
	"net/http"

	"myao/internal/runtime/web"
)

func (s *starter) server(l web.Limits) *http.Server { return web.NewServer(s.routes(), l, s.Logger) }

// listen serves HTTP until the context ends.
func (s *starter) listen(ctx context.Context, listener net.Listener) error {
	s.Logger.Info("starter listens", "address", listener.Addr().String())
	return web.Serve(ctx, s.server(web.DefaultLimits()), listener)
}
