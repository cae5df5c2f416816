package codec

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"
)

// place is the workflow that a payload belongs to. The zero place is none in particular.
type place struct{ namespace, workflow string }

// WithSerializationContext returns a codec that binds payloads to the workflow of the context,
// and refuses those of others. A context without a workflow, such as that of a Nexus operation,
// neither binds nor refuses.
func (c *Codec) WithSerializationContext(in converter.SerializationContext) converter.PayloadCodec {
	return c.in(in)
}

func (c *Codec) in(in converter.SerializationContext) *Codec {
	bound := *c
	bound.at = place{}
	switch in := in.(type) {
	case converter.WorkflowSerializationContext:
		bound.at = place{in.Namespace, in.WorkflowID}
	case converter.ActivitySerializationContext:
		bound.at = place{in.Namespace, in.WorkflowID}
	}
	if bound.at.workflow == "" {
		bound.at = place{}
	}
	return &bound
}

// write adds the place to the metadata of a payload.
func (p place) write(metadata map[string][]byte) {
	if p != (place{}) {
		metadata[metadataNamespace], metadata[metadataWorkflow] = []byte(p.namespace), []byte(p.workflow)
	}
}

// readPlace returns the place in the metadata of a bound payload. A payload of the first format
// has none, whatever its metadata says: there they are not authenticated.
func readPlace(metadata map[string][]byte) place {
	if len(metadata[metadataVersion]) == 0 {
		return place{}
	}
	return place{string(metadata[metadataNamespace]), string(metadata[metadataWorkflow])}
}

// includes reports whether a payload that was written for p may be read at another place. A
// schedule's input is written for the schedule's id, and is read in workflows with that id and the
// time of the run: memory-2026-11-21T18:00:00Z.
func (p place) includes(at place) bool {
	if p == (place{}) || at == (place{}) || p == at {
		return true
	}
	run, ok := strings.CutPrefix(at.workflow, p.workflow+"-")
	_, err := time.Parse(time.RFC3339, run)
	return p.namespace == at.namespace && ok && err == nil
}

// String quotes and cuts both names, because the payload may come from anywhere.
func (p place) String() string {
	return fmt.Sprintf("workflow %.80q of namespace %.80q", p.workflow, p.namespace)
}
