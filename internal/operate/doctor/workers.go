package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"

	"myao/internal/conversation"
)

// maxPollAge is how long ago a live worker last polled: an idle one polls about once a minute. It sends a
// heartbeat once a minute, too.
const maxPollAge = 2 * time.Minute

// workers checks that workers poll all task queues, and that none has ended without a word.
func (e *examination) workers(ctx context.Context) Finding {
	beats, err := e.heartbeats(ctx)
	if err != nil {
		return fail("check the Temporal server", "%v", err)
	}
	versions, idle := map[string]string{}, []string{} // versions by the identity of a live worker
	var polled, busy []string
	for _, q := range []struct {
		name, what string
		kind       enumspb.TaskQueueType
	}{
		{conversation.TaskQueue, "workflows", enumspb.TASK_QUEUE_TYPE_WORKFLOW},
		{conversation.TaskQueue, "activities", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{conversation.ModelTaskQueue, "activities", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{conversation.ToolsTaskQueue, "activities", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
	} {
		d, err := e.temporal.DescribeTaskQueue(ctx, q.name, q.kind)
		if err != nil {
			return fail("check the Temporal server", "%s: %v", q.name, err)
		}
		found, last := map[string]bool{}, maxPollAge
		for _, p := range d.GetPollers() {
			if ago := e.Clock().Sub(p.GetLastAccessTime().AsTime()); ago < maxPollAge {
				last = min(last, ago)
				found[p.GetIdentity()] = true
				//lint:ignore SA1019 only this has the build of a worker without worker.deployment
				build := p.GetWorkerVersionCapabilities().GetBuildId()
				versions[p.GetIdentity()] = cmp.Or(p.GetDeploymentOptions().GetBuildId(), build, "unknown")
			}
		}
		if len(found) == 0 {
			idle = append(idle, q.name+" ("+q.what+")")
			busy = append(busy, e.alive(beats, q.name, q.kind)...)
		}
		polled = append(polled, fmt.Sprintf("%s (%s) by %s, %s ago", q.name, q.what, count(len(found), "worker"),
			span(last)))
	}
	if len(busy) > 0 {
		return fail("see in the workers' log and in Temporal what their activities wait for: a tool, a model, the "+
			"database; then restart them",
			"no worker polls %s, although these live: %s", strings.Join(idle, ", "), strings.Join(busy, ", "))
	}
	if len(idle) > 0 {
		return fail(fmt.Sprintf("start a worker, with the same TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE (%s)",
			e.Namespace),
			"no worker polls %s", strings.Join(idle, ", "))
	}
	hosts := map[string]bool{}
	for identity := range versions {
		hosts[host(identity)] = true
	}
	if _, file := e.Config.Database.SQLitePath(); file && len(hosts) > 1 {
		return warn("use Postgres (database.url) for more than one machine",
			"workers run on %s, but the database is a file on one machine",
			strings.Join(slices.Sorted(maps.Keys(hosts)), ", "))
	}
	said := byVersion(versions) + "; last polled: " + strings.Join(polled, "; ")
	if stale := e.stale(beats); len(stale) > 0 {
		return warn("see whether these still run: they were killed, or hang, or do not reach Temporal; the server "+
			"forgets them after some minutes",
			"%s; without a heartbeat for more than %s: %s", said, span(maxPollAge), strings.Join(stale, ", "))
	}
	return ok("%s", said)
}

// byVersion counts workers by the version of their build.
func byVersion(versions map[string]string) string {
	n := map[string]int{}
	for _, version := range versions {
		n[version]++
	}
	var said []string
	for _, version := range slices.Sorted(maps.Keys(n)) {
		said = append(said, fmt.Sprintf("%s of version %s", count(n[version], "worker"), version))
	}
	return strings.Join(said, ", ")
}

// heartbeats returns the newest heartbeat of each SDK worker that has not ended, three for one of ours;
// none where the server does not keep them.
func (e *examination) heartbeats(ctx context.Context) (beats []*workerpb.WorkerHeartbeat, err error) {
	r, err := e.temporal.WorkflowService().ListWorkers(ctx, &workflowservice.ListWorkersRequest{Namespace: e.Namespace})
	if errors.As(err, new(*serviceerror.Unimplemented)) {
		return nil, nil
	}
	//lint:ignore SA1019 what is to take its place does not say when the heartbeat was
	for _, w := range r.GetWorkersInfo() {
		h := w.GetWorkerHeartbeat()
		ours := []string{conversation.TaskQueue, conversation.ModelTaskQueue, conversation.ToolsTaskQueue}
		if slices.Contains(ours, h.GetTaskQueue()) && h.GetStatus() == enumspb.WORKER_STATUS_RUNNING {
			beats = append(beats, h)
		}
	}
	return beats, err
}

// alive tells of the workers of a queue that have sent a heartbeat lately, and how many of their slots are used.
func (e *examination) alive(beats []*workerpb.WorkerHeartbeat, queue string,
	kind enumspb.TaskQueueType) (said []string) {
	for _, h := range beats {
		slots := h.GetActivityTaskSlotsInfo()
		if kind == enumspb.TASK_QUEUE_TYPE_WORKFLOW {
			slots = h.GetWorkflowTaskSlotsInfo()
		}
		if used := slots.GetCurrentUsedSlots(); h.GetTaskQueue() == queue && e.Clock().
			Sub(h.GetHeartbeatTime().AsTime()) < maxPollAge && used > 0 {
			said = append(said, fmt.Sprintf("%s with %d of %d slots of %s in use", h.GetWorkerIdentity(), used,
				used+slots.GetCurrentAvailableSlots(), queue))
		}
	}
	return said
}

// stale returns the workers, by their identities, that have not sent a heartbeat lately and have not said that they
// end.
func (e *examination) stale(beats []*workerpb.WorkerHeartbeat) []string {
	last := map[string]time.Time{}
	for _, h := range beats {
		if at := h.GetHeartbeatTime().AsTime(); at.After(last[h.GetWorkerIdentity()]) {
			last[h.GetWorkerIdentity()] = at
		}
	}
	maps.DeleteFunc(last, func(_ string, at time.Time) bool { return e.Clock().Sub(at) < maxPollAge })
	return slices.Sorted(maps.Keys(last))
}
