package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"myao/internal/conversation"
	"myao/internal/temporal"
)

// cloud reports whether the server is Temporal Cloud, where namespaces and search
// attributes are made elsewhere.
func (e *examination) cloud() bool {
	host, _, _ := strings.Cut(e.Address, ":")
	return strings.HasSuffix(host, ".tmprl.cloud") || strings.HasSuffix(host, ".api.temporal.io")
}

// server asks Temporal for its version.
func (e *examination) server(ctx context.Context) Finding {
	fix := "start the Temporal server, or let TEMPORAL_ADDRESS and the rest of TEMPORAL_… name it"
	c, err := e.Dial()
	if err != nil {
		return fail(fix, "%v", err)
	}
	e.temporal = c
	unknown := e.resolve(ctx)
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return fail(fix, "%s: %v", e.Address, cmp.Or(unknown, err))
	}
	return ok("%s, version %s", e.Address, info.GetServerVersion())
}

// resolve looks the server's name up, since gRPC does not tell that there is no such name.
// Not every server needs that: a proxy may look it up by itself.
func (e *examination) resolve(ctx context.Context) error {
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil || host == "" {
		return nil // an address of gRPC's own kind, or of this machine
	}
	_, err = net.DefaultResolver.LookupHost(ctx, host)
	return err
}

// namespace looks for the namespace, and for how long it keeps what has ended.
func (e *examination) namespace(ctx context.Context) Finding {
	d, err := e.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: e.Namespace})
	var (
		missing *serviceerror.NamespaceNotFound
		denied  *serviceerror.PermissionDenied
		nothing *serviceerror.NotFound
	)
	switch {
	case errors.As(err, &missing), errors.As(err, &nothing):
		fix := fmt.Sprintf("temporal operator namespace create --namespace %s --retention 72h, or let TEMPORAL_NAMESPACE name another", e.Namespace)
		if e.cloud() {
			fix = "make it in the Cloud's web page or with tcld namespace create; its name is NAME.ACCOUNT, in TEMPORAL_NAMESPACE"
		}
		return fail(fix, "%s is not there", e.Namespace)
	case errors.As(err, &denied):
		return fail("let TEMPORAL_API_KEY or the certificate be one that may use the namespace", "%s: %v", e.Namespace, err)
	case err != nil:
		return fail("look at the Temporal server", "%s: %v", e.Namespace, err)
	}
	if state := d.GetNamespaceInfo().GetState(); state != enumspb.NAMESPACE_STATE_REGISTERED {
		return fail("let TEMPORAL_NAMESPACE name another", "%s is %s", e.Namespace, strings.ToLower(state.String()))
	}
	return ok("%s, keeps what has ended for %s", e.Namespace, span(d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()))
}

// attributes looks for the search attributes, without which everything works but the
// lists of the Web UI and of starter conversations.
func (e *examination) attributes(ctx context.Context) Finding {
	known, _, err := temporal.Attributes(ctx, e.temporal, e.Namespace)
	if err != nil {
		return warn("see that there are "+strings.Join(conversation.Attributes, ", ")+", all of the type Keyword", "the server does not tell: %v", err)
	}
	var missing []string
	command := "temporal operator search-attribute create --namespace " + e.Namespace
	if e.cloud() {
		command = "in the Cloud's web page, or: tcld namespace search-attributes add --namespace " + e.Namespace
	}
	for _, name := range conversation.Attributes {
		kind, there := known[name]
		switch {
		case there && kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD:
			return fail(fmt.Sprintf("remove it (temporal operator search-attribute remove --namespace %s --name %s) and start the starter", e.Namespace, name),
				"%s is of the type %s, and has to be a Keyword", name, kind)
		case there:
		case e.cloud():
			missing, command = append(missing, name), command+" --sa "+name+"=Keyword"
		default:
			missing, command = append(missing, name), command+" --name "+name+" --type Keyword"
		}
	}
	if len(missing) > 0 {
		return warn("start the starter, which makes them where it may; else "+command, "missing: %s", strings.Join(missing, ", "))
	}
	return ok("%s", strings.Join(conversation.Attributes, ", "))
}

// schedules looks whether all are there and none is paused.
func (e *examination) schedules(ctx context.Context) Finding {
	var missing, paused []string
	for _, s := range e.Schedules {
		d, err := e.temporal.ScheduleClient().GetHandle(ctx, s.ID).Describe(ctx)
		var nothing *serviceerror.NotFound
		switch {
		case errors.As(err, &nothing):
			missing = append(missing, s.ID)
		case err != nil:
			return fail("look at the Temporal server", "%s: %v", s.ID, err)
		case d.Schedule.State.Paused:
			paused = append(paused, fmt.Sprintf("%s (%s)", s.ID, d.Schedule.State.Note))
		}
	}
	switch {
	case len(missing) == len(e.Schedules):
		return fail("start the starter, which makes them", "there are none yet")
	case len(missing) > 0:
		return fail("start the starter, which makes them", "missing: %s", strings.Join(missing, ", "))
	case len(paused) > 0:
		id, _, _ := strings.Cut(paused[0], " ")
		return warn(fmt.Sprintf("temporal schedule toggle --unpause --namespace %s --schedule-id %s --reason …", e.Namespace, id),
			"paused: %s", strings.Join(paused, ", "))
	}
	return ok("%d, none is paused", len(e.Schedules))
}

// paused looks for what somebody has paused by hand: a workflow, or an activity of one. Nobody
// goes on with it by itself.
func (e *examination) paused(ctx context.Context) Finding {
	const most = 5 // that are named
	var ids []string
	for _, of := range []string{"ExecutionStatus = 'Paused'", "ExecutionStatus = 'Running' AND TemporalPauseInfo IS NOT NULL"} {
		r, err := e.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: e.Namespace, PageSize: most + 1, Query: of + " AND TaskQueue = '" + conversation.TaskQueue + "'",
		})
		var unknown *serviceerror.InvalidArgument
		if err != nil && !errors.As(err, &unknown) { // one that does not know of it pauses nothing of the kind
			return fail("look at the Temporal server", "%v", err)
		}
		for _, w := range r.GetExecutions() {
			ids = append(ids, w.GetExecution().GetWorkflowId())
		}
	}
	if len(ids) == 0 {
		return ok("no workflow and no activity is paused")
	}
	if len(ids) > most {
		ids = append(ids[:most], "and more")
	}
	return warn(fmt.Sprintf("see by whom, and why: starter show, or temporal workflow describe; to have it go on: temporal workflow unpause --namespace %[1]s --workflow-id …, "+
		"or temporal activity unpause --namespace %[1]s --workflow-id … --activity-type …", e.Namespace),
		"somebody has paused these, or activities of theirs: %s", strings.Join(ids, ", "))
}

// lastRun looks at the newest run of a schedule.
func (e *examination) lastRun(schedule string) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		at := slices.IndexFunc(e.Schedules, func(s Schedule) bool { return s.ID == schedule })
		if at < 0 {
			return skip("there is no such schedule")
		}
		d, err := e.temporal.ScheduleClient().GetHandle(ctx, schedule).Describe(ctx)
		var nothing *serviceerror.NotFound
		if errors.As(err, &nothing) {
			return skip("there is no such schedule: see schedules")
		}
		if err != nil {
			return fail("look at the Temporal server", "%v", err)
		}
		var last client.ScheduleActionResult
		if runs := d.Info.RecentActions; len(runs) > 0 {
			last = runs[len(runs)-1]
		}
		if overdue := e.overdue(d, last.ActualTime, e.Schedules[at]); overdue > 0 {
			return warn("start the starter anew, which tells Temporal of it again; if that does not help, look at the Temporal server",
				"nothing has begun for %s, and a run is due every %s", span(overdue), span(e.Schedules[at].Every))
		}
		if last.StartWorkflowResult == nil {
			return ok("has yet to run for the first time")
		}
		return e.run(ctx, last.StartWorkflowResult.WorkflowID, e.Clock().Sub(last.ActualTime), e.Schedules[at].Every)
	}
}

// overdue is for how long a schedule has begun nothing, if that is too long and nothing keeps
// it, neither a pause nor a run under way; else 0. A server may lose its timer, and tell when
// the next run is due all the same (github.com/temporalio/temporal/issues/11869).
func (e *examination) overdue(d *client.ScheduleDescription, last time.Time, s Schedule) time.Duration {
	if d.Schedule.State.Paused || len(d.Info.RunningWorkflows) > 0 {
		return 0
	}
	for _, began := range []time.Time{d.Info.CreatedAt, d.Info.LastUpdateAt} {
		if began.After(last) {
			last = began
		}
	}
	if ago := e.Clock().Sub(last); ago > 2*s.Every+grace {
		return ago
	}
	return 0
}

// grace is how much later than the time of one more a run of a schedule may begin.
const grace = 10 * time.Minute

// run looks at a run that began so long ago, and is made every so often.
func (e *examination) run(ctx context.Context, id string, ago, every time.Duration) Finding {
	run, err := e.temporal.DescribeWorkflowExecution(ctx, id, "")
	var nothing *serviceerror.NotFound
	if errors.As(err, &nothing) {
		return ok("last run %s ago; it is not kept any more", span(ago))
	}
	if err != nil {
		return fail("look at the Temporal server", "%v", err)
	}
	state := strings.ToLower(run.GetWorkflowExecutionInfo().GetStatus().String())
	look := fmt.Sprintf("temporal workflow describe --namespace %s --workflow-id '%s'", e.Namespace, id)
	switch run.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if ago > 2*every && ago > time.Hour {
			return warn(look, "the last run began %s ago, and runs still", span(ago))
		}
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		var done struct {
			Failed int `json:"failed"`
		}
		// What cannot be read tells nothing of the run: see encryption.
		if err := e.temporal.GetWorkflow(ctx, id, "").Get(ctx, &done); err == nil && done.Failed > 0 {
			return warn("look at the workers' log; the next run tries again", "the last run, %s ago, failed in part: %d left out", span(ago), done.Failed)
		}
	default:
		return warn(look, "the last run, %s ago, is %s", span(ago), state)
	}
	return ok("last run %s ago: %s", span(ago), state)
}

// polled is how long ago a worker may have asked for work last: one that has nothing to do
// asks about once a minute.
const polled = 2 * time.Minute

// workers looks for who takes the tasks of both queues.
func (e *examination) workers(ctx context.Context) Finding {
	hosts, idle := map[string]bool{}, []string{}
	var told []string
	for _, q := range []struct {
		name, what string
		kind       enumspb.TaskQueueType
	}{
		{conversation.TaskQueue, "workflows", enumspb.TASK_QUEUE_TYPE_WORKFLOW},
		{conversation.TaskQueue, "activities", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{conversation.ModelTaskQueue, "activities", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
	} {
		d, err := e.temporal.DescribeTaskQueue(ctx, q.name, q.kind)
		if err != nil {
			return fail("look at the Temporal server", "%s: %v", q.name, err)
		}
		found, last := map[string]bool{}, polled
		for _, p := range d.GetPollers() {
			if ago := e.Clock().Sub(p.GetLastAccessTime().AsTime()); ago < polled {
				last = min(last, ago)
				found[p.GetIdentity()] = true
				hosts[host(p.GetIdentity())] = true
			}
		}
		if len(found) == 0 {
			idle = append(idle, q.name+" ("+q.what+")")
		}
		told = append(told, fmt.Sprintf("%s (%s) by %s, %s ago", q.name, q.what, count(len(found), "worker"), span(last)))
	}
	if len(idle) > 0 {
		return fail(fmt.Sprintf("start a worker, with the same TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE (%s)", e.Namespace),
			"none takes tasks of %s", strings.Join(idle, ", "))
	}
	if _, file := e.Config.Database.SQLitePath(); file && len(hosts) > 1 {
		return warn("use Postgres (database.url) for more than one machine",
			"workers run on %s, and the database is a file of one machine", strings.Join(slices.Sorted(maps.Keys(hosts)), ", "))
	}
	return ok("tasks were last asked for: %s", strings.Join(told, "; "))
}

// host is the machine in the identity that the SDK gives a worker: PID@HOST@ and more.
func host(identity string) string {
	_, rest, _ := strings.Cut(identity, "@")
	host, _, _ := strings.Cut(rest, "@")
	return host
}

// span is a duration as people write it.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d/time.Hour))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d/time.Minute))
	}
	return fmt.Sprintf("%d seconds", max(0, int(d/time.Second)))
}
