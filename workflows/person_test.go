package workflows

import (
	"testing"

	"myao/internal/chat"
)

// What a model was reading when it began is cleaned by the second time. The order is the same.
func TestForgetPerson(t *testing.T) {
	t.Parallel()
	c := newBackgroundEnv(t, workspace{})
	if err := c.run(ForgetPerson, chat.Person{Team: "T1", User: "U1"}); err != nil {
		t.Fatal(err)
	}
	c.wants("0s forget U1 by person/default-test-run-id", "5h0m10s forget U1 by person/default-test-run-id", "10h0m10s tell U1 of person/default-test-run-id")
}
