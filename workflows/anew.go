package workflows

import "go.temporal.io/sdk/workflow"

// outgrown reports whether a run should hand over to a new one: its history has
// become long, or other workers than those that it is pinned to are to go on with it.
func outgrown(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// anew hands over to a new run. Where workers have versions it goes to the current
// one: a run that is pinned would else hand its version on, and never end it.
func anew(ctx workflow.Context, flow, in any) error {
	return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, flow, in)
}
