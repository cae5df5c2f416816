# What one does with this repository. `make` alone lists it.

BIN := $(CURDIR)/.bin

# Tools are built from their pinned versions into .bin; a changed version is
# installed at the next use. The Temporal CLI's later tags hold replace directives,
# which go install refuses.
TEMPORAL_VERSION      := v1.5.1
STATICCHECK_VERSION   := v0.8.2
WORKFLOWCHECK_VERSION := v0.6.0

# The race detector needs a C compiler, which a machine with Go alone lacks.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Of one package; what is stuck should not hold CI for an hour.
TEST_TIMEOUT := 15m

# Where times are read, compared and written: nothing there may depend on the machine's
# zone. The store's own tests see to it by themselves.
ZONED := $(addprefix ./internal/,chat conversation prompt recall mind catchup)

.PHONY: help run build test lint verify fmt temporal postgres clean
.NOTPARALLEL:

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build temporal ## the whole system on this machine, with a workspace to chat in (ARGS=… is passed on)
	@PATH="$$PATH:$(BIN)" exec $(BIN)/sandbox $(ARGS)

build: ## worker, starter and sandbox, into .bin
	@echo "Building worker, starter and sandbox: some minutes the first time …"
	@mkdir -p $(BIN)
	go build -o $(BIN)/ ./worker ./starter ./sandbox

test: temporal postgres ## every test, on a real Temporal server and both databases (TESTFLAGS=… is passed on)
	@echo "Testing$(if $(RACE), with the race detector,; no C compiler, hence without the race detector): some minutes the first time …"
	go test $(RACE) -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./...
	@for zone in Asia/Tokyo America/Los_Angeles; do \
		echo "Testing in the time zone $$zone …"; \
		TZ=$$zone go test -count=1 -short -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(ZONED) || exit 1; \
	done

lint: ## formatting, go vet, staticcheck, workflowcheck
	@scripts/tool staticcheck honnef.co/go/tools/cmd/staticcheck $(STATICCHECK_VERSION)
	@scripts/tool workflowcheck go.temporal.io/sdk/contrib/tools/workflowcheck $(WORKFLOWCHECK_VERSION)
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "Not formatted, make fmt would:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(BIN)/staticcheck ./...
	$(BIN)/workflowcheck -config workflowcheck.config.yaml ./workflows/...

verify: lint test ## what CI runs: lint and test

fmt: ## format the Go files
	gofmt -w .

temporal: ## the Temporal CLI, unless it is on PATH
	@command -v temporal >/dev/null || \
		scripts/tool temporal github.com/temporalio/cli/cmd/temporal $(TEMPORAL_VERSION) "five to fifteen minutes"

postgres: ## what the tests start Postgres with, unless it is on the machine
	@scripts/postgres

clean: ## remove what build made; the tools stay
	rm -f $(BIN)/worker $(BIN)/starter $(BIN)/sandbox
