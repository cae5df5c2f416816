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
	"myao/internal/launch"
)

// deployment is the version by which Temporal tells this worker from others, if the
// configuration wants that: workflows stay with the version that began them. build
// is what the program knows of its own making.
func deployment(settings config.Worker, build *debug.BuildInfo) (worker.DeploymentOptions, error) {
	if settings.Deployment == "" {
		return worker.DeploymentOptions{}, nil
	}
	id := settings.BuildID
	if id == "" {
		id = launch.Revision(build)
	}
	if id == "" {
		return worker.DeploymentOptions{}, errors.New(
			"worker.build_id: the program does not know the revision that it was built from; name the version of worker.deployment")
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: settings.Deployment, BuildID: id},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}, nil
}

// binary is by what Temporal tells a program of this build from others that have completed a
// workflow's tasks: its revision, or where that does not tell it, the size and the time of its
// file. The SDK would read all of the file for a checksum, which takes as long as the rest of
// the start.
func binary(build *debug.BuildInfo, executable func() (string, error)) (string, error) {
	revision := launch.Revision(build)
	if revision != "" && !strings.Contains(revision, "-") { // known, and not changed since
		return revision, nil
	}
	path, err := executable()
	if err != nil {
		return "", fmt.Errorf("find the program's own file: %w", err)
	}
	file, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at the program's own file: %w", err)
	}
	return fmt.Sprintf("%x-%x", file.Size(), file.ModTime().UnixNano()), nil
}
