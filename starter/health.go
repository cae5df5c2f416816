package main

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

// healthCommand asks a program how it is: for who runs it where there is no shell, no
// curl and no configuration, as in a container.
type healthCommand struct {
	URL     string        `default:"http://127.0.0.1:8080/readyz" placeholder:"URL" help:"What to ask (${default}); a worker's is http://127.0.0.1:8081/readyz."`
	Timeout time.Duration `default:"4s" help:"How long to wait for the answer (${default})."`
}

// Help is kong's way to be told more.
func (*healthCommand) Help() string {
	return `It reads no configuration and needs no secrets. What is wrong is printed, and the exit
status is 1; 0 means that all is well. In a container of the image:

  /starter health                                      a starter
  /starter health --url http://127.0.0.1:8081/readyz   a worker

/livez in the place of /readyz asks no more than whether the program runs.`
}

// Validate is kong's way to be told what cannot be.
func (c *healthCommand) Validate() error {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("--url %q: want an address as http://127.0.0.1:8080/readyz", c.URL)
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout %s: want a time above 0, as 4s", c.Timeout)
	}
	return nil
}

// runStandalone asks once. Its error is what the program says is missing.
func (c *healthCommand) runStandalone(ctx context.Context, stdout io.Writer) error {
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
	const most = 4 << 10 // bytes of what it says
	said, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s answers %s\n%s", c.URL, answer.Status, said)))
	}
	_, err = stdout.Write(said)
	return err
}
