package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"

	"myao/internal/conversation"
)

// readyWithin is how long all programs may take to be ready, on a slow machine.
const readyWithin = 2 * time.Minute

func awaitTemporal(ctx context.Context, c client.Client) error {
	return poll(ctx, "Temporal", func(ctx context.Context) bool {
		_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err == nil
	})
}

func awaitReady(ctx context.Context, url string) error {
	return poll(ctx, "the starter", func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// poll calls done until it returns true. It fails after readyWithin.
func poll(ctx context.Context, what string, done func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !done(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready within %s", what, readyWithin)
		case <-tick.C:
		}
	}
	return nil
}

// polling returns a function that reports whether the worker with a process id polls for
// workflow tasks of conversations. A worker's identity begins with its process id
// (go.temporal.io/sdk/client, Options.Identity).
func polling(server client.Client) func(ctx context.Context, pid int) bool {
	return func(ctx context.Context, pid int) bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		queue, err := server.DescribeTaskQueue(ctx, conversation.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		return err == nil && slices.ContainsFunc(queue.GetPollers(), func(p *taskqueuepb.PollerInfo) bool {
			return strings.HasPrefix(p.GetIdentity(), strconv.Itoa(pid)+"@")
		})
	}
}
