// Package temporal is the starter's and the worker's way to a Temporal server:
// the connection, the signal that starts a conversation, and the search
// attributes that people look conversations up by.
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
	"myao/internal/codec"
	"myao/internal/config"
	"myao/internal/conversation"
)

// NewClient makes a client by Temporal's own environment (TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_… and profiles; see
// docs.temporal.io/develop/environment-configuration). It connects when it is
// first used: the server need not be there yet. With keys, what the client sends
// is encrypted and what it gets is decrypted; a remote codec of the environment is
// for Temporal's CLI, and not used. What else the options shall have, more adds.
func NewClient(encryption config.Encryption, logger *slog.Logger, more ...func(*client.Options)) (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("read Temporal's environment: %w", err)
	}
	options.Logger = sdklog.NewStructuredLogger(logger)
	if len(encryption.Keys) > 0 {
		c, err := codec.New(encryption)
		if err != nil {
			return nil, err
		}
		options.DataConverter, options.FailureConverter = c.DataConverter(), c.FailureConverter()
	}
	// What is sent are ids, a few hundred bytes at a time: to pack and unpack them would take longer, here and
	// at the server, than to send them.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(setRequestID))
	for _, add := range more {
		add(&options)
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("make a Temporal client: %w", err)
	}
	return c, nil
}

type requestIDKey struct{}

// setRequestID gives a signal the request id that the context carries: the SDK
// draws a new one for each call, and the server knows a repetition by it.
func setRequestID(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
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
	// AttributesLost is told when the server knows them no more: it was set up anew.
	AttributesLost func()
	// Name is what a channel is called, for people who look at the Web UI; without it,
	// and where it is empty, they see the channel's id.
	Name func(ctx context.Context, team, channel string) string
}

var (
	teamAttribute    = sdk.NewSearchAttributeKeyKeyword(conversation.AttributeTeam)
	channelAttribute = sdk.NewSearchAttributeKeyKeyword(conversation.AttributeChannel)
	phaseAttribute   = sdk.NewSearchAttributeKeyKeyword(conversation.AttributePhase)
)

// Send signals a conversation, and starts its workflow if none runs.
func (s Sender) Send(ctx context.Context, c chat.Conversation, signal conversation.Signal, requestID string) error {
	ctx = context.WithValue(ctx, requestIDKey{}, requestID)
	name := ""
	if s.Name != nil {
		name = s.Name(ctx, c.Team, c.Channel)
	}
	options, in := StartOptions(c, name, signal.InitialPhase(c), s.Attributes())
	_, err := s.Client.SignalWithStartWorkflow(ctx, c.ID(), conversation.SignalName, signal, options, conversation.WorkflowType, in)
	var invalid *serviceerror.InvalidArgument
	// A run that has had its 10,000 signals refuses more in the same way, until it continues as new.
	if in.Attributes && errors.As(err, &invalid) && strings.Contains(strings.ToLower(invalid.Message), "search attribute") {
		s.AttributesLost()
	}
	return err
}

// StartOptions is how the workflow of a conversation is started that does not run, and with
// what; name is what its channel is called, or empty, and phase what the run begins with.
func StartOptions(c chat.Conversation, name string, phase conversation.Phase, attributes bool) (client.StartWorkflowOptions, conversation.Input) {
	options := client.StartWorkflowOptions{
		ID:        c.ID(),
		TaskQueue: conversation.TaskQueue,
		// A conversation that was closed when it was idle starts anew.
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout:   taskTimeout,
		StaticSummary:         summary(c, name),
		Priority:              sdk.Priority{FairnessKey: fairnessKey(c)},
	}
	in := conversation.Input{Conversation: c, Attributes: attributes, PostsAtOnce: true}
	if attributes {
		in.Phase, in.LastingPhases = phase, true
		options.TypedSearchAttributes = sdk.NewSearchAttributes(
			teamAttribute.ValueSet(c.Team), channelAttribute.ValueSet(c.Channel), phaseAttribute.ValueSet(string(phase)))
	}
	return options, in
}

// taskTimeout is how long a workflow task may be under way, which is over in a moment, until
// the server gives it to another worker: half of its default, since nobody is answered
// meanwhile where a worker has died with it, or the server has lost it on its way.
const taskTimeout = 5 * time.Second

// fairnessKey is the conversation's Slack channel: when tasks wait, the server takes
// of each channel in turn. What the workflow has done for it inherits the key. Slack's
// ids are short; a longer key than the server takes would refuse the signal.
func fairnessKey(c chat.Conversation) string {
	const most = 64 // bytes
	key := c.Team + "/" + c.Channel
	return key[:min(most, len(key))]
}

// summary names a conversation for people, without a word of what is said in it. The
// server takes 400 bytes, encrypted ones, and would refuse the signal over more: of a
// long name it has the beginning.
func summary(c chat.Conversation, name string) string {
	const most = 40 // characters
	channel := c.Channel
	if name != "" {
		channel = "#" + name
		if r := []rune(name); len(r) > most {
			channel = "#" + string(r[:most]) + "…"
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
		return refused(err)
	}
	return usable && len(missing) == 0, nil
}

// Attributes is which search attributes, of ours at least, the server knows, and of which
// type. listed is false where it does not tell, as it may do to a key that is only to use a
// namespace. Then it is asked for what begins with something, and refuses the query over an
// attribute that it does not know; but it may take it over one that is no keyword.
func Attributes(ctx context.Context, c client.Client, namespace string) (known map[string]enumspb.IndexedValueType, listed bool, err error) {
	list, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	var (
		denied        *serviceerror.PermissionDenied
		unimplemented *serviceerror.Unimplemented
	)
	if !errors.As(err, &denied) && !errors.As(err, &unimplemented) {
		return list.GetCustomAttributes(), true, err
	}
	known = map[string]enumspb.IndexedValueType{}
	for _, name := range conversation.Attributes {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: name + " STARTS_WITH 'x'"})
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

// missingAttributes are those that the server does not know. None is usable where one is
// there that is no keyword: the server refuses the signal that would start a
// conversation with a value for it, and no name can be registered twice. Nor are they where
// it has refused such a signal, and does not say of which type they are.
func missingAttributes(ctx context.Context, c client.Client, namespace string, signalRefused bool) (missing map[string]enumspb.IndexedValueType, usable bool, err error) {
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

// RegisterAttributes makes the search attributes known to the server. registered
// is false, without an error, where the server does not let us, or has one of another type.
// signalRefused says that it has refused a signal over them.
func RegisterAttributes(ctx context.Context, c client.Client, namespace string, signalRefused bool) (registered bool, err error) {
	missing, usable, err := missingAttributes(ctx, c, namespace, signalRefused)
	if err != nil {
		return refused(err)
	}
	if len(missing) == 0 || !usable {
		return usable, nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return refused(err)
	}
	return true, nil
}

// refused tells a server that will never let us from one that is not there.
func refused(err error) (bool, error) {
	var (
		denied        *serviceerror.PermissionDenied
		unimplemented *serviceerror.Unimplemented
		invalid       *serviceerror.InvalidArgument
	)
	if errors.As(err, &denied) || errors.As(err, &unimplemented) || errors.As(err, &invalid) {
		return false, nil
	}
	return false, fmt.Errorf("look after the search attributes: %w", err)
}

// Address is the server that the environment names.
func Address() string {
	if options, err := envconfig.LoadDefaultClientOptions(); err == nil && options.HostPort != "" {
		return options.HostPort
	}
	return client.DefaultHostPort
}

// Namespace is the namespace that the environment names.
func Namespace() string {
	if options, err := envconfig.LoadDefaultClientOptions(); err == nil && options.Namespace != "" {
		return options.Namespace
	}
	return "default"
}
