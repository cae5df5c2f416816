package cli

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"os/user"
	"strings"
	"unicode"
	"unicode/utf8"
)

// byFlag is the flag of every command that gives an order.
type byFlag struct {
	By operatorName `env:"USER" placeholder:"NAME" help:"Who gives the order, for the ledger ($$USER, or the name of the account)."`
}

func (o byFlag) by() string { return "cli:" + cmp.Or(string(o.By), accountName(user.Current)) }

// operatorName is a name that the ledger accepts.
type operatorName string

// maxNameLength is in characters.
const maxNameLength = 200

// Validate implements kong's Validate.
func (p operatorName) Validate() error {
	if name := string(p); utf8.RuneCountInString(name) > maxNameLength ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("want a name of at most %d characters, without control characters", maxNameLength)
	}
	return nil
}

// accountName returns the name of the account that runs the program, or uid:N if it has no name,
// as in a container.
func accountName(current func() (*user.User, error)) string {
	if u, err := current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid:%d", os.Getuid())
}

// orderID returns a new id for an order.
func orderID() string { return "cli-" + rand.Text() }
