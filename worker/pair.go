package main

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/activities"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/launch"
	"myao/internal/pause"
	"myao/workflows"
)

const (
	// stopFor is how long activities may take to end when the worker is told to
	// stop; what has not ended is called back, and tried again by another worker.
	// With endFor, and five seconds for the last spans, that leaves some of the thirty
	// that a program may take.
	stopFor = 15 * time.Second
	// endFor is how long those that were called back may take to write down how they
	// ended: as long as they allow themselves.
	endFor = 5 * time.Second
	// mainAtOnce is how many activities of the main queue are under way: looks at the
	// database and calls of Slack, most over in a moment, of which the database carries
	// out eight side by side. More would not be quicker, and what a worker has taken
	// takes turns no more: it is in the queue that channels are treated alike.
	mainAtOnce = 100
)

// pair is the SDK's two workers that make up one of ours: what a model is asked has a
// queue to itself, with a rate of its own, and nothing else waits behind it.
type pair struct{ main, model worker.Worker }

func newPair(c client.Client, a *activities.Activities, u *underway, settings config.Worker, version worker.DeploymentOptions, fatal func(error)) pair {
	options := worker.Options{
		WorkerStopTimeout: stopFor, OnFatalError: fatal, DeploymentOptions: version,
		Interceptors: []interceptor.WorkerInterceptor{u},
		// The SDK would send a heartbeat every eight seconds: late for a limit of ten,
		// and for an activity that is to learn that it is called back.
		MaxHeartbeatThrottleInterval:       2 * time.Second,
		MaxConcurrentActivityExecutionSize: mainAtOnce,
		// First attempts to post, which are made within workflow tasks.
		MaxConcurrentLocalActivityExecutionSize: mainAtOnce,
		// Not a fixed number of pollers: those prefer what workflows that run have to do,
		// and in a storm the first word of another conversation would wait for its end.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	}
	p := pair{main: worker.New(c, conversation.TaskQueue, options)}
	options.DisableWorkflowWorker = true
	options.MaxConcurrentActivityExecutionSize = settings.ModelCallsAtOnce
	options.TaskQueueActivitiesPerSecond = settings.ModelCallsPerSecond // 0: as many as there are
	p.model = worker.New(c, conversation.ModelTaskQueue, options)

	p.main.RegisterWorkflowWithOptions(workflows.Conversation, workflow.RegisterOptions{Name: conversation.WorkflowType})
	p.main.RegisterWorkflow(workflows.Memory)
	p.main.RegisterWorkflow(workflows.CatchUp)
	p.main.RegisterWorkflow(workflows.ChannelSync)
	p.main.RegisterWorkflow(workflows.Retention)
	// Either can do all: where something waits is the workflow's choice.
	p.main.RegisterActivity(a)
	p.model.RegisterActivity(a)
	return p
}

// start starts both or none.
func (p pair) start() error {
	if err := p.main.Start(); err != nil {
		return err
	}
	if err := p.model.Start(); err != nil {
		p.main.Stop()
		return err
	}
	return nil
}

// stop stops both at once: each may take stopFor.
func (p pair) stop() {
	var group sync.WaitGroup
	group.Go(p.main.Stop)
	group.Go(p.model.Stop)
	group.Wait()
}

// start tries until Temporal is there or the context ends. Each try has workers of
// its own: one whose start has failed answers with the same error for ever.
func start(ctx context.Context, p launch.Program, make func() pair) (pair, error) {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Second) {
		w := make()
		err := w.start()
		if err == nil {
			return w, nil
		}
		p.Logger.Error("Temporal not ready; trying again", "error", err, "in", wait.String())
		if !pause.For(ctx, wait) {
			return pair{}, ctx.Err()
		}
	}
}
