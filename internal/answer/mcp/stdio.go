package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"myao/internal/config"
	"myao/internal/runtime/group"
	"myao/internal/store"
)

const (
	// maxMessage bounds one message of a server, in bytes.
	maxMessage = 16 << 20
	// maxStderrLine bounds a line of a server's standard error that is logged, in bytes.
	maxStderrLine = 500
	// endTimeout is how long a server has to end after its input ends, and again after SIGTERM.
	endTimeout = 2 * time.Second
)

// child starts a server's program, and speaks over its standard input and output. It sees of the
// environment only what the configuration names, and dies with this program.
type child struct {
	server config.MCPServer
	logger *slog.Logger
}

// Connect implements sdk.Transport.
func (c *child) Connect(ctx context.Context) (sdk.Connection, error) {
	cmd := exec.Command(c.server.Command, c.server.Args...)
	cmd.Env = []string{} // nil would be that of this program
	for name, value := range c.server.Env {
		cmd.Env = append(cmd.Env, name+"="+string(value))
	}
	group.Lead(cmd, syscall.SIGKILL)
	var ours, theirs []*os.File
	shut := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	pipe := func(toChild bool) (our, their *os.File, err error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		if our, their = r, w; toChild {
			our, their = w, r
		}
		ours, theirs = append(ours, our), append(theirs, their)
		return our, their, nil
	}
	in, itsIn, err1 := pipe(true)
	out, itsOut, err2 := pipe(false)
	log, itsLog, err3 := pipe(false)
	if err := errors.Join(err1, err2, err3); err != nil {
		shut(append(ours, theirs...))
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = itsIn, itsOut, itsLog
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		// The kernel tells the child of the end of the thread that started it, not of the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	err := <-started
	shut(theirs)
	if err != nil {
		shut(ours)
		return nil, err
	}
	go c.read(ctx, log)
	p := &process{stdin: in, stdout: out, running: cmd.Process, ended: ended}
	return (&sdk.IOTransport{Reader: p, Writer: p, MaxLineLength: maxMessage}).Connect(ctx)
}

// read logs what the server says on standard error. It may quote what people said, so it is for those who
// look for a fault.
func (c *child) read(ctx context.Context, r io.ReadCloser) {
	defer func() { _ = r.Close() }()
	ctx = context.WithoutCancel(ctx)
	lines := bufio.NewReaderSize(r, maxStderrLine)
	for {
		line, more, err := lines.ReadLine()
		if len(line) > 0 && c.logger.Enabled(ctx, slog.LevelDebug) {
			c.logger.DebugContext(ctx, "MCP server says", "line", c.hide(store.Clean(string(line))))
		}
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
		if err != nil {
			return
		}
	}
}

// hide takes the secrets of the server out of a line.
func (c *child) hide(line string) string {
	for _, value := range c.server.Env {
		if len(value) >= 4 {
			line = strings.ReplaceAll(line, string(value), "(hidden)")
		}
	}
	return line
}

// process is a running child.
type process struct {
	stdin, stdout *os.File
	running       *os.Process
	ended         chan struct{}
	once          sync.Once
}

func (p *process) Read(b []byte) (int, error)  { return p.stdout.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close ends the child and all that it has started. It asks before it kills.
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.endsWithin(endTimeout) {
			_ = group.AskToEnd(p.running) // whose input has ended
			p.endsWithin(endTimeout)
		}
		_ = group.Kill(p.running)
		<-p.ended
		_ = p.stdout.Close()
	})
	return nil
}

func (p *process) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}
