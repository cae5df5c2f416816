package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestInvalidArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"hello"}, `sandbox: unexpected argument "hello"`},
		{[]string{"--temporal-port", "64536"}, "sandbox: --temporal-port is 64536; it must be from 0 to 64535"},
		{[]string{"--temporal-port", "-1"}, "sandbox: --temporal-port is -1; it must be from 0 to 64535"},
		{[]string{"--quiet", "1"}, "sandbox: --quiet is 1; it must be from 2 to 60 seconds"},
		{[]string{"--quiet", "61"}, "sandbox: --quiet is 61; it must be from 2 to 60 seconds"},
		{[]string{"--language", "fr"}, `sandbox: --language is "fr"; it must be en or ja`},
		{[]string{"--temporal-port", "many"}, `invalid value "many" for flag -temporal-port`},
	} {
		var said bytes.Buffer
		if code := run(t.Context(), test.args, io.Discard, &said); code != 2 || !strings.HasPrefix(said.String(), test.want) {
			t.Errorf("%q: %d, %q, want 2, %q", test.args, code, said.String(), test.want)
		}
	}
}
