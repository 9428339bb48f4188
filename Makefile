# A thin front to cmake and the scripts. `make help` lists what there is.

# For `make bench ARGS="--ops 10000"`
ARGS ?=
# For `make fuzz`: how long each target runs
FUZZ_SECONDS ?= 60
export FUZZ_SECONDS

# The steps of one goal build on each other; each one is parallel inside.
.NOTPARALLEL:

.PHONY: all build run check asan tsan valgrind fuzz bench coverage format tidy clean help
all: build

build: ## build build/meshlog and the unit tests
	@scripts/deps.sh
	@scripts/build.sh build

run: build ## build, then show a small mesh at work
	@build/meshlog demo

check: ## all tests, then the unit tests under ASan and UBSan
	@scripts/deps.sh interop
	@scripts/check.sh

asan: ## the unit tests under ASan and UBSan
	@scripts/deps.sh
	@scripts/build.sh build-asan -DMESHLOG_SANITIZE=address,undefined
	@tests/run.sh build-asan unit

tsan: ## the unit tests under TSan
	@scripts/deps.sh
	@scripts/build.sh build-tsan -DMESHLOG_SANITIZE=thread
	@tests/run.sh build-tsan unit

valgrind: ## the unit tests under valgrind
	@scripts/deps.sh valgrind
	@scripts/valgrind.sh

fuzz: ## run each fuzz target for FUZZ_SECONDS (60), with clang
	@scripts/fuzz.sh

bench: build ## measure; options in ARGS="--ops 10000"
	@build/meshlog bench $(ARGS)

coverage: ## lines and branches that the tests reach, per folder
	@scripts/deps.sh interop coverage
	@scripts/build.sh build-coverage -DMESHLOG_COVERAGE=ON
	@scripts/coverage.sh build-coverage

format: ## lay out all C sources with clang-format
	@scripts/deps.sh format
	@scripts/c-files.sh | xargs -0 -r clang-format -i

tidy: ## look for mistakes in the product with clang-tidy
	@scripts/deps.sh tidy
	@scripts/build.sh build
	@scripts/c-files.sh .c | grep -zv '^\./tests/' | xargs -0 -r -n 1 -P "$$(nproc)" clang-tidy --quiet -p build

clean: ## remove all that was built
	@rm -rf build build-asan build-tsan build-fuzz build-coverage

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1@\2/p' Makefile | awk -F@ '{ printf "%-16s %s\n", $$1, $$2 }'
