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
	"myao/internal/operate/launch"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/temporal"
	"myao/workflows"
)

const (
	// stopTimeout is how long activities may run on when the worker stops. The rest is then
	// cancelled, and retried by another worker. With drainTimeout and five seconds for the last
	// spans, it stays below the thirty seconds that a program may take to stop.
	stopTimeout = 15 * time.Second
	// drainTimeout is how long cancelled activities may take to record their end: as long as
	// they allow themselves.
	drainTimeout = 5 * time.Second
	// mainConcurrency is how many activities of the main queue run at a time. They are short
	// calls of Slack and of the database, which has eight connections: more would not be
	// faster. It would also be less fair, since only the queue balances channels.
	mainConcurrency = 100
)

// workers are the SDK's workers that make up one of ours. Model calls have a task queue of their own,
// with its own rate limit, so that nothing else waits behind them. So have tools, which may be slow.
type workers struct{ main, model, tools worker.Worker }

func (w workers) all() []worker.Worker { return []worker.Worker{w.main, w.model, w.tools} }

func newWorkers(c client.Client, all activities.Workspaces, tracker *activityTracker, settings config.Worker,
	version worker.DeploymentOptions, fatal func(error)) workers {
	worker.SetStickyWorkflowCacheSize(settings.CachedWorkflows)
	options := worker.Options{
		WorkerStopTimeout: stopTimeout, OnFatalError: fatal, DeploymentOptions: version,
		Interceptors: []interceptor.WorkerInterceptor{tracker},
		// By default the SDK would send a heartbeat every eight seconds. That is too late for a
		// timeout of ten, and for an activity to learn that it is cancelled.
		MaxHeartbeatThrottleInterval:       2 * time.Second,
		MaxConcurrentActivityExecutionSize: mainConcurrency,
		// Local activities are the first attempts to post.
		MaxConcurrentLocalActivityExecutionSize: mainConcurrency,
		// A fixed number of pollers prefers tasks of running workflows: in a storm, the first
		// message of another conversation would wait for its end.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	}
	w := workers{main: worker.New(c, conversation.TaskQueue, options)}
	options.DisableWorkflowWorker = true
	w.tools = worker.New(c, conversation.ToolsTaskQueue, options)
	options.MaxConcurrentActivityExecutionSize = settings.MaxConcurrentModelCalls
	options.TaskQueueActivitiesPerSecond = settings.ModelCallsPerSecond // 0: no limit
	w.model = worker.New(c, conversation.ModelTaskQueue, options)

	w.main.RegisterWorkflowWithOptions(workflows.Conversation,
		workflow.RegisterOptions{Name: conversation.WorkflowType})
	w.main.RegisterWorkflow(workflows.Memory)
	w.main.RegisterWorkflow(workflows.CatchUp)
	w.main.RegisterWorkflow(workflows.CatchUpAll)
	w.main.RegisterWorkflow(workflows.ChannelSync)
	w.main.RegisterWorkflow(workflows.EachWorkspace)
	w.main.RegisterWorkflow(workflows.Retention)
	w.main.RegisterWorkflow(workflows.Hindsight)
	w.main.RegisterWorkflow(workflows.Shadow)
	w.main.RegisterWorkflowWithOptions(workflows.ForgetPerson,
		workflow.RegisterOptions{Name: temporal.ForgetPersonWorkflow})
	w.main.RegisterWorkflowWithOptions(workflows.Introduction,
		workflow.RegisterOptions{Name: temporal.IntroductionWorkflow})
	// Each worker runs every activity; the workflow chooses the queue.
	for _, one := range w.all() {
		activities.Register(one, all)
	}
	return w
}

// start starts all or none.
func (w workers) start() error {
	for i, one := range w.all() {
		if err := one.Start(); err != nil {
			for _, started := range w.all()[:i] {
				started.Stop()
			}
			return err
		}
	}
	return nil
}

// stop stops all at the same time: each may take stopTimeout.
func (w workers) stop() {
	var group sync.WaitGroup
	for _, one := range w.all() {
		group.Go(one.Stop)
	}
	group.Wait()
}

// start retries until Temporal is reachable or the context ends. Each try creates new workers:
// once its start has failed, a worker returns the same error for ever.
func start(ctx context.Context, p launch.Program, create func() workers) (workers, error) {
	for wait := time.Second; ; wait = min(2*wait, 5*time.Second) {
		w := create()
		err := w.start()
		if err == nil {
			return w, nil
		}
		p.Logger.Error("Temporal not ready; trying again", "error", err, "in", wait.String())
		if !pause.For(ctx, wait) {
			return workers{}, ctx.Err()
		}
	}
}
