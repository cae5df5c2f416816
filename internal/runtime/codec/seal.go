package codec

import (
	"errors"
	"fmt"
)

// sealVersion is the first byte of what Seal returns. The key id follows, after its length, and then the ciphertext.
const sealVersion = 1

// ErrNoKey is returned by Seal without an active key.
var ErrNoKey = errors.New("there is no encryption.active_key")

// Seal encrypts what is kept in the database under a name, with the active key. Elsewhere Unseal refuses it.
func (c *Codec) Seal(plain []byte, name string) ([]byte, error) {
	if c.active == "" {
		return nil, ErrNoKey
	}
	sealed := append([]byte{sealVersion, byte(len(c.active))}, c.active...)
	return c.keys[c.active].Seal(sealed, nil, plain, []byte(name)), nil
}

// Unseal decrypts what Seal has encrypted under the same name. Its error is an *Error.
func (c *Codec) Unseal(sealed []byte, name string) ([]byte, error) {
	id, ciphertext, err := sealedBy(sealed)
	if err != nil {
		return nil, err
	}
	key, ok := c.keys[id]
	if !ok {
		return nil, &Error{id, ErrUnknownKey}
	}
	plain, err := key.Open(nil, nil, ciphertext, []byte(name))
	if err != nil {
		return nil, &Error{id, ErrAltered}
	}
	return plain, nil
}

// Reseal encrypts with the active key what another one has encrypted. What the active one has encrypted, it returns as
// it is.
func (c *Codec) Reseal(sealed []byte, name string) ([]byte, error) {
	if c.Current(sealed) {
		return sealed, nil
	}
	plain, err := c.Unseal(sealed, name)
	if err != nil {
		return nil, err
	}
	return c.Seal(plain, name)
}

// Current reports whether the active key has encrypted what Seal returned.
func (c *Codec) Current(sealed []byte) bool {
	id, _, err := sealedBy(sealed)
	return err == nil && id == c.active
}

// sealedBy returns the id of the key, and what it has encrypted.
func sealedBy(sealed []byte) (id string, ciphertext []byte, err error) {
	if len(sealed) < 2 || len(sealed) < 2+int(sealed[1]) {
		return "", nil, &Error{"", ErrAltered}
	}
	if sealed[0] != sealVersion {
		return "", nil, &Error{"", fmt.Errorf("%w: format %d", ErrUnknownVersion, sealed[0])}
	}
	n := 2 + int(sealed[1])
	return string(sealed[2:n]), sealed[n:], nil
}
