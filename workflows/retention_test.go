package workflows

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"myao/activities"
	"myao/internal/conversation"
)

func TestRetention(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	if err := c.run(Retention, Of{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s prune")
	var got activities.PruneOutput
	if err := c.GetWorkflowResult(&got); err != nil || got.Deleted["changes"] != 7 {
		t.Errorf("returned %+v, %v", got, err)
	}
	want := map[string]limits{"Prune": {time.Hour, time.Hour, 10 * second, conversation.TaskQueue}}
	if !reflect.DeepEqual(c.limits, want) {
		t.Errorf("limits %v, want %v", c.limits, want)
	}
}

func TestRetentionIsRetried(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{fails: func(_ string, attempt int) error {
		if attempt < 3 {
			return errModel
		}
		return nil
	}})
	if err := c.run(Retention, Of{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s prune", "1s prune", "3s prune")
}

func TestRetentionThatFailsOrIsCancelled(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{fails: refuses("prune")})
	if err := c.run(Retention, Of{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("ended with %v", err)
	}
	c = newBackgroundEnv(t, workspace{})
	c.RegisterDelayedCallback(c.CancelWorkflow, time.Minute)
	if err := c.run(Retention, Of{}); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v, want canceled", err)
	}
}
