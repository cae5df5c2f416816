// Package codec encrypts payloads on their way to Temporal and decrypts them on the way back:
// the inputs and results of workflows and activities, signals, summaries, and the messages and
// stack traces of failures. Ids, names, types and search attributes stay readable, because
// Temporal looks things up by them.
//
// A payload is encrypted whole, with its metadata, and names its key. So keys can be rotated
// while old payloads are still needed. A bound payload also names its namespace and workflow; the
// SDK tells the converters where they are, and a payload of another workflow is refused.
package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
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

// The metadata keys that a bound payload has besides. The last two are absent where the SDK does
// not say which workflow a payload belongs to.
const (
	metadataVersion   = "encryption-version"
	metadataNamespace = "namespace"
	metadataWorkflow  = "workflow-id"
)

// version is the format of bound payloads. Payloads of the first format have no version.
const version = "2"

// The reasons of an Error.
var (
	// ErrUnknownKey: the configuration lacks the key that the payload names.
	ErrUnknownKey = errors.New("encryption.keys has no such key")
	// ErrAltered: the payload was altered, or its key has another value.
	ErrAltered = errors.New("it was altered, or encrypted with another key of that id")
	// ErrMoved: the payload was written for another workflow or namespace.
	ErrMoved = errors.New("it is in the wrong place")
	// ErrUnknownVersion: the payload has a format that this program does not know.
	ErrUnknownVersion = errors.New("a newer version of the program wrote it")
)

// Error is returned for an encrypted payload that cannot be decrypted. It holds no key.
type Error struct {
	// KeyID is the key id in the payload.
	KeyID string
	// Err wraps ErrUnknownKey, ErrAltered, ErrMoved or ErrUnknownVersion.
	Err error
}

// Error quotes the key id and cuts it, because the payload may come from anywhere.
func (e *Error) Error() string {
	return fmt.Sprintf("payload encrypted with the key %.80q cannot be read: %v", e.KeyID, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Codec encrypts and decrypts payloads with AES-256-GCM. It is safe for concurrent use.
type Codec struct {
	active string
	bind   bool
	keys   map[string]cipher.AEAD
	at     place
}

var (
	_ converter.PayloadCodec                         = (*Codec)(nil)
	_ converter.PayloadCodecWithSerializationContext = (*Codec)(nil)
)

// New creates a codec with the configured keys. Without an active key it only decrypts.
func New(c config.Encryption) (*Codec, error) {
	codec := &Codec{active: c.ActiveKey, bind: c.BindPayloads, keys: make(map[string]cipher.AEAD, len(c.Keys))}
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

func mapPayloads(
	in []*commonpb.Payload, do func(*commonpb.Payload) (*commonpb.Payload, error),
) ([]*commonpb.Payload, error) {
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
	metadata := map[string][]byte{converter.MetadataEncoding: []byte(encoding), metadataKeyID: []byte(c.active)}
	if c.bind {
		metadata[metadataVersion] = []byte(version)
		c.at.write(metadata)
	}
	return &commonpb.Payload{Metadata: metadata, Data: c.keys[c.active].Seal(nil, nil, plain,
		additionalData(metadata))}, nil
}

func (c *Codec) decrypt(p *commonpb.Payload) (*commonpb.Payload, error) {
	metadata := p.GetMetadata()
	if string(metadata[converter.MetadataEncoding]) != encoding {
		return p, nil
	}
	id := string(metadata[metadataKeyID])
	key, ok := c.keys[id]
	if !ok {
		return nil, &Error{KeyID: id, Err: ErrUnknownKey}
	}
	if v := string(metadata[metadataVersion]); v != "" && v != version {
		return nil, &Error{KeyID: id, Err: ErrUnknownVersion}
	}
	plain, err := key.Open(nil, nil, p.GetData(), additionalData(metadata))
	if err != nil {
		return nil, &Error{KeyID: id, Err: ErrAltered}
	}
	if from := readPlace(metadata); !from.includes(c.at) {
		return nil, &Error{KeyID: id, Err: fmt.Errorf("%w: written for %v, found in %v", ErrMoved, from, c.at)}
	}
	out := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, out); err != nil {
		return nil, &Error{KeyID: id, Err: ErrAltered}
	}
	return out, nil
}

// additionalData is authenticated with a payload, so that its metadata can neither be changed nor
// removed. In the first format it is the encoding and the key id, and begins with a letter. A
// bound payload has all of the metadata, each value after its length, and begins with the
// length of the encoding: no payload of one format is one of the other.
func additionalData(metadata map[string][]byte) []byte {
	if len(metadata[metadataVersion]) == 0 {
		return []byte(encoding + "\x00" + string(metadata[metadataKeyID]))
	}
	var all []byte
	for _, key := range []string{converter.MetadataEncoding, metadataVersion, metadataKeyID, metadataNamespace,
		metadataWorkflow} {
		all = binary.AppendUvarint(all, uint64(len(metadata[key])))
		all = append(all, metadata[key]...)
	}
	return all
}
