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
// payload without its key blocks the work until the key is back. The SDK alone would drop
// such a signal, fail a workflow with such an input, and give up such an activity after some
// attempts.
func (c *Codec) DataConverter() converter.DataConverter {
	return dataConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)}
}

// FailureConverter encrypts the message and the stack trace of failures if the codec has an
// active key. It reads both encrypted and plain ones.
func (c *Codec) FailureConverter() converter.FailureConverter {
	return failureConverter{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: c.DataConverter(), EncodeCommonAttributes: c.active != "",
	})}
}

type dataConverter struct{ converter.DataConverter }

var _ converter.ContextAware = dataConverter{}

// WithWorkflowContext implements converter.ContextAware.
func (d dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return workflowConverter(d)
}

// WithContext implements converter.ContextAware, for activities and clients.
func (d dataConverter) WithContext(ctx context.Context) converter.DataConverter {
	if !activity.IsActivity(ctx) {
		return d
	}
	return activityConverter{d.DataConverter, activity.GetInfo(ctx).Attempt}
}

// workflowConverter panics when a payload cannot be decrypted. That fails the workflow task, not
// the workflow: Temporal retries it until the key is back.
type workflowConverter struct{ converter.DataConverter }

func (d workflowConverter) FromPayload(p *commonpb.Payload, value any) error {
	return panicIfUnreadable(d.DataConverter.FromPayload(p, value))
}

func (d workflowConverter) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return panicIfUnreadable(d.DataConverter.FromPayloads(p, values...))
}

func panicIfUnreadable(err error) error {
	if unreadable, ok := errors.AsType[*Error](err); ok {
		panic(unreadable)
	}
	return err
}

// activityConverter makes Temporal retry an activity whose input cannot be decrypted, with
// growing delays.
type activityConverter struct {
	converter.DataConverter
	attempt int32
}

func (d activityConverter) FromPayload(p *commonpb.Payload, value any) error {
	return d.retryIfUnreadable(d.DataConverter.FromPayload(p, value))
}

func (d activityConverter) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return d.retryIfUnreadable(d.DataConverter.FromPayloads(p, values...))
}

func (d activityConverter) retryIfUnreadable(err error) error {
	if unreadable, ok := errors.AsType[*Error](err); ok {
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

type failureConverter struct{ converter.FailureConverter }

// ErrorToFailure implements converter.FailureConverter.
func (f failureConverter) ErrorToFailure(err error) *failurepb.Failure {
	if retry, ok := errors.AsType[*retryError](err); ok {
		err = temporal.NewApplicationErrorWithOptions(retry.Error(), "Unreadable", temporal.ApplicationErrorOptions{NextRetryDelay: retry.delay})
	}
	return f.FailureConverter.ErrorToFailure(err)
}
