package codec

import (
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"myao/internal/config"
)

// bound creates a codec with both keys that binds payloads.
func bound(t testing.TB) *Codec {
	t.Helper()
	c, err := New(config.Encryption{ActiveKey: "new", Keys: map[string]config.Secret{"old": key(1), "new": key(2)}, BindPayloads: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func workflow(id string) converter.SerializationContext {
	return converter.WorkflowSerializationContext{Namespace: "here", WorkflowID: id}
}

func TestAPayloadIsReadOnlyWhereItBelongs(t *testing.T) {
	t.Parallel()
	job := converter.ActivitySerializationContext{Namespace: "here", WorkflowID: "channel/T1/C1", ActivityType: "Judge"}
	for _, c := range []struct {
		name     string
		from, to converter.SerializationContext // nil: the SDK gives none
		opens    bool
	}{
		{"the same workflow", workflow("channel/T1/C1"), workflow("channel/T1/C1"), true},
		{"its activity", workflow("channel/T1/C1"), job, true},
		{"from its activity", job, workflow("channel/T1/C1"), true},
		{"another workflow", workflow("channel/T1/C1"), workflow("channel/T1/C2"), false},
		{"another workflow's activity", workflow("channel/T1/C2"), job, false},
		{"another namespace", workflow("channel/T1/C1"), converter.WorkflowSerializationContext{Namespace: "there", WorkflowID: "channel/T1/C1"}, false},
		{"a workflow with a longer id", workflow("channel/T1/C1"), workflow("channel/T1/C1-2"), false},
		{"a workflow with a shorter id", workflow("channel/T1/C1"), workflow("channel/T1/C"), false},
		{"a run of its schedule", workflow("memory"), workflow("memory-2026-11-21T18:00:00Z"), true},
		{"a run of another schedule", workflow("memory"), workflow("retention-2026-11-21T18:00:00Z"), false},
		{"another run of the schedule", workflow("memory-2026-11-21T17:00:00Z"), workflow("memory-2026-11-21T18:00:00Z"), false},
		{"from a run to the schedule", workflow("memory-2026-11-21T17:00:00Z"), workflow("memory"), false},
		{"a run in another namespace", workflow("memory"), converter.WorkflowSerializationContext{Namespace: "there", WorkflowID: "memory-2026-11-21T18:00:00Z"}, false},
		{"the codec server", workflow("channel/T1/C1"), nil, true},
		{"from the codec server", nil, workflow("channel/T1/C1"), true},
		{"no workflow", converter.NexusSerializationContext{}, workflow("channel/T1/C1"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := func(in converter.SerializationContext) converter.DataConverter {
				if in == nil {
					return bound(t).DataConverter()
				}
				return converter.WithDataConverterSerializationContext(bound(t).DataConverter(), in)
			}
			sealed, err := at(c.from).ToPayloads("a secret")
			if err != nil {
				t.Fatal(err)
			}
			var got string
			err = at(c.to).FromPayloads(sealed, &got)
			if opened := err == nil && got == "a secret"; opened != c.opens {
				t.Fatalf("got %q, %v", got, err)
			}
			if !c.opens {
				from, to := bound(t).in(c.from).at, bound(t).in(c.to).at
				if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), from.String()) || !strings.Contains(err.Error(), to.String()) {
					t.Errorf("got %v, want an error that names both places", err)
				}
			}
		})
	}
}

// Whoever can write to Temporal's database can change all of a payload's metadata.
func TestTheBindingCannotBeRemoved(t *testing.T) {
	t.Parallel()
	c := bound(t)
	sealed := encode(t, c.in(workflow("channel/T1/C1")), payload(`"a secret"`))
	unbound := encode(t, c, payload(`"a secret"`))
	if len(sealed.Metadata) != 5 || len(unbound.Metadata) != 3 || string(unbound.Metadata["encryption-version"]) != "2" {
		t.Fatalf("metadata %q and %q", sealed.Metadata, unbound.Metadata)
	}
	for name, change := range map[string]func(m map[string][]byte){
		"no version": func(m map[string][]byte) { delete(m, "encryption-version") },
		"no place":   func(m map[string][]byte) { delete(m, "namespace"); delete(m, "workflow-id") },
		"the first format": func(m map[string][]byte) {
			delete(m, "encryption-version")
			delete(m, "namespace")
			delete(m, "workflow-id")
		},
		"another workflow":  func(m map[string][]byte) { m["workflow-id"] = []byte("channel/T1/C2") },
		"another namespace": func(m map[string][]byte) { m["namespace"] = []byte("there") },
		"another key":       func(m map[string][]byte) { m["encryption-key-id"] = []byte("old") },
		"other lengths":     func(m map[string][]byte) { m["namespace"], m["workflow-id"] = []byte("herec"), []byte("hannel/T1/C1") },
	} {
		p := proto.CloneOf(sealed)
		change(p.Metadata)
		for _, reader := range []*Codec{c, c.in(workflow("channel/T1/C2"))} {
			if got, err := decode(reader, p); !errors.Is(err, ErrAltered) {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
		}
	}
	// A payload of the first format has no place, so it gets none by its metadata.
	old := encode(t, with(t, "new", "new"), payload("1"))
	old.Metadata["workflow-id"] = []byte("channel/T1/C2")
	if _, err := decode(c.in(workflow("channel/T1/C1")), old); err != nil {
		t.Errorf("the first format: %v", err)
	}
}

func TestANewerFormatIsNamed(t *testing.T) {
	t.Parallel()
	p := encode(t, bound(t), payload("1"))
	p.Metadata["encryption-version"] = []byte("3")
	if _, err := decode(bound(t), p); !errors.Is(err, ErrUnknownVersion) {
		t.Errorf("got %v", err)
	}
}

// The setting is what makes it possible to return to a program that knows only the first format.
func TestWithoutTheSettingNothingIsBound(t *testing.T) {
	t.Parallel()
	reader := with(t, "new", "new")
	if p := encode(t, reader.in(workflow("channel/T1/C1")), payload("1")); len(p.Metadata) != 2 {
		t.Errorf("metadata %q", p.Metadata)
	}
	sealed := encode(t, bound(t).in(workflow("channel/T1/C1")), payload("1"))
	if got, err := decode(reader.in(workflow("channel/T1/C1")), sealed); err != nil || !proto.Equal(got, payload("1")) {
		t.Errorf("bound payload: %v, %v", got, err)
	}
	if _, err := decode(reader.in(workflow("channel/T1/C2")), sealed); !errors.Is(err, ErrMoved) {
		t.Errorf("moved payload: %v", err)
	}
}

func TestFailuresAreBound(t *testing.T) {
	t.Parallel()
	at := func(id string) converter.FailureConverter {
		return converter.WithFailureConverterSerializationContext(bound(t).FailureConverter(), workflow(id))
	}
	f := at("channel/T1/C1").ErrorToFailure(errors.New("a secret message"))
	if sealed := f.EncodedAttributes; string(sealed.GetMetadata()["workflow-id"]) != "channel/T1/C1" {
		t.Errorf("metadata %q", sealed.GetMetadata())
	}
	if got := at("channel/T1/C1").FailureToError(proto.CloneOf(f)).Error(); !strings.Contains(got, "a secret message") {
		t.Errorf("where it belongs: %s", got)
	}
	if got := at("channel/T1/C2").FailureToError(f).Error(); strings.Contains(got, "secret") {
		t.Errorf("in another workflow: %s", got)
	}
}
