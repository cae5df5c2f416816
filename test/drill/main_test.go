package drill

import (
	"flag"
	"testing"

	"myao/test/testserver"
)

var flagRun = flag.Bool("drill.run", false, "break the system in ten ways; without it the test is skipped")

func TestMain(m *testing.M) { testserver.Main(m) }
