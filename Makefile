# The tasks of this repository; `make` alone lists them.

BIN := $(CURDIR)/.bin

# Tools are built from pinned versions into .bin; a changed version is installed at the next use.
# The newest tag of the Temporal CLI that Go builds from modules: later ones have replace directives. Its own
# SQLite is older than v1.42.2, and hangs for good if a request is given up at the wrong moment.
TEMPORAL_VERSION      := v1.5.1
TEMPORAL_SQLITE       := modernc.org/sqlite@v1.60.1
STATICCHECK_VERSION   := v0.8.2
WORKFLOWCHECK_VERSION := v0.6.0
GOVULNCHECK_VERSION   := v1.9.0
TEMPORAL_SERVER_VERSION := v1.32.0

# npm's axe-core, with its hash in the registry (dist.integrity).
AXE_VERSION   := 4.14.1
AXE_INTEGRITY := sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==

# The race detector needs a C compiler, which not every machine has.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),CGO_ENABLED=1)

# Nothing else needs C. Everything but the race detector is compiled once, as the container's programs are.
export CGO_ENABLED := 0

# Compiled packages without the path of this checkout serve every checkout on the machine, so a fresh
# clone compiles only what has changed.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

# The packages with goroutines of their own. SQLite is compiled to Go and several times slower
# under the race detector, so make test leaves out packages that mostly use the database.
# make race tests everything, and its end-to-end tests build the programs with -race, too.
RACED := ./sandbox ./starter/cli ./starter/serve ./worker ./sandbox/inspector ./sandbox/workspace $(addprefix ./internal/,intake/door intake/relay operate/launch operate/operator slack)

# The packages that test longest begin first, so that none of them is left alone at the end.
LONGEST := ./test/e2e ./test/chaos ./test/bench ./internal/store ./activities

# For one package, so that a stuck test does not block CI for an hour. test/e2e has taken 20 minutes beside a busy process.
TEST_TIMEOUT := 40m

# Where make chaos writes its logs, and how it runs. If a flag is given twice, the last one counts.
CHAOS := $(CURDIR)/.chaos
CHAOS_TEST = go test ./test/chaos -v -count=1 -timeout 3h -artifacts -outputdir $(CHAOS) -args -chaos.long \
	-chaos.messages=10000 -chaos.kills=100 -chaos.rate=5 $(if $(SEED),-chaos.seed=$(SEED))

# Nothing may depend on the machine's time zone: all tests run far west of UTC, and packages that
# format or parse times also far east of it.
WEST  := TZ=America/Los_Angeles
EAST  := TZ=Asia/Tokyo
ZONED := $(addprefix ./internal/,chat operate/timeline answer/prompt language/when)

# make lint has vetted everything. Without debugging information the fifty test binaries link in
# half the time. The tests wait for a third of their time, so one more package than processors
# runs at once. Tests write to memory if there is room; go build does not.
GO_TEST := GOTMPDIR="$${GOTMPDIR:-$${TMPDIR:-/tmp}}" TMPDIR="$$(scripts/scratch)" go test -vet=off -ldflags=-w -timeout $(TEST_TIMEOUT) -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: help run build test test-browser screenshots bench bench-long chaos topology drill race histories lint vulnerabilities verify fmt release notices temporal temporal-server govulncheck postgres prometheus chromium axe clean
.NOTPARALLEL:

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build temporal ## run the whole system on this machine, with a workspace to chat in (ARGS=… are its flags)
	@PATH="$$PATH:$(BIN)" exec $(BIN)/sandbox $(ARGS)

build: ## build worker, starter and sandbox into .bin
	@echo "Building worker, starter and sandbox: some minutes the first time, then a second …"
	@mkdir -p $(BIN)
	@go build -o $(BIN)/ ./worker ./starter ./sandbox

test: temporal postgres govulncheck ## run every test on a real Temporal server and both databases (TESTFLAGS=… are flags of go test)
	@echo "Testing$(if $(RACE),,; there is no C compiler, hence no race detector): some minutes the first time …"
	$(WEST) $(GO_TEST) $(TESTFLAGS) $(LONGEST) $(if $(RACE),$(filter-out $(shell go list $(RACED)),$(shell go list ./...)),./...)
	$(if $(RACE),$(WEST) $(RACE) $(GO_TEST) -race $(TESTFLAGS) $(RACED))
	@echo "Testing in another time zone …"
	$(EAST) $(GO_TEST) -count=1 -short $(TESTFLAGS) $(ZONED)

test-browser: temporal chromium axe ## test the sandbox's page in a real browser (TESTFLAGS=… are flags of go test)
	@echo "Testing the page in Chromium: one to two minutes …"
	$(GO_TEST) -count=1 -parallel 5 $(TESTFLAGS) ./test/browser -args -browser.run

screenshots: temporal chromium ## retake the pictures of the page in docs/images
	@echo "Taking pictures of the page: about a minute …"
	go test ./test/browser -count=1 -run '^TestScreenshots$$' -args -browser.screenshots=$(CURDIR)/docs/images

chaos: temporal temporal-server postgres ## kill, freeze and fail things for over an hour, and count what was lost (SEED=…, ARGS=-chaos.messages=…)
	@echo "Killing, freezing and failing things while people write: over an hour …"
	@mkdir -p $(CHAOS)
	$(CHAOS_TEST) $(ARGS)
	@echo "The same with a Temporal server on Postgres …"
	$(CHAOS_TEST) -chaos.messages=3000 -chaos.kills=30 -chaos.temporal=postgres -test.run='^TestChaos$$' $(ARGS)

topology: temporal temporal-server postgres ## replace two starters and three workers one by one, and two versions side by side, with Temporal on Postgres
	@echo "Replacing programs one by one while people write …"
	go test ./test/chaos -count=1 -timeout $(TEST_TIMEOUT) -run '^Test(Topology|Stuck)$$' $(TESTFLAGS) -args -chaos.temporal=postgres
	@echo "Two versions of the workers side by side, one with a changed branch …"
	go test ./workflows -count=1 -timeout $(TEST_TIMEOUT) -run '^TestAChangedBranchBesideTheOneBefore$$' $(TESTFLAGS) -args -postgres

drill: temporal temporal-server postgres prometheus ## break the system in ten ways, and see what doctor and alerts name first
	@echo "Breaking the system in ten ways: under five minutes …"
	go test ./test/drill -v -count=1 -parallel 10 -timeout $(TEST_TIMEOUT) $(TESTFLAGS) -args -drill.run

# If a flag is given twice, the last one counts.
BENCH = go test ./test/bench -v -count=1 -timeout 3h -run '^TestBench$$' -args -bench.run -bench.out=$(CURDIR)/bench.json

bench: temporal temporal-server postgres ## measure the speed and the cost of a message, compared with floors, into bench.json (ARGS=-bench.only=door)
	@echo "Measuring: up to half an hour …"
	$(BENCH) $(ARGS)

bench-long: temporal temporal-server postgres ## also measure ten million messages, ten thousand waiting and a hundred thousand open conversations
	@echo "Measuring: an hour …"
	$(BENCH) -bench.long $(ARGS)

race: temporal postgres govulncheck ## run every test with the race detector
	CGO_ENABLED=1 go test -race -timeout 1h $(TESTFLAGS) ./...

histories: temporal ## record the histories that workflows/testdata lacks, one for each path
	@scripts/histories

lint: ## check formatting and THIRD_PARTY_NOTICES, and run go vet, staticcheck and workflowcheck
	@scripts/tool staticcheck honnef.co/go/tools/cmd/staticcheck $(STATICCHECK_VERSION)
	@scripts/tool workflowcheck go.temporal.io/sdk/contrib/tools/workflowcheck $(WORKFLOWCHECK_VERSION)
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "Not formatted (make fmt formats them):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(BIN)/staticcheck ./...
	$(BIN)/workflowcheck -config workflowcheck.config.yaml ./workflows/...
	go run ./scripts/notices -check THIRD_PARTY_NOTICES

vulnerabilities: govulncheck ## look for known vulnerabilities in code that the programs call (GOVULNDB, REQUIRE_VULNDB: see scripts/govulncheck)
	@echo "Looking for known vulnerabilities: about half a minute …"
	@scripts/govulncheck ./worker ./starter ./sandbox

verify: lint vulnerabilities test test-browser ## run what CI runs: lint, vulnerabilities, test and test-browser

fmt: ## format the Go files
	gofmt -w .

release: ## build the archives of a release from the last commit into dist (CHECK=1 builds twice and compares, PLATFORM=linux/amd64 builds one)
	@rm -rf dist
	@go run ./scripts/release $(if $(CHECK),-check) $(if $(PLATFORM),-platform $(PLATFORM)) dist

notices: ## renew THIRD_PARTY_NOTICES, the licences of the modules that the programs contain
	go run ./scripts/notices THIRD_PARTY_NOTICES

temporal: ## install the Temporal CLI into .bin, unless it is in PATH
	@command -v temporal >/dev/null || scripts/tool temporal github.com/temporalio/cli/cmd/temporal $(TEMPORAL_VERSION) "five to fifteen minutes" $(TEMPORAL_SQLITE)

temporal-server: ## install a Temporal server for Postgres, and the tool that makes its tables
	@scripts/tool temporal-server go.temporal.io/server/cmd/server $(TEMPORAL_SERVER_VERSION) "five to fifteen minutes"
	@scripts/tool temporal-sql-tool go.temporal.io/server/cmd/tools/sql $(TEMPORAL_SERVER_VERSION) "a few minutes"

govulncheck: ## install govulncheck
	@scripts/tool govulncheck golang.org/x/vuln/cmd/govulncheck $(GOVULNCHECK_VERSION)

postgres: ## install Postgres for the tests, unless the machine has it
	@scripts/postgres

prometheus: ## install Prometheus for the drill, unless the machine has it
	@scripts/prometheus

chromium: ## install the browser for the page's tests, unless the machine has it
	@scripts/chromium

axe: ## install axe-core, which checks a page's accessibility, unless npm's registry does not answer
	@go run ./scripts/axe $(AXE_VERSION) $(AXE_INTEGRITY) $(BIN)/axe.min.js

clean: ## remove the built programs; the tools stay
	rm -f $(BIN)/worker $(BIN)/starter $(BIN)/sandbox
