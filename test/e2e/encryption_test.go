package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/codec"
	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// keyring returns a configuration with keys of these ids, with one of them active, and with bound
// payloads.
func keyring(active string, ids ...string) config.Encryption {
	e := config.Encryption{ActiveKey: active, Keys: map[string]config.Secret{}, BindPayloads: true}
	for _, id := range ids {
		e.Keys[id] = config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(id[:1]), 32)))
	}
	return e
}

// encryptionYAML formats it as one line of the configuration file.
func encryptionYAML(e config.Encryption) string {
	var keys []string
	for id, key := range e.Keys {
		keys = append(keys, fmt.Sprintf("%s: %q", id, string(key)))
	}
	return fmt.Sprintf("encryption: {active_key: %q, keys: {%s}, bind_payloads: %v}", e.ActiveKey, strings.Join(keys, ", "), e.BindPayloads)
}

func encrypted(e config.Encryption) option { return configured(encryptionYAML(e)) }

// changeKeys writes other keys into the configuration and restarts both programs.
func (s *system) changeKeys(e config.Encryption) {
	s.t.Helper()
	s.Configure("encryption: null", encryptionYAML(e))
	s.restart()
}

func newCodec(t *testing.T, e config.Encryption) *codec.Codec {
	t.Helper()
	c, err := codec.New(e)
	testserver.Must(t, err)
	return c
}

// decryptingClient returns a client that decrypts; s.Client does not.
func (s *system) decryptingClient(c *codec.Codec) client.Client {
	s.t.Helper()
	reader, err := client.NewLazyClient(client.Options{
		HostPort: s.Temporal, Namespace: s.Namespace, Logger: slog.New(slog.DiscardHandler),
		DataConverter: c.DataConverter(), FailureConverter: c.FailureConverter(),
	})
	testserver.Must(s.t, err)
	s.t.Cleanup(reader.Close)
	return reader
}

// temporalData is what collect finds in Temporal's messages.
type temporalData struct {
	payloads []*commonpb.Payload
	failures []*failurepb.Failure
}

// collect walks any message. It skips search attributes, which the server must be able to read.
func (f *temporalData) collect(m protoreflect.Message) {
	switch m := m.Interface().(type) {
	case *commonpb.SearchAttributes:
		return
	case *commonpb.Payload:
		f.payloads = append(f.payloads, m)
		return
	case *failurepb.Failure:
		f.failures = append(f.failures, m)
	}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { f.collect(v.Message()); return true })
			}
		case field.IsList():
			if field.Message() != nil {
				for i := range v.List().Len() {
					f.collect(v.List().Get(i).Message())
				}
			}
		case field.Message() != nil:
			f.collect(v.Message())
		}
		return true
	})
}

// temporalMessages returns everything that the server stores about the namespace or answers
// about it.
func (s *system) temporalMessages() (all []proto.Message, f *temporalData) {
	s.t.Helper()
	ctx, service := s.t.Context(), s.Client.WorkflowService()
	keep := func(m proto.Message, err error) {
		s.t.Helper()
		testserver.Must(s.t, err)
		all = append(all, m)
	}
	list, err := service.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.Namespace})
	keep(list, err)
	for _, w := range list.Executions {
		history := s.Client.GetWorkflowHistory(ctx, w.Execution.WorkflowId, w.Execution.RunId, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for history.HasNext() {
			keep(history.Next())
		}
		keep(service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: s.Namespace, Execution: w.Execution}))
		if w.Type.Name != conversation.WorkflowType {
			continue
		}
		for _, query := range []string{conversation.QueryName, "__temporal_workflow_metadata", "__stack_trace"} {
			keep(service.QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
				Namespace: s.Namespace, Execution: w.Execution, Query: &querypb.WorkflowQuery{QueryType: query},
			}))
		}
	}
	for _, id := range []string{"memory", "catch-up", "channel-sync", "retention", "hindsight"} {
		keep(service.DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{Namespace: s.Namespace, ScheduleId: id}))
	}
	f = &temporalData{}
	for _, m := range all {
		f.collect(m.ProtoReflect())
	}
	return all, f
}

func TestNothingIsReadableInTemporal(t *testing.T) {
	t.Parallel()
	keys := keyring("k1", "k1")
	reason := "a zebra was asked for"
	s := start(t, sqlite(t), quiet(1), encrypted(keys), modelAnswers(judgeAndAnswer("zebras are striped",
		llmtest.Reply{Status: http.StatusBadRequest, Message: "a zebra failed"}, llmtest.Yes(reason, 0.8, 2))))
	conversations := "channel/T0E2E/" + s.general
	s.Workspace.Say(s.general, s.alice.ID, "a question that fails?")
	s.await("the failed judgment", func() bool {
		return len(s.decisions(conversations)) > 0
	})
	s.Workspace.Say(s.general, s.alice.ID, "what is a zebra?")
	s.await("the judged answer", func() bool { return len(s.posts()) == 1 })
	s.Workspace.Say(s.general, s.bob.ID, s.mention("and a zebra crossing?"))
	s.await("the answer to the mention", func() bool { return len(s.posts()) == 2 })

	crypt := newCodec(t, keys)
	reader := s.decryptingClient(crypt)
	update, err := reader.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: conversations, UpdateName: conversation.UpdateUnmute, Args: []any{conversation.Order{By: "zebra operator"}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = update.Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatalf("an order: %v", err)
	}
	if _, err := reader.QueryWorkflow(t.Context(), conversations, "", conversation.QueryName); err != nil {
		t.Errorf("query: %v", err)
	}

	all, f := s.temporalMessages()
	for _, p := range f.payloads {
		if string(p.Metadata["encoding"]) != "binary/encrypted" || string(p.Metadata["encryption-key-id"]) != "k1" {
			t.Errorf("a payload in clear: %v", p)
		}
		if string(p.Metadata["namespace"]) != s.Namespace || len(p.Metadata["workflow-id"]) == 0 {
			t.Errorf("a payload that is not bound: %v", p)
		}
	}
	for _, failure := range f.failures {
		// Only the server's own wrapper of an activity's failure may be in clear text, and that it has ended an attempt
		// itself, as on a machine that stands still.
		if m := failure.Message; (m != "Encoded failure" && m != "activity error" && failure.GetTimeoutFailureInfo() == nil) || failure.StackTrace != "" {
			t.Errorf("a failure in clear: %v", failure)
		}
	}
	whole := 0
	for _, m := range all {
		raw, err := proto.Marshal(m)
		whole += len(raw)
		testserver.Must(t, err)
		if bytes.Contains(bytes.ToLower(raw), []byte("zebra")) {
			t.Errorf("in clear: %.2000s", m)
		}
	}
	// Decrypted, the payloads must hold what the search above looked for.
	plain, err := crypt.Decode(f.payloads)
	testserver.Must(t, err)
	var text strings.Builder
	sealed, open := 0, 0
	for i, p := range plain {
		sealed, open = sealed+proto.Size(f.payloads[i]), open+proto.Size(p)
		fmt.Fprintf(&text, "%s\n", p.Data)
	}
	for _, want := range []string{reason, "zebra operator", s.general, "T0E2E", "judge message ", "judge: ", `"phase"`, "workflows/conversation.go"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in any payload", want)
		}
	}
	t.Logf("%d payloads with %d of %d bytes; encryption adds %d, %d a payload", len(plain), sealed, whole, sealed-open, (sealed-open)/len(plain))

	s.checkCodecServer(conversations, reason)
}

// checkCodecServer shows a workflow with Temporal's CLI, with and without the codec server.
func (s *system) checkCodecServer(workflow, secret string) {
	s.t.Helper()
	const token = "a-token-for-the-codec"
	address := testserver.FreeAddress(s.t)
	log := world.NewLog(s.t, "codec")
	server := log.Program(filepath.Join(bin, "starter"), "--config", s.Config, "codec", "--address", address)
	server.Env = append(slices.Clone(s.Env), "MYAO_CODEC_TOKEN="+token)
	server.Start()
	defer func() {
		if err := server.Stop(); err != nil {
			s.t.Errorf("the codec server ended with %v", err)
		}
	}()
	s.await("the codec server", func() bool { return log.Has("http://" + address) })
	show := func(args ...string) (text string, err error) {
		cli := exec.Command(temporalCLI(s.t), append([]string{
			"workflow", "show", "--workflow-id", workflow, "--output", "json",
			"--address", s.Temporal, "--namespace", s.Namespace, "--disable-config-file",
		}, args...)...)
		out, err := cli.Output()
		if err != nil {
			return string(out), err
		}
		var history historypb.History
		testserver.Must(s.t, protojson.Unmarshal(out, &history))
		var f temporalData
		f.collect(history.ProtoReflect())
		for _, p := range f.payloads {
			text += string(p.Metadata["encoding"]) + " " + string(p.Data) + "\n"
		}
		return text, nil
	}
	if out, err := show(); err != nil || strings.Contains(out, secret) || !strings.Contains(out, "binary/encrypted") {
		s.t.Errorf("without the codec server the CLI shows, %v\n%s", err, out)
	}
	if out, err := show("--codec-endpoint", "http://"+address, "--codec-auth", "Bearer "+token); err != nil || !strings.Contains(out, secret) {
		s.t.Errorf("with the codec server the CLI shows, %v\n%s", err, out)
	}
	if out, err := show("--codec-endpoint", "http://"+address, "--codec-auth", "Bearer wrong"); err == nil {
		s.t.Errorf("with a wrong token the CLI shows\n%s", out)
	}
}

func temporalCLI(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("temporal"); err == nil {
		return path
	}
	path, err := filepath.Abs("../../.bin/temporal")
	testserver.Must(t, err)
	return path
}

// While a reply is held back, encryption is switched on, the key changes, payloads are bound, and a
// key is lost and restored. No reply is lost.
func TestKeysChangeUnderOpenConversations(t *testing.T) {
	t.Parallel()
	const held = 4 // seconds
	s := start(t, sqlite(t), quiet(1), encrypted(keyring("")), modelAnswers(judgeAndAnswer("an answer", llmtest.Yes("why not", 1, held), llmtest.Yes("why not", 1, held), llmtest.Yes("why not", 1, 30))))
	in := func(channel string) int { return len(s.postsIn(channel)) }
	holdsBack := func(question string) {
		t.Helper()
		judged := len(s.judgments())
		s.Workspace.Say(s.general, s.alice.ID, question)
		s.await("the judgment of "+question, func() bool { return len(s.judgments()) == judged+1 })
	}
	answered := func(n int, since string) {
		t.Helper()
		s.await("the reply that was held back "+since, func() bool { return in(s.general) == n })
	}
	unbound := keyring("a", "a")
	unbound.BindPayloads = false
	for n, change := range []struct {
		since string
		to    config.Encryption
	}{
		{"before encryption was switched on", unbound},
		{"before the key was changed and payloads were bound", keyring("b", "a", "b")},
	} {
		holdsBack(fmt.Sprintf("question %d?", n+1))
		s.changeKeys(change.to)
		answered(n+1, change.since)
	}
	holdsBack("question 3?")

	// Without its key this conversation waits, and others continue.
	s.changeKeys(keyring("c", "c"))
	s.await("the worker to say which key it lacks", func() bool {
		return s.worker.Log.Has(`payload encrypted with the key \"`)
	})
	direct := s.Workspace.AddChannel(workspace.DM, "", s.alice.ID)
	s.Workspace.Say(direct, s.alice.ID, "are you there?")
	s.await("an answer elsewhere", func() bool { return in(direct) == 1 })
	s.never("an answer that cannot be known", 3*time.Second, func() bool { return in(s.general) > 2 })
	d, err := s.Client.DescribeWorkflowExecution(t.Context(), "channel/T0E2E/"+s.general, "")
	if err != nil || d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("without its key the conversation is %v, %v", d.GetWorkflowExecutionInfo(), err)
	}
	for _, key := range keyring("", "a", "b", "c").Keys {
		if strings.Contains(s.worker.Log.String()+s.starter.Log.String(), string(key)) {
			t.Error("a log holds a key")
		}
	}

	s.changeKeys(keyring("c", "a", "b", "c"))
	answered(3, "before its key was lost")
	s.never("a second answer", 3*time.Second, func() bool { return in(s.general) > 3 || in(direct) > 1 })
	reader := s.decryptingClient(newCodec(t, keyring("", "a", "b", "c")))
	s.await("the conversation to be idle in the end", func() bool {
		var state conversation.State
		value, err := reader.QueryWorkflow(t.Context(), "channel/T0E2E/"+s.general, "", conversation.QueryName)
		return err == nil && value.Get(&state) == nil && state.Phase == conversation.Idle
	})
}
