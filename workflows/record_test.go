package workflows

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"myao/test/testserver"
)

var record = flag.Bool("record", false, "record the histories that testdata lacks, on a real server")

// file is the file of a run's history; the first run is 0.
func (p path) file(run int) string {
	name := fmt.Sprintf("%d-%s", generation, p.name)
	if len(p.runs) > 1 {
		name += fmt.Sprintf("-run-%d", run+1)
	}
	return filepath.Join("testdata", name+".json.gz")
}

// TestRecord is what `make histories` runs.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("it writes to testdata, and needs -record")
	}
	plain := testserver.Temporal(t)
	short := testserver.StartTemporal(t, "", 0, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=50")
	for _, p := range paths {
		if _, err := os.Stat(p.file(len(p.runs) - 1)); err == nil {
			continue
		}
		address := plain
		if p.short {
			address = short.Address
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for run, h := range take(t, p, address) {
				anonymous(h.ProtoReflect())
				if err := write(p.file(run), h); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// take takes a path and returns the history of each run, the first one first.
func take(t *testing.T, p path, address string) []*historypb.History {
	s := newServerAt(t, address)
	s.timeout = 5 * time.Minute // some paths are long, and many run concurrently
	pathRunner := &pathRunner{server: s, c: p.in}
	if pathRunner.c.Channel == "" {
		pathRunner.c = thread
	}
	s.atOnce = postsAtOnce
	if !p.plain {
		s.useAttributes()
	}
	pathRunner.stop = s.startWorkers(worker.Options{})
	defer func() { pathRunner.stop() }()
	p.play(pathRunner)

	var all []*historypb.History
	s.await("all runs to end", func() bool {
		all = s.histories(len(p.runs))
		return !slices.ContainsFunc(all, func(h *historypb.History) bool { return !ended(h) })
	})
	slices.SortFunc(all, func(a, b *historypb.History) int {
		last := func(h *historypb.History) int64 { return h.Events[len(h.Events)-1].GetEventTime().AsTime().UnixNano() }
		return cmp.Compare(last(a), last(b)) // a reset run starts at the same time as the original
	})
	if len(all) != len(p.runs) {
		t.Fatalf("%d runs, want %d", len(all), len(p.runs))
	}
	for run, h := range all {
		p.check(t, run, h)
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// check checks that a run's history shows what the path is named for.
func (p path) check(t *testing.T, run int, h *historypb.History) {
	t.Helper()
	lines := summary(t, h)
	if !inOrder(lines, p.runs[run]) {
		t.Errorf("%s: got\n\t%q\nwant in this order\n\t%q", p.file(run), lines, p.runs[run])
	}
	for _, never := range p.never {
		if slices.Contains(lines, never) {
			t.Errorf("%s: %q in\n\t%q", p.file(run), never, lines)
		}
	}
}

func ended(h *historypb.History) bool {
	switch h.Events[len(h.Events)-1].GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		return true
	}
	return false
}

// anonymous removes from a history what identifies the machine that recorded it.
func anonymous(m protoreflect.Message) {
	if q, ok := m.Interface().(*taskqueuepb.TaskQueue); ok && q.GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
		q.Name = "sticky" // it is named after the host
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case slices.Contains([]protoreflect.Name{"identity", "binary_checksum", "worker_version", "prev_auto_reset_points", "stack_trace"}, f.Name()):
			m.Clear(f)
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { anonymous(v.Message()); return true })
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				anonymous(v.List().Get(i).Message())
			}
		case f.Message() != nil && !f.IsMap():
			anonymous(v.Message())
		}
		return true
	})
}

// write stores a history in the format of `temporal workflow show --output json`.
func write(file string, h proto.Message) error {
	b, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(b); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// read reads what write has written, or the JSON as `temporal workflow show` prints it.
func read(file string) (*historypb.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if filepath.Ext(file) != ".gz" {
		return client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return client.HistoryFromJSON(z, client.HistoryJSONOptions{})
}
