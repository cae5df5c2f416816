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

// DataConverter is the SDK's own with the codec around it, and one difference: where
// a payload cannot be read for want of its key, nothing goes on without it. The SDK
// by itself would drop a signal that it cannot decode, fail a workflow whose input it
// cannot decode, and give an activity up after some attempts.
func (c *Codec) DataConverter() converter.DataConverter {
	return dataConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)}
}

// FailureConverter hides the message and the stack of failures where the codec
// encrypts, and reads both those that are hidden and those that are not.
func (c *Codec) FailureConverter() converter.FailureConverter {
	return failureConverter{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: c.DataConverter(), EncodeCommonAttributes: c.active != "",
	})}
}

type dataConverter struct{ converter.DataConverter }

var _ converter.ContextAware = dataConverter{}

// WithWorkflowContext implements converter.ContextAware.
func (d dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return inWorkflow(d)
}

// WithContext implements converter.ContextAware, for activities and clients.
func (d dataConverter) WithContext(ctx context.Context) converter.DataConverter {
	if !activity.IsActivity(ctx) {
		return d
	}
	return inActivity{d.DataConverter, activity.GetInfo(ctx).Attempt}
}

// inWorkflow panics where a payload cannot be read. That fails the workflow task and
// not the workflow: Temporal tries it again until somebody has brought the key back.
type inWorkflow struct{ converter.DataConverter }

func (d inWorkflow) FromPayload(p *commonpb.Payload, value any) error {
	return block(d.DataConverter.FromPayload(p, value))
}

func (d inWorkflow) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return block(d.DataConverter.FromPayloads(p, values...))
}

func block(err error) error {
	if unreadable, ok := errors.AsType[*Error](err); ok {
		panic(unreadable)
	}
	return err
}

// inActivity has an activity whose input cannot be read tried again, later each time.
type inActivity struct {
	converter.DataConverter
	attempt int32
}

func (d inActivity) FromPayload(p *commonpb.Payload, value any) error {
	return d.postpone(d.DataConverter.FromPayload(p, value))
}

func (d inActivity) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return d.postpone(d.DataConverter.FromPayloads(p, values...))
}

func (d inActivity) postpone(err error) error {
	if unreadable, ok := errors.AsType[*Error](err); ok {
		return &postponed{unreadable, retryAfter(d.attempt)}
	}
	return err
}

// retryAfter grows with the square of the attempt. While workers are restarted with a
// new key, the first ones find another worker soon; and the 45 attempts that a question
// to a model has last for more than eight hours.
func retryAfter(attempt int32) time.Duration {
	n := time.Duration(min(attempt, 60)) // at most an hour
	return n * n * time.Second
}

// postponed is an Error with the time after which to try again.
type postponed struct {
	why   *Error
	after time.Duration
}

func (e *postponed) Error() string { return e.why.Error() }
func (e *postponed) Unwrap() error { return e.why }

type failureConverter struct{ converter.FailureConverter }

// ErrorToFailure implements converter.FailureConverter.
func (f failureConverter) ErrorToFailure(err error) *failurepb.Failure {
	if late, ok := errors.AsType[*postponed](err); ok {
		err = temporal.NewApplicationErrorWithOptions(late.Error(), "Unreadable", temporal.ApplicationErrorOptions{NextRetryDelay: late.after})
	}
	return f.FailureConverter.ErrorToFailure(err)
}
