package chaos

import (
	"flag"
	"testing"
	"time"

	"myao/test/testserver"
)

var (
	flagMessages = flag.Int("chaos.messages", 300, "number of messages that people write")
	flagKills    = flag.Int("chaos.kills", 8, "number of kills meanwhile")
	flagRate     = flag.Float64("chaos.rate", 9, "messages a second")
	flagSeed     = flag.Uint64("chaos.seed", 0, "the seed of the plan; 0: a new one")
	flagTemporal = flag.String("chaos.temporal", "dev", "dev: Temporal's dev server; postgres: a server that keeps its state in Postgres")
	flagLong     = flag.Bool("chaos.long", false, "also run the slow tests")
	flagOutage   = flag.Duration("chaos.outage", 10*time.Minute, "how long Temporal is down in TestTemporalDown")
)

func TestMain(m *testing.M) { testserver.Main(m) }

// needLong skips a test that is too slow for make test.
func needLong(t *testing.T) {
	t.Helper()
	if !*flagLong {
		t.Skip("slow; make chaos runs it")
	}
}
