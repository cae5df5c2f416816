package codec

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

func TestFailuresAreEncryptedWithAnActiveKey(t *testing.T) {
	t.Parallel()
	err := temporal.NewNonRetryableApplicationError("a secret message", "Final", errors.New("a secret cause"), "a secret detail")
	for active, hidden := range map[string]bool{"new": true, "": false} {
		c := with(t, active, "new")
		f := c.FailureConverter().ErrorToFailure(err)
		if strings.Contains(f.String(), "secret") == hidden {
			t.Errorf("active key %q: %v", active, f)
		}
		if info := f.GetApplicationFailureInfo(); info.GetType() != "Final" || !info.GetNonRetryable() {
			t.Errorf("active key %q: the server must know what to do with %v", active, f)
		}
		// Readable with the same codec, and with one that has the key without an active one.
		for _, reader := range []*Codec{c, with(t, "", "new")} {
			var got *temporal.ApplicationError
			var detail string
			back := reader.FailureConverter().FailureToError(f)
			if !errors.As(back, &got) || got.Message() != "a secret message" || got.Details(&detail) != nil || detail != "a secret detail" ||
				errors.Unwrap(back).Error() != "a secret cause" {
				t.Errorf("active key %q: read as %v, %q", active, back, detail)
			}
		}
	}
}

// Values from before encryption was switched on, or after it was switched off.
func TestPlainValues(t *testing.T) {
	t.Parallel()
	c := with(t, "new", "new").DataConverter()
	p, err := converter.GetDefaultDataConverter().ToPayloads("one", 2)
	if err != nil {
		t.Fatal(err)
	}
	var one string
	var two int
	if err := c.FromPayloads(p, &one, &two); err != nil || one != "one" || two != 2 {
		t.Errorf("got %q, %d, %v", one, two, err)
	}
	if p, err := with(t, "", "new").DataConverter().ToPayload("one"); err != nil || string(p.Data) != `"one"` {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestAWorkflowPanicsOnAnUnreadablePayload(t *testing.T) {
	t.Parallel()
	reader := with(t, "new", "new").DataConverter().(converter.ContextAware).WithWorkflowContext(nil)
	sealed, err := with(t, "old", "old").DataConverter().ToPayloads("one")
	if err != nil {
		t.Fatal(err)
	}
	panics := func(read func() error) (what any) {
		defer func() { what = recover() }()
		return read()
	}
	var s string
	for name, read := range map[string]func() error{
		"one":  func() error { return reader.FromPayload(sealed.Payloads[0], &s) },
		"many": func() error { return reader.FromPayloads(sealed, &s) },
	} {
		if err, ok := panics(read).(*Error); !ok || err.KeyID != "old" {
			t.Errorf("%s: got %v, want a panic that names the key", name, err)
		}
	}
	// The workflow gets any other error, as it does without a codec.
	p, err := with(t, "new", "new").DataConverter().ToPayload("one")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.FromPayload(p, &n); !errors.Is(err, converter.ErrUnableToDecode) {
		t.Errorf("a string as a number: %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	var whole time.Duration
	for attempt := int32(1); attempt <= 45; attempt++ {
		whole += retryAfter(attempt)
	}
	if retryAfter(1) != time.Second || whole < 8*time.Hour || retryAfter(1<<30) != time.Hour {
		t.Errorf("first %s, 45 of them %s, late %s", retryAfter(1), whole, retryAfter(1<<30))
	}
}
