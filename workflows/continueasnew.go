package workflows

import "go.temporal.io/sdk/workflow"

// shouldContinueAsNew reports whether a run should be continued as new: its history is long,
// or it is pinned to workers of a version that is no longer current.
func shouldContinueAsNew(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// continueAsNew ends a run and starts the next one. With versioned workers the next run is of
// the current version: a pinned run would otherwise pass its own version on for ever.
func continueAsNew(ctx workflow.Context, flow, in any) error {
	return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, flow, in)
}
