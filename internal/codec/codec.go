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

// The metadata keys of an encrypted payload, as in Temporal's samples and tools.
const (
	encoding      = "binary/encrypted"
	metadataKeyID = "encryption-key-id"
)

// The reasons of an Error.
var (
	// ErrUnknownKey: the configuration lacks the key that the payload names.
	ErrUnknownKey = errors.New("encryption.keys has no such key")
	// ErrAltered: the payload was altered, or its key has another value.
	ErrAltered = errors.New("it was altered, or encrypted with another key of that id")
)

// Error is returned for an encrypted payload that cannot be decrypted. It holds no key.
type Error struct {
	// KeyID is the key id in the payload.
	KeyID string
	// Err is ErrUnknownKey or ErrAltered.
	Err error
}

// Error quotes the key id and cuts it, because the payload may come from anywhere.
func (e *Error) Error() string {
	return fmt.Sprintf("payload encrypted with the key %.80q cannot be read: %v", e.KeyID, e.Err)
}

// Unwrap returns ErrUnknownKey or ErrAltered.
func (e *Error) Unwrap() error { return e.Err }

// Codec encrypts and decrypts payloads with AES-256-GCM. It is safe for concurrent use.
type Codec struct {
	active string
	keys   map[string]cipher.AEAD
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New creates a codec with the configured keys. Without an active key it only decrypts.
func New(c config.Encryption) (*Codec, error) {
	codec := &Codec{active: c.ActiveKey, keys: make(map[string]cipher.AEAD, len(c.Keys))}
	for id, key := range c.Keys {
		aead, err := newCipher(string(key))
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

// newCipher creates a cipher from a key in base64. Its errors do not hold the key.
func newCipher(key string) (cipher.AEAD, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("want 32 bytes in base64")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	// Nonces are random, and are stored before the ciphertext. They suffice for 2³² payloads
	// per key: many years of a busy workspace.
	return cipher.NewGCMWithRandomNonce(block)
}

// Encode encrypts payloads with the active key. Without one it returns them unchanged.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.active == "" {
		return payloads, nil
	}
	return mapPayloads(payloads, c.encrypt)
}

// Decode decrypts each payload with the key that it names. It leaves plain payloads alone: they
// may be older than the encryption. Its error is an *Error.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return mapPayloads(payloads, c.decrypt)
}

func mapPayloads(in []*commonpb.Payload, do func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		var err error
		if out[i], err = do(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *Codec) encrypt(p *commonpb.Payload) (*commonpb.Payload, error) {
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encrypt payload: %w", err)
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding), metadataKeyID: []byte(c.active)},
		Data:     c.keys[c.active].Seal(nil, nil, plain, additionalData(c.active)),
	}, nil
}

func (c *Codec) decrypt(p *commonpb.Payload) (*commonpb.Payload, error) {
	if string(p.GetMetadata()[converter.MetadataEncoding]) != encoding {
		return p, nil
	}
	id := string(p.GetMetadata()[metadataKeyID])
	key, ok := c.keys[id]
	if !ok {
		return nil, &Error{KeyID: id, Err: ErrUnknownKey}
	}
	plain, err := key.Open(nil, nil, p.GetData(), additionalData(id))
	if err != nil {
		return nil, &Error{KeyID: id, Err: ErrAltered}
	}
	out := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, out); err != nil {
		return nil, &Error{KeyID: id, Err: ErrAltered}
	}
	return out, nil
}

// additionalData is authenticated with a payload: the encoding and the key id. A key under
// another id therefore does not decrypt it.
func additionalData(id string) []byte { return []byte(encoding + "\x00" + id) }
