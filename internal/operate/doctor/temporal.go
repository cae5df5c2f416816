package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"myao/internal/conversation"
	"myao/internal/runtime/temporal"
)

// cloud reports whether the server is Temporal Cloud, where other commands create
// namespaces and search attributes.
func (e *examination) cloud() bool {
	host, _, _ := strings.Cut(e.Address, ":")
	return strings.HasSuffix(host, ".tmprl.cloud") || strings.HasSuffix(host, ".api.temporal.io")
}

// server asks Temporal for its version.
func (e *examination) server(ctx context.Context) Finding {
	fix := "start the Temporal server, or set TEMPORAL_ADDRESS and the other TEMPORAL_… variables to it"
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

// resolve looks up the server's name, because gRPC's errors do not say that a name is
// unknown. A failed lookup alone is no fault: a proxy may resolve the name itself.
func (e *examination) resolve(ctx context.Context) error {
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil || host == "" {
		return nil // one of gRPC's own forms of address, or this machine
	}
	_, err = net.DefaultResolver.LookupHost(ctx, host)
	return err
}

// namespace checks that the namespace exists, and reports its retention.
func (e *examination) namespace(ctx context.Context) Finding {
	d, err := e.temporal.WorkflowService().
		DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: e.Namespace})
	var (
		missing *serviceerror.NamespaceNotFound
		denied  *serviceerror.PermissionDenied
		nothing *serviceerror.NotFound
	)
	switch {
	case errors.As(err, &missing), errors.As(err, &nothing):
		fix := fmt.Sprintf("temporal operator namespace create --namespace %s --retention 72h, or set "+
			"TEMPORAL_NAMESPACE to another one", e.Namespace)
		if e.cloud() {
			fix = "create it in the Cloud's web page or with tcld namespace create; TEMPORAL_NAMESPACE is NAME.ACCOUNT"
		}
		return fail(fix, "%s does not exist", e.Namespace)
	case errors.As(err, &denied):
		return fail("use an API key (TEMPORAL_API_KEY) or a certificate that has access to the namespace", "%s: %v",
			e.Namespace, err)
	case err != nil:
		return fail("check the Temporal server", "%s: %v", e.Namespace, err)
	}
	if state := d.GetNamespaceInfo().GetState(); state != enumspb.NAMESPACE_STATE_REGISTERED {
		return fail("set TEMPORAL_NAMESPACE to another one", "%s is %s", e.Namespace, strings.ToLower(state.String()))
	}
	e.reportsProblems = d.GetNamespaceInfo().GetCapabilities().GetReportedProblemsSearchAttribute()
	return ok("%s, keeps closed workflows for %s", e.Namespace, span(d.GetConfig().GetWorkflowExecutionRetentionTtl().
		AsDuration()))
}

// attributes checks the search attributes. Without them only the lists of the Web UI and of
// starter conversations fail.
func (e *examination) attributes(ctx context.Context) Finding {
	known, _, err := temporal.Attributes(ctx, e.temporal, e.Namespace)
	if err != nil {
		return warn("make sure that these exist with the type Keyword: "+strings.Join(conversation.Attributes, ", "),
			"the server does not list them: %v", err)
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
			return fail(fmt.Sprintf("remove it (temporal operator search-attribute remove --namespace %s --name %s) "+
				"and start the starter", e.Namespace, name),
				"%s has the type %s, but must be a Keyword", name, kind)
		case there:
		case e.cloud():
			missing, command = append(missing, name), command+" --sa "+name+"=Keyword"
		default:
			missing, command = append(missing, name), command+" --name "+name+" --type Keyword"
		}
	}
	if len(missing) > 0 {
		return warn("start the starter, which creates them if it has the right; else "+command, "missing: %s",
			strings.Join(missing, ", "))
	}
	return ok("%s", strings.Join(conversation.Attributes, ", "))
}

// schedules checks that all Schedules exist and that none is paused.
func (e *examination) schedules(ctx context.Context) Finding {
	described := make([]*client.ScheduleDescription, len(e.Schedules)) // nil where there is none
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range e.Schedules {
		group.Go(func() error {
			d, err := e.temporal.ScheduleClient().GetHandle(ctx, s.ID).Describe(ctx)
			if _, none := errors.AsType[*serviceerror.NotFound](err); none {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.ID, err)
			}
			described[i] = d
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return fail("check the Temporal server", "%v", err)
	}
	var missing, paused []string
	for i, d := range described {
		switch id := e.Schedules[i].ID; {
		case d == nil:
			missing = append(missing, id)
		case d.Schedule.State.Paused:
			paused = append(paused, fmt.Sprintf("%s (%s)", id, d.Schedule.State.Note))
		}
	}
	switch {
	case len(missing) == len(e.Schedules):
		return fail("start the starter, which creates them", "there are none yet")
	case len(missing) > 0:
		return fail("start the starter, which creates them", "missing: %s", strings.Join(missing, ", "))
	case len(paused) > 0:
		id, _, _ := strings.Cut(paused[0], " ")
		return warn(fmt.Sprintf("temporal schedule toggle --unpause --namespace %s --schedule-id %s --reason …",
			e.Namespace, id),
			"paused: %s", strings.Join(paused, ", "))
	}
	return ok("all %d exist, and none is paused", len(e.Schedules))
}

// maxNamed is how many workflows a finding names.
const maxNamed = 5

// stuck looks for workflows whose task fails or times out again and again. The server reports them since
// 1.30 (docs.temporal.io/search-attribute), after five attempts.
func (e *examination) stuck(ctx context.Context) Finding {
	if !e.reportsProblems {
		return skip("this server does not report workflows whose tasks fail (1.30 or later does); look at the check " +
			"unfinished, and at the alert MyaoWorkflowTasksFail")
	}
	const attribute = "TemporalReportedProblems"
	r, err := e.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: maxNamed + 1,
		Query: "ExecutionStatus = 'Running' AND TaskQueue = '" + conversation.TaskQueue + "' AND " + attribute +
			" IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')",
	})
	if err != nil {
		return fail("check the Temporal server", "%v", err)
	}
	var named []string
	for _, w := range r.GetExecutions() {
		var problems []string // category=…, cause=WorkflowTaskFailedCause…
		name := w.GetExecution().GetWorkflowId()
		if converter.GetDefaultDataConverter().FromPayload(w.GetSearchAttributes().GetIndexedFields()[attribute],
			&problems) == nil && len(problems) > 0 {
			_, cause, _ := strings.Cut(problems[len(problems)-1], "Cause")
			name += " (" + cause + ")"
		}
		named = append(named, name)
	}
	if len(named) == 0 {
		return ok("no workflow's tasks fail")
	}
	if len(named) > maxNamed {
		named = append(named[:maxNamed], "and more")
	}
	return fail("NonDeterministicError: start the workers of the version before; otherwise see the workers' log; "+
		"\"A conversation that is stuck\" in docs/deploying.md says how to reset one",
		"the tasks of these workflows fail again and again: %s", strings.Join(named, ", "))
}

// paused looks for workflows and activities that somebody has paused by hand. They stay
// paused until somebody unpauses them.
func (e *examination) paused(ctx context.Context) Finding {
	var ids []string
	for _, query := range []string{"ExecutionStatus = 'Paused'",
		"ExecutionStatus = 'Running' AND TemporalPauseInfo IS NOT NULL"} {
		r, err := e.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: e.Namespace, PageSize: maxNamed + 1, Query: query + " AND TaskQueue = '" +
				conversation.TaskQueue + "'",
		})
		var unknown *serviceerror.InvalidArgument
		if err != nil && !errors.As(err, &unknown) { // a server that does not know the query cannot pause
			return fail("check the Temporal server", "%v", err)
		}
		for _, w := range r.GetExecutions() {
			ids = append(ids, w.GetExecution().GetWorkflowId())
		}
	}
	if len(ids) == 0 {
		return ok("no workflow and no activity is paused")
	}
	if len(ids) > maxNamed {
		ids = append(ids[:maxNamed], "and more")
	}
	return warn(fmt.Sprintf("to see who paused it, and why: starter show, or temporal workflow describe; to resume "+
		"it: temporal workflow unpause --namespace %[1]s --workflow-id …, "+
		"or temporal activity unpause --namespace %[1]s --workflow-id … --activity-type …", e.Namespace),
		"somebody has paused these workflows, or activities in them: %s", strings.Join(ids, ", "))
}

// lastRun checks the newest run of a Schedule.
func (e *examination) lastRun(schedule string) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		at := slices.IndexFunc(e.Schedules, func(s Schedule) bool { return s.ID == schedule })
		if at < 0 {
			return skip("there is no such schedule")
		}
		d, err := e.temporal.ScheduleClient().GetHandle(ctx, schedule).Describe(ctx)
		var nothing *serviceerror.NotFound
		if errors.As(err, &nothing) {
			return skip("there is no such schedule: see the check schedules")
		}
		if err != nil {
			return fail("check the Temporal server", "%v", err)
		}
		var last client.ScheduleActionResult
		if runs := d.Info.RecentActions; len(runs) > 0 {
			last = runs[len(runs)-1]
		}
		if overdue := e.overdue(d, last.ActualTime, e.Schedules[at]); overdue > 0 {
			return warn("restart the starter, which updates the schedule; if that does not help, check the Temporal "+
				"server",
				"no run has begun for %s, although one is due every %s", span(overdue), span(e.Schedules[at].Every))
		}
		if last.StartWorkflowResult == nil {
			return ok("has not run yet")
		}
		return e.newestRun(ctx, last.StartWorkflowResult.WorkflowID, e.Clock().Sub(last.ActualTime),
			e.Schedules[at].Every)
	}
}

// overdue is how long ago a Schedule last began a run, if that is too long ago; else 0. A
// paused Schedule, or one with a run under way, is never overdue. A server may lose a
// Schedule's timer and still report its next run (github.com/temporalio/temporal/issues/11869).
func (e *examination) overdue(d *client.ScheduleDescription, last time.Time, s Schedule) time.Duration {
	if d.Schedule.State.Paused || len(d.Info.RunningWorkflows) > 0 {
		return 0
	}
	for _, began := range []time.Time{d.Info.CreatedAt, d.Info.LastUpdateAt} {
		if began.After(last) {
			last = began
		}
	}
	if ago := e.Clock().Sub(last); ago > 2*s.Every+lateRun {
		return ago
	}
	return 0
}

// lateRun is how late a run may begin, beyond one that was left out.
const lateRun = 10 * time.Minute

// newestRun checks a run that began ago ago, of a Schedule with one every every.
func (e *examination) newestRun(ctx context.Context, id string, ago, every time.Duration) Finding {
	run, err := e.temporal.DescribeWorkflowExecution(ctx, id, "")
	var nothing *serviceerror.NotFound
	if errors.As(err, &nothing) {
		return ok("last run %s ago; Temporal no longer keeps it", span(ago))
	}
	if err != nil {
		return fail("check the Temporal server", "%v", err)
	}
	state := strings.ToLower(run.GetWorkflowExecutionInfo().GetStatus().String())
	describe := fmt.Sprintf("temporal workflow describe --namespace %s --workflow-id '%s'", e.Namespace, id)
	switch run.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if ago > 2*every && ago > time.Hour {
			return warn(describe, "the last run began %s ago and is still running", span(ago))
		}
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		var done struct {
			Failed int `json:"failed"`
		}
		// A result that cannot be read says nothing about the run: its key may be missing.
		if err := e.temporal.GetWorkflow(ctx, id, "").Get(ctx, &done); err == nil && done.Failed > 0 {
			return warn("see the workers' log; the next run tries again",
				"the last run, %s ago, failed in part: %d left out", span(ago), done.Failed)
		}
	default:
		return warn(describe, "the last run, %s ago, is %s", span(ago), state)
	}
	return ok("last run %s ago: %s", span(ago), state)
}

// host returns the machine from the identity that the SDK gives a worker, PID@HOST@….
func host(identity string) string {
	_, rest, _ := strings.Cut(identity, "@")
	host, _, _ := strings.Cut(rest, "@")
	return host
}

// span is a duration in words.
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
