# SPDX-License-Identifier: Apache-2.0
#
# Every task of a checkout. A new machine needs no other command than `make run HOST=example.com` and `make test`:
# both install the packages that are missing.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

HOST ?= default localhost
SWIFT ?= swift
CLANG := $(dir $(shell command -v $(SWIFT)))clang
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# netflags for use links Swift and the C++ runtime statically, and libnl dynamically. The compiler driver links
# libstdc++ without an option for the static library, so the linker finds a folder that holds only libstdc++.a.
# The executable names no folder of its own to look for libraries in, and exports no symbols, of which the runtime reads
# the whole list at each start. The types that code uses are made by their functions and not from their names: each name
# of a generic type costs a search among all conformances at each start.
STATIC_LIBS := .build-static/static-libs
STATIC := --configuration release --static-swift-stdlib --disable-local-rpath --scratch-path .build-static \
	-Xlinker -L$(STATIC_LIBS) -Xswiftc -Xclang-linker -Xswiftc -static-libgcc -Xlinker --no-export-dynamic \
	-Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors

.PHONY: help
help: ## List the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-16s %s\n", $$1, $$2 }'

# --- What the build needs ------------------------------------------------------------------------------

NO_APT := echo 'install libnl 3 with its route library and headers, and pkg-config, first:' \
	'libnl3-devel and pkgconf-pkg-config on Fedora and openSUSE, libnl and pkgconf on Arch Linux.' \
	'Alpine has no GNU C library: docs/containers.md' >&2

.PHONY: deps test-deps
deps: ## Install libnl's development packages if they are missing
	@if ! { command -v pkg-config && pkg-config --exists libnl-3.0 libnl-route-3.0; } >/dev/null 2>&1; then \
		command -v apt-get >/dev/null || { $(NO_APT); exit 1; }; \
		echo 'installing libnl-3-dev, libnl-route-3-dev and pkg-config'; \
		$(SUDO) apt-get update -qq; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			libnl-3-dev libnl-route-3-dev pkg-config >/dev/null; \
	fi

test-deps: deps
	@if ! { command -v ip && command -v unshare; } >/dev/null 2>&1; then \
		command -v apt-get >/dev/null || { echo 'install iproute2 and util-linux first' >&2; exit 1; }; \
		echo 'installing iproute2 and util-linux'; \
		$(SUDO) apt-get update -qq; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			iproute2 util-linux >/dev/null; \
	fi

# --- Use -----------------------------------------------------------------------------------------------

.PHONY: build libraries run static
build: deps ## Build the libraries and netflags
	$(SWIFT) build

libraries: deps ## Build the libraries alone, as a package that depends on them does
	@for target in $(LIBRARIES); do $(SWIFT) build --target "$$target"; done

run: deps ## Print the flags of HOST, one target or several: make run HOST=example.com
	@$(SWIFT) build --product netflags
	@"$$($(SWIFT) build --show-bin-path)/netflags" $(HOST)

static: deps ## Build netflags optimised, with Swift linked in: .build-static/release/netflags
	@mkdir -p $(STATIC_LIBS)
	@ln -sf "$$($(CLANG) -print-file-name=libstdc++.a)" $(STATIC_LIBS)/
	$(SWIFT) build $(STATIC) --product netflags

# --- Proof ---------------------------------------------------------------------------------------------

.PHONY: test asan tsan c-warnings lint format foundation-check examples examples-server examples-fleet apple-names \
	check bench snippets soak fuzz-structures stress storm kernels kernels-programs kernels-examples managers \
	managers-deps
# TEST_FLAGS are for the runner. TEST_LIMIT is a command that ends a run which takes too long; a build has no limit.
# A backtrace of each thrown error is not read: an interruption of an evaluation is one.
RUN_TESTS = SWT_SWIFT_ERROR_BACKTRACING_ENABLED=0 \
	$(TEST_LIMIT) $(SWIFT) test --skip-build --disable-xctest

test: test-deps ## Run all tests, a tenth of the rounds of long ones
	$(SWIFT) build --build-tests
	$(RUN_TESTS) $(TEST_FLAGS)

# Undefined behaviour is looked for in the C targets; the address sanitizer covers all of the code.
ASAN := --sanitize=address --scratch-path .build-asan -Xcc -fsanitize=undefined \
	-Xcc -fno-sanitize-recover=undefined -Xswiftc -Xclang-linker -Xswiftc -fsanitize=undefined
asan: test-deps ## Run all tests under the sanitizers of addresses and of undefined behaviour
	$(SWIFT) build --build-tests $(ASAN)
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp:print_suppressions=0 $(RUN_TESTS) $(ASAN) $(TEST_FLAGS)

TSAN := --sanitize=thread --scratch-path .build-tsan
tsan: test-deps ## Run all tests under the thread sanitizer
	$(SWIFT) build --build-tests $(TSAN)
	$(RUN_TESTS) $(TSAN) $(TEST_FLAGS)

c-warnings: deps ## Compile the C targets, and their headers as C++ too, with every warning as an error
	@for file in CNetlinkShim/*.c Sources/C*/*.c; do \
		$(CLANG) -std=gnu11 -Wall -Wextra -Werror -Wnullability-completeness -ICNetlinkShim/include $(patsubst %,-I%,$(wildcard Sources/C*/include)) \
			$$(pkg-config --cflags libnl-route-3.0) -fsyntax-only "$$file"; \
	done
	@for header in CNetlinkShim/include/*.h Sources/C*/include/*.h; do \
		$(CLANG)++ -std=c++17 -Wall -Wextra -Werror -Wno-nullability-extension $(patsubst %,-I%,CNetlinkShim/include $(wildcard Sources/C*/include)) \
			$$(pkg-config --cflags libnl-route-3.0) -fsyntax-only -x c++-header "$$header"; \
	done

EXAMPLES := docs/examples/Package.swift docs/examples/Sources docs/examples/Tests \
	docs/examples/managers/Package.swift docs/examples/managers/Sources \
	$(wildcard docs/examples/server/Package.swift docs/examples/server/Sources docs/examples/server/Tests)

foundation-check: deps ## Check that no library refers to Foundation
	SWIFT=$(SWIFT) Tests/Tools/check-foundation

lint: ## Check the format of all Swift sources, their imports, and that public declarations are documented
	$(SWIFT) format lint --strict --configuration .swift-format --recursive --parallel \
		Package.swift Sources Tests Benchmarks/Sources \
		$(EXAMPLES)
	@version=$$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/netflags/Options/NetflagsCommand.swift); \
	grep -q "^## $$version" CHANGELOG.md || { echo "CHANGELOG.md has no heading for version $$version" >&2; exit 1; }
	@docs/check-links
	@! grep -rnE '\bMutex *[<(]' --include='*.swift' --exclude-dir='.build*' Sources Tests || \
		{ echo 'Locked replaces Mutex here: the thread sanitizer does not see its slow path on Linux' >&2; exit 1; }
	@Tests/Tools/check-language
	@Tests/Tools/check-width
	@SWIFT=$(SWIFT) Tests/Tools/check-imports
	@Tests/Tools/check-rules
	@Tests/Tools/check-workflows

format: ## Format all Swift sources
	$(SWIFT) format --in-place --configuration .swift-format --recursive --parallel \
		Package.swift Sources Tests Benchmarks/Sources \
		$(EXAMPLES)

examples: test-deps ## Build, test and run the example programs, a package that depends on this one
	$(SWIFT) build --package-path docs/examples -Xswiftc -warnings-as-errors
	$(SWIFT) test --package-path docs/examples --disable-xctest
	$(SWIFT) build --product netflags
	NETFLAGS="$$($(SWIFT) build --show-bin-path)/netflags" SWIFT="$(SWIFT)" docs/examples/check
	docs/check-commands "$$($(SWIFT) build --show-bin-path)/netflags"

snippets: deps ## Compile each piece of Swift of the documentation as it is printed
	$(SWIFT) build
	SWIFTC="$(dir $(shell command -v $(SWIFT)))swiftc" docs/check-snippets "$$($(SWIFT) build --show-bin-path)"

examples-server: test-deps ## Build and test the server recipes: ServiceLifecycle, logging, metrics, NIO, AsyncHTTPClient
	$(SWIFT) test --package-path docs/examples/server --disable-xctest

# The example's package builds netflags with the trait too, in the same folder.
MANAGERS := $(SWIFT) build --package-path docs/examples/managers
# libsystemd alone is installed. A NetworkManager is not: it could take over the network of this machine.
managers-deps:
	@if ! [ -e /usr/include/systemd/sd-bus.h ]; then \
		command -v apt-get >/dev/null || { echo 'install the headers of libsystemd first' >&2; exit 1; }; \
		echo 'installing libsystemd-dev'; \
		$(SUDO) apt-get update -qq; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			libsystemd-dev >/dev/null; \
	fi

managers: test-deps managers-deps ## Build with the trait NetworkManagers, and run it beside NetworkManager where that is installed
	$(MANAGERS)
	$(MANAGERS) --product netflags
	bin=$$($(MANAGERS) --show-bin-path) && Tests/Tools/managers/check "$$bin/managers" "$$bin/netflags"

FLEET_HOSTS ?= 1000

examples-fleet: test-deps ## Ask docs/fleet.md about FLEET_HOSTS (1000) simulated hosts, by the engines of PACKAGES (duckdb)
	@[ -n "$${NETFLAGS:-}" ] || $(SWIFT) build --product netflags
	NETFLAGS="$${NETFLAGS:-$$($(SWIFT) build --show-bin-path)/netflags}" docs/examples/fleet/check $(FLEET_HOSTS)

apple-names: test-deps ## Check that Apple's module names reach only the targets that ask for them
	Tests/Compatibility/AppleNames/check

bench: test-deps ## Measure against the same work in C and in iproute2, and print the goals (JSON=FILE: rows as JSON Lines)
	Benchmarks/run

SOAK_LOOKUPS ?= 10000000
SOAK_SEED ?=

soak: test-deps ## Compare ten million lookups with the running kernel (SOAK_LOOKUPS, SOAK_SEED)
	$(SWIFT) build --configuration release --product DifferentialProbe
	"$$($(SWIFT) build --configuration release --show-bin-path)/DifferentialProbe" $(SOAK_LOOKUPS) $(SOAK_SEED)

STRESS_SECONDS ?= 60

# Optimised, as it reads many.
STRUCTURE_BUILD := --configuration release -Xswiftc -enable-testing --scratch-path .build-structures
fuzz-structures: test-deps ## Put STRUCTURES (100000) recordings that lie in their structure through the commands
	$(SWIFT) build --build-tests $(STRUCTURE_BUILD)
	STRUCTURES=$${STRUCTURES:-100000} $(RUN_TESTS) $(STRUCTURE_BUILD) --filter HostileRecordingTests

stress: test-deps ## Run forty threads against the monitor for STRESS_SECONDS (60), under the thread sanitizer
	STRESS_SECONDS=$(STRESS_SECONDS) $(SWIFT) test --disable-xctest --sanitize=thread --scratch-path .build-tsan \
		--filter '[.]StressTests|MonitorStressTests'

STORM_ROUNDS ?= 5
STORM_COMMANDS ?= 20000
STORM_SEED ?= 1

storm: test-deps ## Run netflags watch during STORM_ROUNDS (5) times STORM_COMMANDS (20000) route and link commands
	STORM_ROUNDS=$(STORM_ROUNDS) STORM_COMMANDS=$(STORM_COMMANDS) STORM_SEED=$(STORM_SEED) \
		$(SWIFT) test --disable-xctest --filter StormTests.swift

KERNEL ?=
KERNEL_DIR ?=

kernels: ## Run the live tests on other kernels in qemu: Tests/Tools/kernels/README.md (KERNEL=6.1, KERNEL_DIR)
	@KERNEL_DIR="$(KERNEL_DIR)" Tests/Tools/kernels/run $(KERNEL)

kernels-programs: test-deps static
	$(SWIFT) build --build-tests
	$(SWIFT) build $(STATIC) --product NamespaceProbe
	$(SWIFT) build $(STATIC) --product DifferentialProbe

kernels-examples: test-deps
	$(SWIFT) build --package-path docs/examples --product download

check: export TEST_ROUNDS = all
check: lint c-warnings snippets examples test ## Run the checks of every change, and all rounds of the tests

include packaging/packaging.mk

# --- Documentation -------------------------------------------------------------------------------------

.PHONY: docs api-check
LIBRARIES := NetlinkReachability NetlinkRecording NetlinkReachabilityTestKit LinuxNetwork LinuxSystemConfiguration

# Without the headers that its trait needs, NetworkManagers has hardly anything to document.
SD_BUS := $(wildcard /usr/include/systemd/sd-bus.h)
DOCUMENTED := $(LIBRARIES) $(SD_BUS:%=NetworkManagers)

# Resolving the plugin rewrites Package.resolved, which an ordinary build would then follow.
docs: deps ## Build the documentation of the libraries, every warning an error: .build-docs/site
	@rm -rf .build-docs/site && mkdir -p .build-docs/site
	@[ -n "$(SD_BUS)" ] || echo 'docs: without NetworkManagers, which needs the headers of libsystemd: make managers-deps'
	@[ ! -f Package.resolved ] || cp Package.resolved .build-docs/Package.resolved.kept; \
	trap 'rm -f Package.resolved; [ ! -f .build-docs/Package.resolved.kept ] || mv .build-docs/Package.resolved.kept Package.resolved' EXIT; \
	NETLINK_DOCS=1 $(SWIFT) package $(SD_BUS:%=--traits NetworkManagers) --scratch-path .build-docs \
		--allow-writing-to-directory .build-docs/site \
		generate-documentation $(DOCUMENTED:%=--target %) --warnings-as-errors \
		--enable-experimental-combined-documentation --output-path .build-docs/site

api-check: deps ## List the changes since the last tag that break callers of the libraries
	@tag=$$(git describe --tags --abbrev=0 2>/dev/null || true); \
	if [ -z "$$tag" ]; then \
		echo 'api-check: no tag to compare with; the check begins with the first tagged version'; \
	else \
		$(SWIFT) package diagnose-api-breaking-changes "$$tag" $(LIBRARIES:%=--products %); \
	fi
