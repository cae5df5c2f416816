package testserver

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// PatientCalls are the options of a client whose calls of Temporal may take minutes. The SDK gives a call ten seconds
// at most, and a machine may stall for as long.
func PatientCalls() client.ConnectionOptions {
	return client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(Patiently)}}
}

// Patiently makes a call that ends with its context if that is cancelled, but not at its deadline.
func Patiently(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})()
	return invoke(patient, method, req, reply, cc, opts...)
}
