package bench

import (
	"time"

	"myao/test/testserver"
	"myao/test/world"
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
		starters = append(starters, milliseconds(b.started(w.starter).Sub(began)))
		w.worker.Kill()
		began = time.Now()
		w.worker.Start()
		workers = append(workers, milliseconds(b.started(w.worker).Sub(began)))
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
	testserver.Must(b, err)
	testserver.Must(b, testserver.Build(dir, nil, "myao/sandbox"))
	var pages, all []float64
	for range max(3, b.rounds) {
		address := testserver.FreeAddress(b)
		p := world.NewSandbox(b, dir, "--address", address)
		began := time.Now()
		p.Start()
		pages = append(pages, milliseconds(b.ready("http://"+address+"/").Sub(began)))
		b.await("the sandbox", 2*time.Minute, func() bool { return p.Log.Has("chat with the bot") })
		all = append(all, time.Since(began).Seconds())
		if err := p.Stop(); err != nil {
			b.Errorf("the sandbox ended with %v", err)
		}
	}
	return newRow("start of the sandbox to its page", "ms", atMost(1000, "ms"), pages...).
		withNote("Temporal's dev server, worker and starter are ready after %s s", number(median(all)))
}
