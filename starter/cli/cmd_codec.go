package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"myao/internal/runtime/codec"
	"myao/internal/runtime/web"
)

// tokenVariable is the environment variable with the codec server's token. A flag would be visible
// in the process list.
const tokenVariable = "MYAO_CODEC_TOKEN"

// minTokenLength is in bytes. The server may be open to the network, where tokens can be guessed.
const minTokenLength = 16

// codecCommand serves Temporal's codec server protocol: it decrypts payloads for the Web UI and
// the CLI.
type codecCommand struct {
	Address string   `default:"127.0.0.1:8234" placeholder:"HOST:PORT" help:"Where to listen (${default}). Anything but loopback needs MYAO_CODEC_TOKEN in the environment."`
	Origin  []string `default:"http://localhost:8233,http://127.0.0.1:8233" placeholder:"URL" help:"The address of a Web UI that may use it (${default}). Can be given more than once."`
}

// Help implements kong's Help.
func (*codecCommand) Help() string {
	return `Whoever can reach the codec server can read what is encrypted. In the Web UI, choose
"Configure Codec Server" and give it http://127.0.0.1:8234; for the CLI:

  temporal workflow show --workflow-id ID --codec-endpoint http://127.0.0.1:8234

With MYAO_CODEC_TOKEN set, every request needs that token (--codec-auth "Bearer TOKEN").

Examples:
  starter codec
  starter codec --origin https://temporal.example.com`
}

// Validate implements kong's Validate.
func (c *codecCommand) Validate() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("--address %q: want HOST:PORT", c.Address)
	}
	for _, origin := range c.Origin {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") ||
			u.Scheme+"://"+strings.ToLower(u.Host) != origin || u.Hostname() == "" {
			return fmt.Errorf("--origin %q: want the address of a Web UI in lower case, without a path: "+
				"https://temporal.example.com", origin)
		}
	}
	return nil
}

// run serves until the context ends.
func (c *codecCommand) run(ctx context.Context, p *program) error {
	token := os.Getenv(tokenVariable)
	if len(p.Config.Encryption.Keys) == 0 {
		return errors.New("encryption.keys is empty: there is nothing to decrypt with")
	}
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return err
	}
	local := codec.IsLoopback(host)
	switch {
	case token == "" && !local:
		return fmt.Errorf("--address %s is reachable from other machines, which could then decrypt everything: set %s",
			c.Address, tokenVariable)
	case token != "" && len(token) < minTokenLength:
		return fmt.Errorf("%s is too short: want at least %d characters", tokenVariable, minTokenLength)
	}
	keys, err := codec.New(p.Config.Encryption)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if _, err := fmt.Fprintf(p.stdout, "codec server at http://%s\n", listener.Addr()); err != nil {
		return err
	}
	return web.Serve(ctx, &http.Server{
		Handler: codec.Server{Codec: keys, Origins: c.Origin, Local: local, Token: token,
			Logger: p.Logger}.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
	}, listener)
}
