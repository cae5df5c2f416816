package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// healthCommand asks a program whether it is ready. It is for containers, which have no shell, no
// curl and no configuration.
type healthCommand struct {
	URL     string        `default:"http://127.0.0.1:8080/readyz" placeholder:"URL" help:"The address to ask (${default}); a worker's is http://127.0.0.1:8081/readyz."`
	Timeout time.Duration `default:"4s" help:"How long to wait for the answer (${default})."`
}

// Help implements kong's Help.
func (*healthCommand) Help() string {
	return `It reads no configuration and needs no secrets. If something is wrong it prints what, and the
exit status is 1; otherwise the exit status is 0. In a container of the image:

  /starter health                                      a starter
  /starter health --url http://127.0.0.1:8081/readyz   a worker

/livez in place of /readyz only asks whether the program runs.`
}

// Validate implements kong's Validate.
func (c *healthCommand) Validate() error {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("--url %q: want an address such as http://127.0.0.1:8080/readyz", c.URL)
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout %s: want a time above 0, such as 4s", c.Timeout)
	}
	return nil
}

// run asks once. Its error names what the program lacks.
func (c *healthCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	const maxBody = 4 << 10 // bytes
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s answers %s\n%s", c.URL, answer.Status, body)))
	}
	_, err = p.stdout.Write(body)
	return err
}
