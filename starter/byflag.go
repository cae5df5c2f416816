package main

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

// byFlag says who gives an order.
type byFlag struct {
	By operatorName `env:"USER" placeholder:"NAME" help:"Who orders it, for the record ($$USER, else the name of the account)."`
}

func (o byFlag) by() string { return "cli:" + cmp.Or(string(o.By), accountName(user.Current)) }

// operatorName is a name as the record takes it.
type operatorName string

// maxNameLength is in characters.
const maxNameLength = 200

// Validate is kong's way to be told what is no name.
func (p operatorName) Validate() error {
	if name := string(p); utf8.RuneCountInString(name) > maxNameLength || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("want a name of at most %d characters, without control characters", maxNameLength)
	}
	return nil
}

// accountName is the name of the account that the program runs as, or its number where it
// has no name, as in a container.
func accountName(current func() (*user.User, error)) string {
	if u, err := current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid:%d", os.Getuid())
}

// orderID is an id that no other order has.
func orderID() string { return "cli-" + rand.Text() }
