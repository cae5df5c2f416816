package bench

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"myao/internal/testserver"
)

// measureStart measures how long each program takes from its start until it is ready.
func measureStart(b *bench) []row {
	w := build(b, settings{name: "start", channels: 10})
	defer w.close()
	var starters, workers []float64
	for range max(3, b.rounds) {
		w.starter.Kill()
		began := time.Now()
		w.starter.Start()
		starters = append(starters, milliseconds(w.ready(w.starterAddress).Sub(began)))
		w.worker.Kill()
		began = time.Now()
		w.worker.Start()
		workers = append(workers, milliseconds(w.ready(w.workerAddress).Sub(began)))
	}
	return []row{
		newRow("start of the starter to ready", "ms", atMost(1000, "ms"), starters...),
		newRow("start of the worker to ready", "ms", atMost(1000, "ms"), workers...),
		sandboxRow(b),
	}
}

// sandboxRow measures how long the sandbox takes to serve its page, which needs none of the other
// programs.
func sandboxRow(b *bench) row {
	b.Helper()
	dir, err := testserver.Programs()
	if err != nil {
		b.Fatal(err)
	}
	if err := testserver.Build(dir, nil, "myao/sandbox"); err != nil {
		b.Fatal(err)
	}
	tools, err := filepath.Abs("../../.bin")
	if err != nil {
		b.Fatal(err)
	}
	var pages, all []float64
	for range max(3, b.rounds) {
		address, said := testserver.FreeAddress(b), make(lines, 100)
		p := testserver.NewProgram(b, said, filepath.Join(dir, "sandbox"), "--address", address, "--temporal-port", "0")
		p.Env = []string{"PATH=" + os.Getenv("PATH") + string(os.PathListSeparator) + tools}
		began := time.Now()
		p.Start()
		pages = append(pages, milliseconds(b.ready("http://"+address+"/").Sub(began)))
		b.await("the sandbox", 2*time.Minute, func() bool { return said.have("chat with the bot") })
		all = append(all, time.Since(began).Seconds())
		if err := p.Stop(); err != nil {
			b.Errorf("the sandbox ended with %v", err)
		}
	}
	return newRow("start of the sandbox to its page", "ms", atMost(1000, "ms"), pages...).
		withNote("Temporal's dev server, worker and starter are ready after %s s", number(median(all)))
}

// lines is a program's output.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default: // drop what does not fit
	}
	return len(p), nil
}

// have reports whether the program has printed a word since the last call.
func (l lines) have(word string) bool {
	for {
		select {
		case said := <-l:
			if strings.Contains(said, word) {
				return true
			}
		default:
			return false
		}
	}
}
