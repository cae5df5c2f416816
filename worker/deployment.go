package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"myao/internal/config"
	"myao/internal/operate/launch"
)

// deploymentOptions make Temporal version this worker, if it is configured so: a workflow stays
// with the version that started it. build is the program's own build information.
func deploymentOptions(settings config.Worker, build *debug.BuildInfo) (worker.DeploymentOptions, error) {
	if settings.Deployment == "" {
		return worker.DeploymentOptions{}, nil
	}
	id := settings.BuildID
	if id == "" {
		id = launch.Revision(build)
	}
	if id == "" {
		return worker.DeploymentOptions{}, errors.New(
			"worker.build_id: the program was built without a revision; set the version of worker.deployment here")
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: settings.Deployment, BuildID: id},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}, nil
}

// binaryChecksum identifies this build among those that completed a workflow's tasks: by its
// revision or, without a clean one, by the size and time of its file. By default the SDK would
// hash the whole file, which takes as long as the rest of the start.
func binaryChecksum(build *debug.BuildInfo, executable func() (string, error)) (string, error) {
	revision := launch.Revision(build)
	if revision != "" && !strings.Contains(revision, "-") { // known, and without local changes
		return revision, nil
	}
	path, err := executable()
	if err != nil {
		return "", fmt.Errorf("find the program's own file: %w", err)
	}
	file, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the size of the program's own file: %w", err)
	}
	return fmt.Sprintf("%x-%x", file.Size(), file.ModTime().UnixNano()), nil
}
