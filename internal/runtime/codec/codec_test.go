package codec

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"

	"myao/internal/config"
)

// key is a key of 32 equal bytes.
func key(of byte) config.Secret {
	return config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{of}, 32)))
}

// with creates a codec with the given keys and active key. It writes the first format.
func with(t testing.TB, active string, ids ...string) *Codec {
	t.Helper()
	values := map[string]config.Secret{"old": key(1), "new": key(2)}
	keys := map[string]config.Secret{}
	for _, id := range ids {
		keys[id] = values[id]
	}
	c, err := New(config.Encryption{ActiveKey: active, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func payload(data string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(data)}
}

// encode encodes one payload.
func encode(t testing.TB, c *Codec, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	out, err := c.Encode([]*commonpb.Payload{p})
	if err != nil || len(out) != 1 {
		t.Fatalf("encode: %d payloads, %v", len(out), err)
	}
	return out[0]
}

func decode(c *Codec, p *commonpb.Payload) (*commonpb.Payload, error) {
	out, err := c.Decode([]*commonpb.Payload{p})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := with(t, "new", "new")
	for name, p := range map[string]*commonpb.Payload{
		"plain":           payload(`"a secret"`),
		"no data":         {Metadata: map[string][]byte{"encoding": []byte("binary/null")}},
		"no metadata":     {Data: []byte("bare")},
		"nothing":         {},
		"nil":             nil,
		"much metadata":   {Metadata: map[string][]byte{"encoding": []byte("json/protobuf"), "messageType": []byte("a.b.C"), "x": {0, 255}}, Data: []byte("{}")},
		"huge":            payload(strings.Repeat("0123456789abcdef", 1<<18)),
		"encrypted twice": encode(t, c, payload("1")),
	} {
		before := proto.Clone(p)
		sealed := encode(t, c, p)
		if !proto.Equal(p, before) {
			t.Errorf("%s: the argument was changed", name)
		}
		if string(sealed.Metadata["encoding"]) != "binary/encrypted" || string(sealed.Metadata["encryption-key-id"]) != "new" || len(sealed.Metadata) != 2 {
			t.Errorf("%s: metadata %q", name, sealed.Metadata)
		}
		if len(p.GetData()) > 3 && bytes.Contains(sealed.Data, p.Data) {
			t.Errorf("%s: the data is in clear text", name)
		}
		if got, err := decode(c, sealed); err != nil || !proto.Equal(got, p) && p != nil {
			t.Errorf("%s: got %.80v, %v", name, got, err)
		}
		if twice := encode(t, c, p); bytes.Equal(twice.Data, sealed.Data) {
			t.Errorf("%s: two encryptions are equal", name)
		}
	}
	if out, err := c.Encode(nil); err != nil || len(out) != 0 {
		t.Errorf("no payloads: %v, %v", out, err)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	before, during, after := with(t, "old", "old"), with(t, "new", "old", "new"), with(t, "new", "new")
	p := payload("1")
	old, fresh := encode(t, before, p), encode(t, during, p)
	if id := string(fresh.Metadata["encryption-key-id"]); id != "new" {
		t.Errorf("encrypted with %q, want the active key", id)
	}
	readable := func(c *Codec, sealed *commonpb.Payload) {
		t.Helper()
		if got, err := decode(c, sealed); err != nil || !proto.Equal(got, p) {
			t.Errorf("got %v, %v", got, err)
		}
	}
	readable(during, old)
	readable(during, fresh)
	readable(after, fresh)
	readable(with(t, "", "old"), old) // no active key: still readable

	_, err := after.Decode([]*commonpb.Payload{fresh, old})
	var unreadable *Error
	if !errors.As(err, &unreadable) || unreadable.KeyID != "old" || !errors.Is(err, ErrUnknownKey) || !strings.Contains(err.Error(), `"old"`) {
		t.Errorf("a removed key: %v", err)
	}
}

func TestPlainPayloadsPass(t *testing.T) {
	t.Parallel()
	for _, c := range []*Codec{with(t, "new", "new"), with(t, "", "old"), with(t, "")} {
		for _, p := range []*commonpb.Payload{payload("1"), {}, {Data: []byte{0}}, {Metadata: map[string][]byte{"encoding": nil}}} {
			if got, err := decode(c, p); err != nil || !proto.Equal(got, p) {
				t.Errorf("got %v, %v; want %v", got, err, p)
			}
		}
	}
	if got := encode(t, with(t, "", "old"), payload("1")); !proto.Equal(got, payload("1")) {
		t.Errorf("without an active key it is encrypted: %v", got)
	}
}

func TestAlteration(t *testing.T) {
	t.Parallel()
	c := with(t, "new", "old", "new")
	sealed := encode(t, c, payload(`"a secret"`))
	refused := func(what string, p *commonpb.Payload) {
		t.Helper()
		if got, err := decode(c, p); !errors.Is(err, ErrAltered) || got != nil {
			t.Errorf("%s: got %v, %v", what, got, err)
		}
	}
	for i := range sealed.Data {
		for bit := range 8 {
			p := proto.CloneOf(sealed)
			p.Data[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, i), p)
		}
	}
	for n := range len(sealed.Data) {
		refused(fmt.Sprintf("the first %d bytes", n), &commonpb.Payload{Metadata: sealed.Metadata, Data: sealed.Data[:n]})
	}
	refused("a byte more", &commonpb.Payload{Metadata: sealed.Metadata, Data: append(bytes.Clone(sealed.Data), 0)})
	refused("no data", &commonpb.Payload{Metadata: sealed.Metadata})
	other := proto.CloneOf(sealed)
	other.Metadata["encryption-key-id"] = []byte("old")
	refused("another key's id", other)

	// The id is authenticated too: the same key under another id does not work.
	twins, err := New(config.Encryption{ActiveKey: "a", Keys: map[string]config.Secret{"a": key(1), "b": key(1)}})
	if err != nil {
		t.Fatal(err)
	}
	c = twins
	swapped := encode(t, twins, payload("1"))
	swapped.Metadata["encryption-key-id"] = []byte("b")
	refused("another id of the same key", swapped)

	unnamed := proto.CloneOf(sealed)
	delete(unnamed.Metadata, "encryption-key-id")
	if _, err := decode(twins, unnamed); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("without the id of a key: %v", err)
	}
}

// Written by the last program without bound payloads.
func TestOldPayloadsOpen(t *testing.T) {
	t.Parallel()
	raw, err := base64.StdEncoding.DecodeString("ChwKCGVuY29kaW5nEhBiaW5hcnkvZW5jcnlwdGVkChgKEWVuY3J5cHRpb24ta2V5LWlkEgNvbGQSPs+ZOTMo4MvXlw46cQtzduI7jWS3br3MSvQ" +
		"sBkXyowTK3pBmiw1d6cGW+oom5vfMHldFfz4l1SvXPrjUYmAC")
	var old commonpb.Payload
	if err == nil {
		err = proto.Unmarshal(raw, &old)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Codec{with(t, "new", "old", "new"), bound(t), bound(t).in(workflow("channel/T1/C1"))} {
		if got, err := decode(c, &old); err != nil || !proto.Equal(got, payload(`"before"`)) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// An error may be logged, and anybody may have chosen the id in it.
func TestAnErrorHoldsNoKeyAndIsOneLine(t *testing.T) {
	t.Parallel()
	c := with(t, "new", "new")
	p := encode(t, c, payload("1"))
	p.Metadata["encryption-key-id"] = []byte("x\nERROR forged " + strings.Repeat("y", 1<<16))
	_, err := decode(c, p)
	if err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
	for text, e := range map[string]config.Encryption{
		"not base64":    {ActiveKey: "a", Keys: map[string]config.Secret{"a": "%%%hunter22%%%"}},
		"too short":     {ActiveKey: "a", Keys: map[string]config.Secret{"a": "aHVudGVyMjI="}},
		"no active key": {ActiveKey: "b", Keys: map[string]config.Secret{"a": key(1)}},
	} {
		c, err := New(e)
		if c != nil || err == nil || strings.Contains(err.Error(), string(e.Keys["a"])) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: got %v, %v", text, c, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	c := with(t, "new", "old", "new")
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 200 {
				p := payload(fmt.Sprintf("%d of %d", i, n))
				sealed, err := c.Encode([]*commonpb.Payload{p, p})
				if err != nil {
					t.Error(err)
					return
				}
				got, err := c.Decode(sealed)
				if err != nil || len(got) != 2 || !proto.Equal(got[0], p) || !proto.Equal(got[1], p) {
					t.Errorf("got %v, %v", got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// Any payload is decrypted, refused, or left alone.
func FuzzDecode(f *testing.F) {
	c := with(f, "new", "old", "new")
	sealed := encode(f, c, payload("1"))
	f.Add([]byte("binary/encrypted"), []byte("new"), sealed.Data)
	f.Add([]byte("binary/encrypted"), []byte("old"), sealed.Data)
	f.Add([]byte("binary/encrypted"), []byte(""), []byte{})
	f.Add([]byte("json/plain"), []byte("new"), []byte("1"))
	f.Fuzz(func(t *testing.T, encoding, id, data []byte) {
		in := &commonpb.Payload{Metadata: map[string][]byte{"encoding": encoding, "encryption-key-id": id}, Data: data}
		got, err := decode(c, in)
		switch {
		case string(encoding) != "binary/encrypted":
			if err != nil || got != in {
				t.Errorf("a plain payload became %v, %v", got, err)
			}
		case err == nil:
			if string(id) != "new" || !proto.Equal(got, payload("1")) { // the only plaintext ever encrypted
				t.Errorf("key %q: got %v", id, got)
			}
		default:
			var unreadable *Error
			if !errors.As(err, &unreadable) || got != nil {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
}
