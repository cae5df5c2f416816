package catchup

import (
	"testing"
	"time"

	"myao/sandbox/workspace"
)

// TestRestoredBackup follows docs/operations.md. The database does not know what was answered since the
// copy was made. Only messages younger than the downtime may be answered.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		age  time.Duration // at the first start, half an hour after the stop
		back time.Duration // how long after the stop the usual age of twelve hours is set again
		want []string      // recorded at the first start, and after the age is set back
	}{
		{"as it should be", 29 * minutes, 12*hours + minutes, []string{"since the stop", ""}},
		{"longer than since the stop", 2 * hours, 12*hours + minutes, []string{"answered, @answered in the thread, since the stop", ""}},
		{"set back too soon", 29 * minutes, hours, []string{"since the stop", "answered, @answered in the thread"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{})
			stop := noon.Add(-30 * minutes)
			root := b.say(2*days, "root")
			b.say(hours, "answered")
			b.say(31*minutes, b.Mention("answered in the thread"), workspace.InThread(root))
			b.say(20*minutes, "since the stop")

			b.config.Response.MaxMessageAgeSeconds = int(test.age.Seconds())
			b.catchUp()
			b.wantTaken(test.want[0])
			b.config.Response.MaxMessageAgeSeconds = int((12 * hours).Seconds())
			b.Time.Set(stop.Add(test.back))
			b.catchUp()
			b.wantTaken(test.want[1])
		})
	}
}
