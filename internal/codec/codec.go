package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"myao/internal/config"
)

// The metadata of an encrypted payload. The names are those of Temporal's own
// samples, which tools know.
const (
	encoding      = "binary/encrypted"
	metadataKeyID = "encryption-key-id"
)

// What can be wrong with an encrypted payload.
var (
	// ErrUnknownKey: the payload names a key that the configuration does not have.
	ErrUnknownKey = errors.New("encryption.keys has no such key")
	// ErrAltered: the payload is not what was sealed with the key of that id.
	ErrAltered = errors.New("it was altered, or encrypted with another key of that id")
)

// Error is an encrypted payload that cannot be read. It tells no key.
type Error struct {
	// KeyID is the id of the key that the payload names.
	KeyID string
	// Err is ErrUnknownKey or ErrAltered.
	Err error
}

// Error names the key's id, which is not ours: it is quoted, and cut if it is long.
func (e *Error) Error() string {
	return fmt.Sprintf("payload encrypted with the key %.80q cannot be read: %v", e.KeyID, e.Err)
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Codec encrypts payloads with AES-256-GCM and decrypts them. It can be used from
// many goroutines at once.
type Codec struct {
	active string
	keys   map[string]cipher.AEAD
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New makes a codec of the configuration's keys. Without an active key it decrypts
// what was encrypted once, and encrypts nothing.
func New(c config.Encryption) (*Codec, error) {
	codec := &Codec{active: c.ActiveKey, keys: make(map[string]cipher.AEAD, len(c.Keys))}
	for id, key := range c.Keys {
		aead, err := open(string(key))
		if err != nil {
			return nil, fmt.Errorf("encryption key %q: %w", id, err)
		}
		codec.keys[id] = aead
	}
	if _, ok := codec.keys[codec.active]; !ok && codec.active != "" {
		return nil, fmt.Errorf("active encryption key %q is not among the keys", codec.active)
	}
	return codec, nil
}

// open makes a cipher of a key in base64. What is wrong with a key is told without it.
func open(key string) (cipher.AEAD, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("want 32 bytes in base64")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	// Its nonces are random and stand before the ciphertext. They are good for 2³²
	// payloads a key, which is many years of a busy workspace.
	return cipher.NewGCMWithRandomNonce(block)
}

// Encode encrypts payloads with the active key; without one they pass as they are.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.active == "" {
		return payloads, nil
	}
	return each(payloads, c.seal)
}

// Decode decrypts what is encrypted, with whichever key it names, and leaves alone
// what is not: it may be older than the encryption. Its error is an *Error.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.unseal)
}

func each(in []*commonpb.Payload, do func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		var err error
		if out[i], err = do(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *Codec) seal(p *commonpb.Payload) (*commonpb.Payload, error) {
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encrypt payload: %w", err)
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding), metadataKeyID: []byte(c.active)},
		Data:     c.keys[c.active].Seal(nil, nil, plain, label(c.active)),
	}, nil
}

func (c *Codec) unseal(p *commonpb.Payload) (*commonpb.Payload, error) {
	if string(p.GetMetadata()[converter.MetadataEncoding]) != encoding {
		return p, nil
	}
	id := string(p.GetMetadata()[metadataKeyID])
	key, ok := c.keys[id]
	if !ok {
		return nil, &Error{KeyID: id, Err: ErrUnknownKey}
	}
	plain, err := key.Open(nil, nil, p.GetData(), label(id))
	if err != nil {
		return nil, &Error{KeyID: id, Err: ErrAltered}
	}
	out := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, out); err != nil {
		return nil, &Error{KeyID: id, Err: ErrAltered}
	}
	return out, nil
}

// label is what is authenticated beside a payload: that it is encrypted, and with
// which key. Two keys of one value under two ids are still two keys.
func label(id string) []byte { return []byte(encoding + "\x00" + id) }
