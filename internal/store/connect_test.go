package store

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"myao/internal/chat"
	"myao/test/testserver"
)

// passwordServer is a Postgres that asks for a password, hands it to the test and refuses it.
func passwordServer(t *testing.T) (address string, given <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told, ended := make(chan string, 10), make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-ended })
	refuse := func(conn net.Conn) error {
		defer func() { _ = conn.Close() }()
		b := pgproto3.NewBackend(conn, conn)
		if _, err := b.ReceiveStartupMessage(); err != nil {
			return err
		}
		b.Send(&pgproto3.AuthenticationCleartextPassword{})
		if err := b.Flush(); err != nil {
			return err
		}
		if err := b.SetAuthType(pgproto3.AuthTypeCleartextPassword); err != nil {
			return err
		}
		answer, err := b.Receive()
		if err != nil {
			return err
		}
		if p, ok := answer.(*pgproto3.PasswordMessage); ok {
			told <- p.Password
		}
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"})
		return b.Flush()
	}
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if err := refuse(conn); err != nil {
				t.Error(err)
			}
		}
	}()
	return l.Addr().String(), told
}

// A password file may be renewed while the program runs, for example because the password expires.
// Each connection uses the file as of then.
func TestPasswordFileIsReadPerConnection(t *testing.T) {
	t.Parallel()
	address, given := passwordServer(t)
	file := filepath.Join(t.TempDir(), "pgpass")
	write := func(password string) {
		t.Helper()
		must(t, os.WriteFile(file, []byte("*:*:*:*:"+password+"\n"), 0o600))
	}
	write("the first")
	pool, _, err := openPostgres("postgres://u@" + address + "/db?sslmode=disable&passfile=" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	for _, want := range []string{"the first", "the second"} {
		write(want)
		if err := pool.PingContext(t.Context()); err == nil {
			t.Error("let in")
		}
		if got := <-given; got != want {
			t.Errorf("the password is %q, want %q", got, want)
		}
	}
}

func TestPoolSizeFromURL(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t)
	s := migrated(t, with(url, "pool_max_conns=4"))
	noErrors(t, concurrently(40, func(n int) error { // each of them in a transaction
		if n%2 == 0 {
			return s.SaveHistory(t.Context(), []chat.Message{said(at(n), "")})
		}
		_, err := s.Record(t.Context(), said(at(n), ""), keep(said(at(n), "")))
		return err
	}))
	if stats := s.pool.Stats(); stats.MaxOpenConnections != 4 {
		t.Errorf("up to %d connections", stats.MaxOpenConnections)
	}
	for _, few := range []string{"3", "0", "-1", "many", ""} {
		if _, err := Open(t.Context(), with(url, "pool_max_conns="+few)); err == nil || !strings.Contains(err.Error(), `pool_max_conns is "`+few+`"`) {
			t.Errorf("%q: %v", few, err)
		}
	}
}
