// Package option has one option for the generative-ai-go client, which tells that client's transports apart. The client
// removes an option from those of its gRPC transport if its type is called option.withHTTPClient; hence the names here.
package option

import "google.golang.org/api/option"

// withHTTPClient passes for the client's own option of that name.
type withHTTPClient struct{ option.ClientOption }

// WithoutGRPCConn takes a connection for gRPC from the options of the transports over HTTP, which would refuse it.
func WithoutGRPCConn() option.ClientOption { return withHTTPClient{option.WithGRPCConn(nil)} }
