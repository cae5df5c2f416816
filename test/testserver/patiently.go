package testserver

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// patience is how long a call of Temporal may take at least.
const patience = 3 * time.Minute

// PatientCalls are the options of a client whose calls of Temporal may take minutes. The SDK gives a call ten seconds
// at most, and the first one five, and a machine may stall for as long.
func PatientCalls() client.ConnectionOptions {
	return client.ConnectionOptions{GetSystemInfoTimeout: patience,
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(Patiently)}}
}

// Patiently makes a call that ends with its context if that is cancelled, but not at a deadline sooner than patience.
func Patiently(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if end, ok := ctx.Deadline(); !ok || time.Until(end) >= patience {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})()
	return invoke(patient, method, req, reply, cc, opts...)
}
