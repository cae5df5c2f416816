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

	"myao/internal/testserver"
)

var (
	flagRun    = flag.Bool("bench.run", false, "measure; without it the rows only show, with little load, that they work")
	flagLong   = flag.Bool("bench.long", false, "measure what takes longer than the rest may, too")
	flagOnly   = flag.String("bench.only", "", "measure only what matches the `regexp`")
	flagOut    = flag.String("bench.out", "", "write the rows as JSON to the `file`")
	flagRounds = flag.Int("bench.rounds", 3, "how often what varies is measured")
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

// A measurement measures rows that belong together.
type measurement struct {
	name string
	// slow marks what takes long even with little load, long what takes long with all of it:
	// that is measured with -bench.long, or when asked for by name.
	slow, long bool
	measure    func(b *bench) []row
}

// What leaves the Temporal server much to do afterwards comes last.
var measurements = []measurement{
	{name: "context", measure: measureContext},
	{name: "mention", slow: true, measure: measureMention},
	{name: "start", slow: true, measure: measureStart},
	{name: "cost", measure: measureCost},
	{name: "idle", slow: true, long: true, measure: measureIdle},
	{name: "door", measure: measureDoor},
}

// bench is what measurements share.
type bench struct {
	*testing.T
	servers *servers
	rounds  int
	// full is unset where the rows shall only show that they work.
	full bool
}

// TestBench prints the table, and fails if a row falls short or anything was lost or doubled.
func TestBench(t *testing.T) {
	only, err := regexp.Compile(*flagOnly)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, rounds: *flagRounds, full: *flagRun}
	if !b.full {
		b.rounds = 1
	}
	b.servers = startServers(b)
	b.tell("%s", machine(t.Context()))
	b.tell("%s", b.servers.settings(b))
	var rows []row
	for _, m := range measurements {
		if !only.MatchString(m.name) || m.slow && !b.full || m.long && !*flagLong && *flagOnly == "" {
			continue
		}
		b.quiet()
		began, before := time.Now(), processor()
		t.Run(m.name, func(t *testing.T) {
			rows = append(rows, m.measure(&bench{T: t, servers: b.servers, rounds: b.rounds, full: b.full})...)
		})
		b.tell("%s took %s, in which %.0f of 100 of the processors' time went to other machines", m.name, time.Since(began).Round(time.Second), 100*share(before, processor()))
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
			t.Errorf("%s falls short: %s %s, goal %s", r.Name, number(r.Value), r.Unit, r.Goal)
		}
	}
}

// tell says what is going on.
func (b *bench) tell(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().UTC().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// quiet waits until the machine has little to do, such as the Temporal server with what
// came before: what is measured next shall not pay for that. It does not wait for long.
func (b *bench) quiet() {
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
			b.tell("the machine does not come to rest")
			return
		}
	}
}

// ticks is what the machine's processors have done since it was started, in ticks of
// their time; 0 where it does not say.
type ticks struct {
	busy   int
	stolen int // of busy: what the host gave to other machines
	all    int
}

// share is how much of the time between two looks was stolen, from 0 to 1.
func share(from, to ticks) float64 {
	return float64(to.stolen-from.stolen) / float64(max(1, to.all-from.all))
}

func processor() (t ticks) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) { // "cpu", user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice
		n, err := strconv.Atoi(field)
		if err != nil || i > 8 { // its name, and what guests had is part of the rest
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

// of is n where something is measured, and few where it shall only work.
func (b *bench) of(n, few int) int {
	if b.full {
		return n
	}
	return few
}

// lasting is d where something is measured, and short where it shall only work.
func (b *bench) lasting(d, short time.Duration) time.Duration {
	if b.full {
		return d
	}
	return short
}

// machine says on what it was measured.
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
