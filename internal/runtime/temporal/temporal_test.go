package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// connect creates a client from the environment, as the programs do. Call it outside parallel
// tests; the client itself may be shared.
func connect(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	t.Setenv("TEMPORAL_ADDRESS", address)
	t.Setenv("TEMPORAL_NAMESPACE", namespace)
	c, err := NewClient(config.Encryption{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// namespace creates a namespace.
func namespace(t *testing.T, address string) string {
	t.Helper()
	name := "temporal-" + strings.ToLower(rand.Text())
	nc, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	return name
}

func await(t *testing.T, what string, done func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := done(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s: %v", what, err)
		}
	}
}

func history(t *testing.T, c client.Client, id, run string) []*historypb.HistoryEvent {
	t.Helper()
	var events []*historypb.HistoryEvent
	for it := c.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// signals returns the changes and the policy of each signal in a history.
func signals(t *testing.T, events []*historypb.HistoryEvent) (got []conversation.Signal) {
	t.Helper()
	for _, e := range events {
		if a := e.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
			var s conversation.Signal
			if err := converter.GetDefaultDataConverter().FromPayloads(a.GetInput(), &s); err != nil {
				t.Fatal(err)
			}
			if a.GetSignalName() != conversation.SignalName {
				t.Errorf("signal %s", a.GetSignalName())
			}
			got = append(got, s)
		}
	}
	return got
}

func signal(ts ...string) conversation.Signal {
	s := conversation.Signal{Policy: conversation.Policy{MinWait: 300, Jitter: 0.3}}
	for _, ts := range ts {
		s.Changes = append(s.Changes, conversation.Change{TS: ts, Kind: conversation.Addressed, Revision: "9.1", FollowUp: true})
	}
	return s
}

func never() bool { return false }

func TestSend(t *testing.T) {
	c := connect(t, testserver.Temporal(t), "default")
	sender := Sender{Client: c, Attributes: never, Name: func(_ context.Context, _, channel string) string {
		return map[string]string{"C0NAMED": "general", "C0LONG": strings.Repeat("長", 80)}[channel]
	}}
	run := rand.Text() // the server may be shared, and outlives the test
	send := func(t *testing.T, conv chat.Conversation, s conversation.Signal, request string) {
		t.Helper()
		if err := sender.Send(t.Context(), conv, s, request); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("starts a workflow that tells what it is", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			c       chat.Conversation
			summary string
		}{
			{chat.Conversation{Team: run + "START", Channel: "C1", Thread: "1709287200.000100"}, "C1 · thread 2024-03-01 10:00:00 UTC"},
			{chat.Conversation{Team: run + "START", Channel: "C1"}, "C1 · top level"},
			{chat.Conversation{Team: run + "START", Channel: "C0NAMED", Thread: "1709287200.000100"}, "#general · thread 2024-03-01 10:00:00 UTC"},
			{chat.Conversation{Team: run + "START", Channel: "C0NAMED"}, "#general · top level"},
			{chat.Conversation{Team: run + "START", Channel: "C0LONG"}, "#" + strings.Repeat("長", 20) + "… · top level"},
			{chat.Conversation{Team: run + "START", Channel: "D1"}, "D1 · direct messages"},
			{chat.Conversation{Team: run + strings.Repeat("LONG", 10), Channel: "C1"}, "C1 · top level"},
		} {
			send(t, test.c, signal("1.1", "2.1"), "request")
			d, err := c.DescribeWorkflow(t.Context(), test.c.ID(), "")
			if err != nil {
				t.Fatal(err)
			}
			info := d.WorkflowExecutionMetadata
			if info.WorkflowType.Name != conversation.WorkflowType || info.TaskQueueName != conversation.TaskQueue ||
				info.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				t.Errorf("%s: %+v", test.c.ID(), info)
			}
			if summary, err := d.GetStaticSummary(); err != nil || summary != test.summary {
				t.Errorf("summary %q, %v; want %q", summary, err, test.summary)
			}
			events := history(t, c, test.c.ID(), "")
			var in conversation.Input
			if err := converter.GetDefaultDataConverter().FromPayloads(events[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), &in); err != nil {
				t.Fatal(err)
			}
			if want := (conversation.Input{Conversation: test.c, Phase: signal("1.1", "2.1").InitialPhase(test.c)}); !reflect.DeepEqual(in, want) {
				t.Errorf("input %+v, want %+v", in, want)
			}
			if got := signals(t, events); len(got) != 1 || !reflect.DeepEqual(got[0], signal("1.1", "2.1")) {
				t.Errorf("signals %+v", got)
			}
			fair := events[0].GetWorkflowExecutionStartedEventAttributes().GetPriority().GetFairnessKey()
			if want := test.c.Team + "/" + test.c.Channel; !strings.HasPrefix(want, fair) || len(fair) != min(len(want), 64) {
				t.Errorf("fairness key %q, want %q", fair, want)
			}
			if timeout := events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowExecutionTimeout().AsDuration(); timeout != 0 {
				t.Errorf("the run times out after %v", timeout)
			}
			if timeout := events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowTaskTimeout().AsDuration(); timeout != 5*time.Second {
				t.Errorf("a workflow task times out after %v", timeout)
			}
		}
	})

	t.Run("tells a repetition by its request id", func(t *testing.T) {
		t.Parallel()
		conv := chat.Conversation{Team: run + "REPEAT", Channel: "C1"}
		for range 2 {
			send(t, conv, signal("1.1"), "first") // starts it
		}
		for range 3 {
			send(t, conv, signal("2.1"), "second") // finds it running
		}
		send(t, conv, signal("1.1"), "first")
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				if err := sender.Send(t.Context(), conv, signal("3.1"), "third"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		send(t, conv, signal("1.1"), "fourth")
		var got []string
		for _, s := range signals(t, history(t, c, conv.ID(), "")) {
			got = append(got, s.Changes[0].TS)
		}
		if want := []string{"1.1", "2.1", "3.1", "1.1"}; !reflect.DeepEqual(got, want) {
			t.Errorf("signals %v, want %v", got, want)
		}
	})

	t.Run("the same request id in two conversations is two signals", func(t *testing.T) {
		t.Parallel()
		for _, channel := range []string{"C1", "C2"} {
			conv := chat.Conversation{Team: run + "TWO", Channel: channel}
			send(t, conv, signal("1.1"), "same")
			if got := signals(t, history(t, c, conv.ID(), "")); len(got) != 1 {
				t.Errorf("%s: %d signals", channel, len(got))
			}
		}
	})

	t.Run("a closed conversation starts a new run", func(t *testing.T) {
		t.Parallel()
		conv := chat.Conversation{Team: run + "CLOSED", Channel: "C1"}
		send(t, conv, signal("1.1"), "first")
		before, err := c.DescribeWorkflow(t.Context(), conv.ID(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.TerminateWorkflow(t.Context(), conv.ID(), "", "closed"); err != nil {
			t.Fatal(err)
		}
		send(t, conv, signal("2.1"), "second")
		after, err := c.DescribeWorkflow(t.Context(), conv.ID(), "")
		if err != nil {
			t.Fatal(err)
		}
		if after.WorkflowExecution.RunID == before.WorkflowExecution.RunID || after.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			t.Errorf("no new run: %+v", after.WorkflowExecutionMetadata)
		}
		if got := signals(t, history(t, c, conv.ID(), "")); len(got) != 1 || got[0].Changes[0].TS != "2.1" {
			t.Errorf("the new run got %+v", got)
		}
	})

	t.Run("other calls keep the request ids that the SDK draws", func(t *testing.T) {
		t.Parallel()
		for range 2 {
			if _, err := c.SignalWithStartWorkflow(t.Context(), "other/"+run, conversation.SignalName, signal("1.1"),
				client.StartWorkflowOptions{TaskQueue: "other"}, "Other"); err != nil {
				t.Fatal(err)
			}
		}
		if got := signals(t, history(t, c, "other/"+run, "")); len(got) != 2 {
			t.Errorf("%d signals, want 2", len(got))
		}
	})
}

func TestAttributesAreRegisteredOnceAndFound(t *testing.T) {
	address := testserver.Temporal(t)
	name := namespace(t, address)
	c := connect(t, address, name)
	if got := Namespace(); got != name {
		t.Errorf("namespace %q, want %q", got, name)
	}
	if got := Address(); got != address {
		t.Errorf("address %q, want %q", got, address)
	}
	await(t, "the namespace", func(ctx context.Context) error {
		_, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
		return err
	})
	// Several starters register concurrently, and once more later.
	for range 2 {
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				await(t, "the registration", func(ctx context.Context) error {
					registered, err := RegisterAttributes(ctx, c, name, false)
					if err == nil && !registered {
						t.Error("not registered")
					}
					return err
				})
			})
		}
		group.Wait()
	}
	// Once they are registered, conversations carry them.
	conv := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1709287200.000100"}
	sender := Sender{Client: c, Attributes: func() bool { return true }}
	began, tries := time.Now(), 0
	await(t, "the server to take them", func(ctx context.Context) error {
		tries++
		return sender.Send(ctx, conv, signal("1.1"), "request")
	})
	t.Logf("taken at try %d, after %v", tries, time.Since(began))
	phase := signal("1.1").InitialPhase(conv)
	query := fmt.Sprintf("%s = 'T1' AND %s = 'C1' AND %s = '%s'",
		conversation.AttributeTeam, conversation.AttributeChannel, conversation.AttributePhase, phase)
	await(t, "the conversation to be found", func(ctx context.Context) error {
		found, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err != nil {
			return err
		}
		if len(found.GetExecutions()) != 1 || found.GetExecutions()[0].GetExecution().GetWorkflowId() != conv.ID() {
			return fmt.Errorf("found %v", found.GetExecutions())
		}
		return nil
	})
	var in conversation.Input
	if err := converter.GetDefaultDataConverter().FromPayloads(
		history(t, c, conv.ID(), "")[0].GetWorkflowExecutionStartedEventAttributes().GetInput(), &in); err != nil || !in.Attributes || in.Phase != phase || phase == conversation.Idle {
		t.Errorf("the workflow's input lacks its attributes: %+v, %v", in, err)
	}
}

// With an attribute of another type the server would refuse every signal that may start a
// conversation. Such signals then carry none, as when the server has no room for ours.
func TestUnusableAttributes(t *testing.T) {
	address := testserver.Temporal(t)
	for name, theirs := range map[string]map[string]enumspb.IndexedValueType{
		"another type": {conversation.AttributePhase: enumspb.INDEXED_VALUE_TYPE_INT},
		"no room": { // visibility in SQL has room for ten keywords
			"K1": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "K2": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "K3": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			"K4": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "K5": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "K6": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			"K7": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "K8": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t, address)
			c := connect(t, address, ns)
			await(t, "the namespace to take them", func(ctx context.Context) error {
				_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: ns, SearchAttributes: theirs})
				return err
			})
			var registered bool
			await(t, "the server's word", func(ctx context.Context) (err error) {
				registered, err = RegisterAttributes(ctx, c, ns, false)
				return err
			})
			known, err := KnowsAttributes(t.Context(), c, ns)
			if registered || known || err != nil {
				t.Errorf("registered %v, known %v, %v; want neither", registered, known, err)
			}
			conv := chat.Conversation{Team: "T1", Channel: "C1"}
			sender := Sender{Client: c, Attributes: func() bool { return registered }, AttributesLost: func() { t.Error("AttributesLost was called") }}
			if err := sender.Send(t.Context(), conv, signal("1.1"), "request"); err != nil {
				t.Error(err)
			}
		})
	}
}

// Attributes that were created by hand are used even if the server does not list them, until it
// refuses a signal because of them.
func TestUnlistedAttributes(t *testing.T) {
	address := testserver.Temporal(t)
	for code, name := range map[codes.Code]string{codes.PermissionDenied: "denied", codes.Unimplemented: "unimplemented"} {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t, address)
			operator := connect(t, address, ns)
			c := dial(t, ns, refuse("ListSearchAttributes", code, "Request unauthorized."), refuse("AddSearchAttributes", code, "Request unauthorized."))
			var made []string
			for _, next := range []string{"", conversation.AttributeTeam, conversation.AttributeChannel, conversation.AttributePhase} {
				if next != "" {
					made = append(made, next)
					await(t, "the attribute to be made", func(ctx context.Context) error {
						_, err := operator.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
							Namespace: ns, SearchAttributes: map[string]enumspb.IndexedValueType{next: enumspb.INDEXED_VALUE_TYPE_KEYWORD},
						})
						return err
					})
				}
				await(t, "the namespace to have what was made", func(ctx context.Context) error {
					known, listed, err := Attributes(ctx, c, ns)
					if listed {
						t.Error("listed is true")
					}
					if err == nil && len(known) != len(made) {
						err = fmt.Errorf("known %v, created %v", known, made)
					}
					return err
				})
				all := len(made) == 3
				if registered, err := RegisterAttributes(t.Context(), c, ns, false); registered != all || err != nil {
					t.Errorf("created %v: registered %v, %v", made, registered, err)
				}
				if known, err := KnowsAttributes(t.Context(), c, ns); known != all || err != nil {
					t.Errorf("created %v: known %v, %v", made, known, err)
				}
			}
			if registered, err := RegisterAttributes(t.Context(), c, ns, true); registered || err != nil {
				t.Errorf("after a signal was refused: registered %v, %v", registered, err)
			}
			if registered, err := RegisterAttributes(t.Context(), operator, ns, true); !registered || err != nil {
				t.Errorf("after a signal was refused, where they are listed: registered %v, %v", registered, err)
			}
			away := dial(t, ns, refuse("ListSearchAttributes", code, "no"), refuse("CountWorkflowExecutions", codes.FailedPrecondition, "not now"))
			if registered, err := RegisterAttributes(t.Context(), away, ns, false); registered || err == nil {
				t.Errorf("where neither is answered: registered %v, %v", registered, err)
			}
		})
	}
}

// A query does not show an attribute's type. The first refused signal does, and later signals
// carry no attributes.
func TestAnAttributeOfUnknownType(t *testing.T) {
	ns := namespace(t, testserver.Temporal(t))
	operator := dial(t, ns)
	c := dial(t, ns, deny("ListSearchAttributes"), deny("AddSearchAttributes"))
	await(t, "the attributes to be made", func(ctx context.Context) error {
		_, err := operator.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: ns, SearchAttributes: map[string]enumspb.IndexedValueType{
				conversation.AttributeTeam: enumspb.INDEXED_VALUE_TYPE_KEYWORD, conversation.AttributeChannel: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
				conversation.AttributePhase: enumspb.INDEXED_VALUE_TYPE_INT,
			},
		})
		return err
	})
	registered, refused := false, false
	await(t, "the namespace to have them", func(ctx context.Context) (err error) {
		if registered, err = RegisterAttributes(ctx, c, ns, false); err == nil && !registered {
			err = errors.New("not registered")
		}
		return err
	})
	sender := Sender{Client: c, Attributes: func() bool { return registered }, AttributesLost: func() { refused = true }}
	conv := chat.Conversation{Team: "T1", Channel: "C1"}
	if err := sender.Send(t.Context(), conv, signal("1.1"), "request"); err == nil || !refused {
		t.Fatalf("the signal: %v, refused for its attributes: %v", err, refused)
	}
	var err error
	if registered, err = RegisterAttributes(t.Context(), c, ns, refused); registered || err != nil {
		t.Errorf("registered %v, %v", registered, err)
	}
	if err := sender.Send(t.Context(), conv, signal("1.1"), "request"); err != nil {
		t.Error(err)
	}
}

func TestUnreachableServerIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := connect(t, l.Addr().String(), "default")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := (Sender{Client: c, Attributes: never}).Send(ctx, chat.Conversation{Team: "T1", Channel: "C1"}, signal("1.1"), "r"); err == nil {
		t.Error("the send succeeded")
	}
	if registered, err := RegisterAttributes(ctx, c, "default", false); err == nil || registered {
		t.Errorf("registered %v, %v", registered, err)
	}
}

func TestUnlessRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err   error
		final bool
	}{
		{serviceerror.NewPermissionDenied("no", ""), true},
		{serviceerror.NewUnimplemented("no"), true},
		{serviceerror.NewInvalidArgument("no"), true},
		{fmt.Errorf("wrapped: %w", serviceerror.NewPermissionDenied("no", "")), true},
		{serviceerror.NewUnavailable("later"), false},
		{serviceerror.NewNamespaceNotFound("n"), false},
		{context.DeadlineExceeded, false},
		{errors.New("anything"), false},
	} {
		registered, err := unlessRefused(test.err)
		if registered || (err == nil) != test.final || (err != nil && !errors.Is(err, test.err)) {
			t.Errorf("%v: registered %v, %v", test.err, registered, err)
		}
	}
}

// Whoever starts a conversation, a message or an operator, the server balances it with the same ones.
func TestFairnessKey(t *testing.T) {
	t.Parallel()
	c := chat.Conversation{Team: "T1", Channel: "C1", Thread: "1.1"}
	for byWorkspace, want := range map[bool]string{false: "T1/C1", true: "T1"} {
		options, _ := StartOptions(c, "", conversation.Idle, false, byWorkspace)
		if got := options.Priority.FairnessKey; got != want {
			t.Errorf("by workspace %v: %q, want %q", byWorkspace, got, want)
		}
	}
}
