// Package temporal connects the programs to a Temporal server. It holds the client, the signal
// that starts a conversation, the schedules, and the search attributes of conversations.
package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/runtime/codec"
)

// NewClient creates a client from Temporal's own environment variables (TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_… and profiles; see
// docs.temporal.io/develop/environment-configuration). It connects on first use, so the server
// need not run yet. With keys it encrypts and decrypts payloads. A remote codec in the
// environment is for Temporal's CLI, and is not used. Each of more may change the options.
func NewClient(
	encryption config.Encryption, logger *slog.Logger, more ...func(*client.Options),
) (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("read Temporal's environment variables: %w", err)
	}
	options.Logger = sdklog.NewStructuredLogger(logger)
	if len(encryption.Keys) > 0 {
		c, err := codec.New(encryption)
		if err != nil {
			return nil, err
		}
		options.DataConverter, options.FailureConverter = c.DataConverter(), c.FailureConverter()
	}
	// Payloads are ids, a few hundred bytes at a time: compressing them takes longer than
	// sending them.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(setRequestID))
	for _, add := range more {
		add(&options)
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("create a Temporal client: %w", err)
	}
	return c, nil
}

type requestIDKey struct{}

// setRequestID sets a signal's request id from the context. The SDK would generate a new id for
// each call, and the server could not detect a repetition.
func setRequestID(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	if r, ok := req.(*workflowservice.SignalWithStartWorkflowExecutionRequest); ok {
		if id, ok := ctx.Value(requestIDKey{}).(string); ok {
			r.RequestId = id
		}
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// Sender sends signals to conversations.
type Sender struct {
	Client client.Client
	// Attributes reports whether the server knows our search attributes.
	Attributes func() bool
	// AttributesLost is called when the server no longer knows them: its database was recreated.
	AttributesLost func()
	// Name returns a channel's name for the Web UI. Without it, or when it returns "", the Web UI
	// shows the channel's id.
	Name func(ctx context.Context, team, channel string) string
	// FairByWorkspace has the server balance workspaces, and not channels, which the relay's pace does.
	FairByWorkspace bool
}

var (
	teamAttribute    = sdk.NewSearchAttributeKeyKeyword(conversation.AttributeTeam)
	channelAttribute = sdk.NewSearchAttributeKeyKeyword(conversation.AttributeChannel)
	phaseAttribute   = sdk.NewSearchAttributeKeyKeyword(conversation.AttributePhase)
)

// Send signals a conversation, and starts its workflow if none is running.
func (s Sender) Send(ctx context.Context, c chat.Conversation, signal conversation.Signal, requestID string) error {
	ctx = context.WithValue(ctx, requestIDKey{}, requestID)
	name := ""
	if s.Name != nil {
		name = s.Name(ctx, c.Team, c.Channel)
	}
	options, in := StartOptions(c, name, signal.InitialPhase(c), s.Attributes(), s.FairByWorkspace)
	_, err := s.Client.SignalWithStartWorkflow(ctx, c.ID(), conversation.SignalName, signal, options,
		conversation.WorkflowType, in)
	var invalid *serviceerror.InvalidArgument
	// The message tells this error from another InvalidArgument: a run refuses its 10,001st signal.
	if in.Attributes && errors.As(err, &invalid) && strings.Contains(strings.ToLower(invalid.Message),
		"search attribute") {
		s.AttributesLost()
	}
	return err
}

// StartOptions are the options and the input for starting a conversation's workflow. name is its
// channel's name, or empty, and phase the search attribute's first value. fairByWorkspace is as in Sender.
func StartOptions(c chat.Conversation, name string, phase conversation.Phase,
	attributes, fairByWorkspace bool) (client.StartWorkflowOptions, conversation.Input) {
	options := client.StartWorkflowOptions{
		ID:        c.ID(),
		TaskQueue: conversation.TaskQueue,
		// A conversation that closed when it was idle starts a new run.
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout:   taskTimeout,
		StaticSummary:         summary(c, name),
		Priority:              sdk.Priority{FairnessKey: fairnessKey(c, fairByWorkspace)},
	}
	in := conversation.Input{Conversation: c, Attributes: attributes, Phase: phase}
	if attributes {
		options.TypedSearchAttributes = sdk.NewSearchAttributes(
			teamAttribute.ValueSet(c.Team), channelAttribute.ValueSet(c.Channel),
			phaseAttribute.ValueSet(string(phase)))
	}
	return options, in
}

// taskTimeout is how long the server waits for a workflow task, which takes a moment, until it
// gives the task to another worker. It is half the default: when a worker dies or a task is
// lost, nobody is answered meanwhile.
const taskTimeout = 5 * time.Second

// fairnessKey is the conversation's Slack channel, or its workspace: the server dispatches waiting tasks of all of
// them in turn. The workflow's activities inherit the key. Slack's ids are short; the key is
// cut because the server would refuse a signal with a longer one.
func fairnessKey(c chat.Conversation, byWorkspace bool) string {
	const most = 64 // bytes
	key := c.Team
	if !byWorkspace {
		key += "/" + c.Channel
	}
	return key[:min(most, len(key))]
}

// summary describes a conversation for people, and holds nothing that they wrote. A long channel
// name is cut: the server refuses a signal whose summary exceeds 400 bytes after encryption. That
// leaves 80 bytes for the encryption key's id and the namespace, which a bound payload names.
func summary(c chat.Conversation, name string) string {
	const most = 60 // bytes
	channel := c.Channel
	if name != "" {
		channel = "#" + name
		if len(name) > most {
			channel = "#" + strings.ToValidUTF8(name[:most], "") + "…"
		}
	}
	switch {
	case !c.TopLevel():
		return fmt.Sprintf("%s · thread %s", channel, chat.Time(c.Thread).Format("2006-01-02 15:04:05 MST"))
	case c.Direct():
		return channel + " · direct messages"
	default:
		return channel + " · top level"
	}
}

// KnowsAttributes reports whether the server knows our search attributes. It registers none.
func KnowsAttributes(ctx context.Context, c client.Client, namespace string) (bool, error) {
	missing, usable, err := missingAttributes(ctx, c, namespace, false)
	if err != nil {
		return unlessRefused(err)
	}
	return usable && len(missing) == 0, nil
}

// Attributes returns the types of the search attributes that the server knows, at least of ours.
// listed is false when the server does not list them, as for an API key without that permission.
// Attributes then tries a prefix query with each of ours. The server refuses it for an unknown
// attribute, but may accept it for one that is no keyword.
func Attributes(
	ctx context.Context, c client.Client, namespace string,
) (known map[string]enumspb.IndexedValueType, listed bool, err error) {
	list, err := c.OperatorService().
		ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	var (
		denied        *serviceerror.PermissionDenied
		unimplemented *serviceerror.Unimplemented
	)
	if !errors.As(err, &denied) && !errors.As(err, &unimplemented) {
		return list.GetCustomAttributes(), true, err
	}
	known = map[string]enumspb.IndexedValueType{}
	for _, name := range conversation.Attributes {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace,
			Query: name + " STARTS_WITH 'x'"})
		var invalid *serviceerror.InvalidArgument
		switch {
		case err == nil:
			known[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		case !errors.As(err, &invalid):
			return nil, false, err
		}
	}
	return known, false, nil
}

// missingAttributes returns those of our attributes that the server does not know. usable is
// false when one exists that is no keyword: the server refuses a signal with a value for it, and
// a name cannot be registered twice. It is also false after such a refusal if the server does
// not list the types.
func missingAttributes(ctx context.Context, c client.Client, namespace string,
	signalRefused bool) (missing map[string]enumspb.IndexedValueType, usable bool, err error) {
	known, listed, err := Attributes(ctx, c, namespace)
	if err != nil {
		return nil, false, err
	}
	missing, usable = map[string]enumspb.IndexedValueType{}, listed || !signalRefused
	for _, name := range conversation.Attributes {
		switch kind, there := known[name]; {
		case !there:
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		case kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD:
			usable = false
		}
	}
	return missing, usable, nil
}

// RegisterAttributes registers our search attributes. registered is false, without an error, when
// the server does not permit it, or has one of another type. signalRefused says that the server
// has refused a signal because of them.
func RegisterAttributes(
	ctx context.Context, c client.Client, namespace string, signalRefused bool,
) (registered bool, err error) {
	missing, usable, err := missingAttributes(ctx, c, namespace, signalRefused)
	if err != nil {
		return unlessRefused(err)
	}
	if len(missing) == 0 || !usable {
		return usable, nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return unlessRefused(err)
	}
	return true, nil
}

// unlessRefused returns no error if the server permanently refuses us. Any other error may pass.
func unlessRefused(err error) (bool, error) {
	var (
		denied        *serviceerror.PermissionDenied
		unimplemented *serviceerror.Unimplemented
		invalid       *serviceerror.InvalidArgument
	)
	if errors.As(err, &denied) || errors.As(err, &unimplemented) || errors.As(err, &invalid) {
		return false, nil
	}
	return false, fmt.Errorf("access the search attributes: %w", err)
}

// Address is the server's address in the environment, or the default.
func Address() string {
	if options, err := envconfig.LoadDefaultClientOptions(); err == nil && options.HostPort != "" {
		return options.HostPort
	}
	return client.DefaultHostPort
}

// Namespace is the namespace in the environment, or the default.
func Namespace() string {
	if options, err := envconfig.LoadDefaultClientOptions(); err == nil && options.Namespace != "" {
		return options.Namespace
	}
	return "default"
}
