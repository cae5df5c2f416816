package workflows

import (
	"reflect"
	"testing"
	"time"

	"myao/activities"
	"myao/internal/conversation"
)

// Judgments are handled one after the other until none is left, and a judge that does not answer is left alone.
func TestShadow(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{shadow: []activities.ShadowOutput{{}, {Silent: []string{"slow"}}, {}, {Done: true}}})
	if err := c.run(Shadow, Of{}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s ask without", "1s ask without", "2s ask without slow", "3s ask without slow")
	returned(t, c, 3)
	want := map[string]limits{"AskShadow": {10 * time.Minute, time.Hour, 10 * second, conversation.ModelTaskQueue}}
	if !reflect.DeepEqual(c.limits, want) {
		t.Errorf("limits %v, want %v", c.limits, want)
	}
}

func TestShadowEndsAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{shadow: []activities.ShadowOutput{{}}})
	if err := c.run(Shadow, Of{}); err != nil {
		t.Fatal(err)
	}
	returned(t, c, maxSnapshots)
	c = newBackgroundEnv(t, workspace{shadow: []activities.ShadowOutput{{}}, fails: refuses("ask")})
	if err := c.run(Shadow, Of{}); err == nil {
		t.Error("a failure is passed over")
	}
}
