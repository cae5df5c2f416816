package codec

import (
	"context"
	"errors"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// DataConverter is the SDK's default with the codec around it. It differs in one point: a
// payload that cannot be decrypted blocks the work until it can. The SDK alone would drop
// such a signal, fail a workflow with such an input, and give up such an activity after some
// attempts.
func (c *Codec) DataConverter() converter.DataConverter {
	return dataConverter{DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)}
}

// FailureConverter encrypts the message and the stack trace of failures if the codec has an
// active key. It reads both encrypted and plain ones.
func (c *Codec) FailureConverter() converter.FailureConverter {
	return failureConverter{codec: c,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: c.DataConverter(), EncodeCommonAttributes: c.active != "",
		})}
}

// dataConverter knows where it is used, for what happens to a payload that cannot be decrypted.
type dataConverter struct {
	converter.DataConverter
	inWorkflow bool
	attempt    int32 // of the activity; 0 elsewhere
}

var (
	_ converter.ContextAware                          = dataConverter{}
	_ converter.DataConverterWithSerializationContext = dataConverter{}
)

// WithWorkflowContext implements converter.ContextAware.
func (d dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return dataConverter{DataConverter: d.DataConverter, inWorkflow: true}
}

// WithContext implements converter.ContextAware, for activities and clients.
func (d dataConverter) WithContext(ctx context.Context) converter.DataConverter {
	if !activity.IsActivity(ctx) {
		return d
	}
	return dataConverter{DataConverter: d.DataConverter, attempt: activity.GetInfo(ctx).Attempt}
}

// WithSerializationContext implements converter.DataConverterWithSerializationContext. The SDK
// calls it before or after the other two.
func (d dataConverter) WithSerializationContext(in converter.SerializationContext) converter.DataConverter {
	d.DataConverter = converter.WithDataConverterSerializationContext(d.DataConverter, in)
	return d
}

// FromPayload implements converter.DataConverter.
func (d dataConverter) FromPayload(p *commonpb.Payload, value any) error {
	return d.waitIfUnreadable(d.DataConverter.FromPayload(p, value))
}

// FromPayloads implements converter.DataConverter.
func (d dataConverter) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return d.waitIfUnreadable(d.DataConverter.FromPayloads(p, values...))
}

// waitIfUnreadable panics in a workflow. That fails the workflow task, not the workflow: Temporal
// retries it until the key is back. It makes Temporal retry an activity, with growing delays.
func (d dataConverter) waitIfUnreadable(err error) error {
	unreadable, ok := errors.AsType[*Error](err)
	switch {
	case ok && d.inWorkflow:
		panic(unreadable)
	case ok && d.attempt > 0:
		return &retryError{unreadable, retryAfter(d.attempt)}
	}
	return err
}

// retryAfter grows with the square of the attempt. The first retries soon find a worker that was
// restarted with a new key. The 45 attempts of a model call last for more than eight hours.
func retryAfter(attempt int32) time.Duration {
	n := time.Duration(min(attempt, 60)) // at most an hour
	return n * n * time.Second
}

// retryError is an Error with the delay of the next attempt.
type retryError struct {
	err   *Error
	delay time.Duration
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

type failureConverter struct {
	converter.FailureConverter
	codec *Codec
}

var _ converter.FailureConverterWithSerializationContext = failureConverter{}

// WithSerializationContext implements converter.FailureConverterWithSerializationContext.
func (f failureConverter) WithSerializationContext(in converter.SerializationContext) converter.FailureConverter {
	return f.codec.in(in).FailureConverter()
}

// ErrorToFailure implements converter.FailureConverter.
func (f failureConverter) ErrorToFailure(err error) *failurepb.Failure {
	if retry, ok := errors.AsType[*retryError](err); ok {
		err = temporal.NewApplicationErrorWithOptions(retry.Error(), "Unreadable",
			temporal.ApplicationErrorOptions{NextRetryDelay: retry.delay})
	}
	return f.FailureConverter.ErrorToFailure(err)
}
