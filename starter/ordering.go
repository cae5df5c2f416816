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

// ordering says who gives an order.
type ordering struct {
	By person `env:"USER" placeholder:"NAME" help:"Who orders it, for the record ($$USER, else the name of the account)."`
}

func (o ordering) by() string { return "cli:" + cmp.Or(string(o.By), account(user.Current)) }

// person is a name as the record takes it.
type person string

// longestName is in characters.
const longestName = 200

// Validate is kong's way to be told what is no name.
func (p person) Validate() error {
	if name := string(p); utf8.RuneCountInString(name) > longestName || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("want a name of at most %d characters, without control characters", longestName)
	}
	return nil
}

// account is the name of the account that the program runs as, or its number where it
// has no name, as in a container.
func account(current func() (*user.User, error)) string {
	if u, err := current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid:%d", os.Getuid())
}

// orderID is an id that no other order has.
func orderID() string { return "cli-" + rand.Text() }
