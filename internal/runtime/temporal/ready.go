package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Ready returns an error if the server does not answer, or does not have the namespace. A server that says
// nothing of its namespaces, for want of a right, is ready.
func Ready(ctx context.Context, c client.Client) error {
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	_, err := c.WorkflowService().
		DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: Namespace()})
	if _, gone := errors.AsType[*serviceerror.NamespaceNotFound](err); gone {
		return fmt.Errorf("temporal: the namespace %s does not exist", Namespace())
	}
	return nil
}
