# What one does with this repository. `make` alone lists it.

BIN := $(CURDIR)/.bin

# Tools are built from their pinned versions into .bin; a changed version is
# installed at the next use. The Temporal CLI's later tags hold replace directives,
# which go install refuses.
TEMPORAL_VERSION      := v1.5.1
STATICCHECK_VERSION   := v0.8.2
WORKFLOWCHECK_VERSION := v0.6.0
GOVULNCHECK_VERSION   := v1.9.0
TEMPORAL_SERVER_VERSION := v1.32.0

# Of npm's axe-core, with the hash that the registry has for it (dist.integrity).
AXE_VERSION   := 4.14.1
AXE_INTEGRITY := sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==

# The race detector needs a C compiler, which a machine with Go alone lacks.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Where goroutines of ours share something. SQLite is Go here, and several times slower
# under the race detector: what mostly waits for the database goes without in make test.
# make race leaves nothing out, and the end-to-end tests then build the programs with it, too.
RACED := ./sandbox ./starter ./worker ./workflows $(addprefix ./internal/,codec ingest inspector launch llm/... operator relay sandbox slack chatops telemetry temporal)

# Of one package; what is stuck should not hold CI for an hour.
TEST_TIMEOUT := 15m

# Where make chaos leaves its logs, and how it runs. Of an option given twice the last counts.
CHAOS := $(CURDIR)/.chaos
CHAOS_TEST = go test ./test/chaos -v -count=1 -timeout 3h -artifacts -outputdir $(CHAOS) -args -chaos.long \
	-chaos.messages=10000 -chaos.kills=100 -chaos.rate=5 $(if $(SEED),-chaos.seed=$(SEED))

# Nothing may depend on the machine's zone: all is tested far west of UTC, and what reads,
# compares and writes times far east of it, too.
WEST  := TZ=America/Los_Angeles
EAST  := TZ=Asia/Tokyo
ZONED := $(addprefix ./internal/,chat conversation ledger prompt recall)

# make lint has vetted everything. Nobody debugs these binaries, of which there are some fifty,
# and without what a debugger needs they are linked in half the time. What they do is to wait,
# for a third of it: there is room for one more package than processors. What they write lies
# in memory where there is room; what go builds does not.
GO_TEST := GOTMPDIR="$${GOTMPDIR:-$${TMPDIR:-/tmp}}" TMPDIR="$$(scripts/scratch)" go test -vet=off -ldflags=-w -timeout $(TEST_TIMEOUT) -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: help run build test test-browser screenshots bench bench-long chaos topology race histories lint vulnerabilities verify fmt temporal temporal-server govulncheck postgres chromium axe clean
.NOTPARALLEL:

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build temporal ## the whole system on this machine, with a workspace to chat in (ARGS=… is passed on)
	@PATH="$$PATH:$(BIN)" exec $(BIN)/sandbox $(ARGS)

build: ## worker, starter and sandbox, into .bin
	@echo "Building worker, starter and sandbox: some minutes the first time …"
	@mkdir -p $(BIN)
	go build -o $(BIN)/ ./worker ./starter ./sandbox

test: temporal postgres govulncheck ## every test, on a real Temporal server and both databases (TESTFLAGS=… is passed on)
	@echo "Testing$(if $(RACE),,; there is no C compiler, hence no race detector): some minutes the first time …"
	$(WEST) $(GO_TEST) $(TESTFLAGS) $(if $(RACE),$(filter-out $(shell go list $(RACED)),$(shell go list ./...)),./...)
	$(if $(RACE),$(WEST) $(GO_TEST) $(RACE) $(TESTFLAGS) $(RACED))
	@echo "Testing in another time zone …"
	$(EAST) $(GO_TEST) -count=1 -short $(TESTFLAGS) $(ZONED)

test-browser: temporal chromium axe ## the sandbox's page in a real browser, with the whole system behind it (TESTFLAGS=… is passed on)
	@echo "Testing the page in Chromium: one to two minutes …"
	$(GO_TEST) -count=1 -parallel 5 $(TESTFLAGS) ./test/browser -args -browser.run

screenshots: temporal chromium ## take the pictures of the page in docs/images anew
	@echo "Taking pictures of the page: half a minute …"
	go test ./test/browser -count=1 -run '^TestScreenshots$$' -args -browser.screenshots=$(CURDIR)/docs/images

chaos: temporal temporal-server postgres ## kill, freeze and falsify for over an hour, and count what was lost (SEED=…, and ARGS=-chaos.messages=… and the like)
	@echo "Killing, freezing and falsifying while people talk: over an hour …"
	@mkdir -p $(CHAOS)
	$(CHAOS_TEST) $(ARGS)
	@echo "The same with a Temporal server on Postgres …"
	$(CHAOS_TEST) -chaos.messages=3000 -chaos.kills=30 -chaos.temporal=postgres -test.run='^TestChaos$$' $(ARGS)

topology: temporal-server postgres ## two starters, three workers and Temporal on Postgres, replaced one by one while people talk
	@echo "Replacing programs one by one while people talk …"
	go test ./test/chaos -count=1 -timeout $(TEST_TIMEOUT) -run '^TestTopology$$' $(TESTFLAGS) -args -chaos.temporal=postgres

# Of an option given twice the last counts.
BENCH = go test ./test/bench -v -count=1 -timeout 3h -run '^TestBench$$' -args -bench.run -bench.out=$(CURDIR)/bench.json

bench: temporal temporal-server postgres ## what a message costs and how fast it goes, against floors measured beside it; bench.json (ARGS=-bench.only=door and the like)
	@echo "Measuring: a quarter of an hour …"
	$(BENCH) $(ARGS)

bench-long: temporal temporal-server postgres ## the same, and ten million messages, ten thousand conversations that wait, a hundred thousand open ones
	@echo "Measuring: an hour …"
	$(BENCH) -bench.long $(ARGS)

race: temporal postgres govulncheck ## every test with the race detector
	go test -race -timeout 1h $(TESTFLAGS) ./...

histories: temporal ## record what workflows/testdata lacks of histories, one for each path
	@scripts/histories

lint: ## formatting, go vet, staticcheck, workflowcheck
	@scripts/tool staticcheck honnef.co/go/tools/cmd/staticcheck $(STATICCHECK_VERSION)
	@scripts/tool workflowcheck go.temporal.io/sdk/contrib/tools/workflowcheck $(WORKFLOWCHECK_VERSION)
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "Not formatted, make fmt would:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(BIN)/staticcheck ./...
	$(BIN)/workflowcheck -config workflowcheck.config.yaml ./workflows/...

vulnerabilities: govulncheck ## known ones in what the programs call (GOVULNDB, REQUIRE_VULNDB: scripts/govulncheck)
	@echo "Looking for known vulnerabilities: about half a minute …"
	@scripts/govulncheck ./worker ./starter ./sandbox

verify: lint vulnerabilities test test-browser ## what CI runs: lint, vulnerabilities, test and test-browser

fmt: ## format the Go files
	gofmt -w .

temporal: ## the Temporal CLI, unless it is on PATH
	@command -v temporal >/dev/null || \
		scripts/tool temporal github.com/temporalio/cli/cmd/temporal $(TEMPORAL_VERSION) "five to fifteen minutes"

temporal-server: ## a Temporal server that keeps its state in Postgres, and what makes its tables
	@scripts/tool temporal-server go.temporal.io/server/cmd/server $(TEMPORAL_SERVER_VERSION) "five to fifteen minutes"
	@scripts/tool temporal-sql-tool go.temporal.io/server/cmd/tools/sql $(TEMPORAL_SERVER_VERSION) "a few minutes"

govulncheck: ## what looks for vulnerabilities
	@scripts/tool govulncheck golang.org/x/vuln/cmd/govulncheck $(GOVULNCHECK_VERSION)

postgres: ## what the tests start Postgres with, unless it is on the machine
	@scripts/postgres

chromium: ## the browser that the page is tested in, unless it is on the machine
	@scripts/chromium

axe: ## axe-core, which finds what keeps people from using a page
	@go run ./scripts/axe $(AXE_VERSION) $(AXE_INTEGRITY) $(BIN)/axe.min.js

clean: ## remove what build made; the tools stay
	rm -f $(BIN)/worker $(BIN)/starter $(BIN)/sandbox
