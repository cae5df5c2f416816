package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"myao/test/testserver"
)

var (
	flagRun    = flag.Bool("bench.run", false, "measure; without it every row only runs once with little load")
	flagLong   = flag.Bool("bench.long", false, "also measure what takes long")
	flagOnly   = flag.String("bench.only", "", "measure only what matches the `regexp`")
	flagOut    = flag.String("bench.out", "", "write the rows as JSON to the `file`")
	flagRounds = flag.Int("bench.rounds", 3, "number of rounds of each measurement")
)

func TestMain(m *testing.M) {
	if bareNamespace := os.Getenv(bareEnv); bareNamespace != "" {
		if err := bareWorker(bareNamespace); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testserver.Main(m)
}

// measurement measures some rows of the table.
type measurement struct {
	name string
	// slow takes long even with little load. long takes long with full load; it needs -bench.long
	// or -bench.only.
	slow, long bool
	measure    func(b *bench) []row
}

// The last ones leave the Temporal server with much work.
var measurements = []measurement{
	{name: "context", measure: measureContext},
	{name: "search", slow: true, measure: measureSearch},
	{name: "mention", slow: true, measure: measureMention},
	{name: "promises", slow: true, measure: measurePromises},
	{name: "start", slow: true, measure: measureStart},
	{name: "repeat", measure: measureRepeat},
	{name: "cost", measure: measureCost},
	{name: "workspaces", measure: measureWorkspaces},
	{name: "shout", slow: true, measure: measureShout},
	{name: "idle", slow: true, long: true, measure: measureIdle},
	{name: "door", measure: measureDoor},
}

// bench is what the measurements share.
type bench struct {
	*testing.T
	servers *servers
	rounds  int
	// full is false if the rows shall only show that they work.
	full bool
}

// TestBench prints the table. It fails if a row misses its goal or a message was lost or doubled.
func TestBench(t *testing.T) {
	only, err := regexp.Compile(*flagOnly)
	testserver.Must(t, err)
	b := &bench{T: t, rounds: *flagRounds, full: *flagRun}
	if !b.full {
		b.rounds = 1
	}
	b.servers = startServers(b)
	b.logf("%s", machine(t.Context()))
	b.logf("%s", b.servers.settings(b))
	var rows []row
	for _, m := range measurements {
		if !only.MatchString(m.name) || m.slow && !b.full || m.long && !*flagLong && *flagOnly == "" {
			continue
		}
		b.awaitCalm()
		began, before := time.Now(), processor()
		t.Run(m.name, func(t *testing.T) {
			rows = append(rows, m.measure(&bench{T: t, servers: b.servers, rounds: b.rounds, full: b.full})...)
		})
		b.logf("%s took %s; %.0f %% of the processors' time was stolen by other machines", m.name, time.Since(began).Round(time.Second), 100*share(before, processor()))
	}
	fmt.Println()
	print(os.Stdout, rows)
	if *flagOut != "" {
		if err := write(*flagOut, rows); err != nil {
			t.Error(err)
		}
	}
	for _, r := range rows {
		if !r.Holds && (b.full || r.counted) {
			t.Errorf("%s misses its goal: %s %s, goal %s", r.Name, number(r.Value), r.Unit, r.Goal)
		}
	}
}

// logf prints progress.
func (b *bench) logf(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().UTC().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// awaitCalm waits until the machine is nearly idle, so that the Temporal server's remaining work
// does not slow down the next measurement. It gives up after 40 seconds.
func (b *bench) awaitCalm() {
	if !b.full {
		return
	}
	began, calm := time.Now(), 0
	for before := processor(); calm < 2; {
		time.Sleep(time.Second)
		now := processor()
		if calm++; now.busy-before.busy > (now.all-before.all)/4 {
			calm = 0
		}
		if before = now; time.Since(began) > 40*time.Second {
			b.logf("the machine stays busy")
			return
		}
	}
}

// ticks is the processors' time since the machine's start, in clock ticks; 0 on platforms without
// /proc/stat.
type ticks struct {
	busy   int
	stolen int // part of busy that the host gave to other machines
	all    int
}

// share returns the stolen share of the time between two readings, from 0 to 1.
func share(from, to ticks) float64 {
	return float64(to.stolen-from.stolen) / float64(max(1, to.all-from.all))
}

func processor() (t ticks) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		// "cpu", user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice
		n, err := strconv.Atoi(field)
		if err != nil || i > 8 { // the name is no number; guest times are part of user and nice
			continue
		}
		t.all += n
		if i != 4 && i != 5 {
			t.busy += n
		}
		if i == 8 {
			t.stolen = n
		}
	}
	return t
}

// scaled returns n with full load, else few.
func (b *bench) scaled(n, few int) int {
	if b.full {
		return n
	}
	return few
}

// scaledTime returns d with full load, else short.
func (b *bench) scaledTime(d, short time.Duration) time.Duration {
	if b.full {
		return d
	}
	return short
}

// machine describes the machine.
func machine(ctx context.Context) string {
	model := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`).FindSubmatch(info); found != nil {
			model = string(found[1])
		}
	}
	load, memory := "?", "?"
	if l, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(l), " ")
	}
	if m, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(m)); len(f) > 1 {
			memory = f[1] + " kB"
		}
	}
	kernel, _ := exec.CommandContext(ctx, "uname", "-sr").Output()
	return fmt.Sprintf("%d × %s, %s of memory, load %s, %s, %s", runtime.NumCPU(), model, memory, load, strings.TrimSpace(string(kernel)), runtime.Version())
}
