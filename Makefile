# SPDX-License-Identifier: Apache-2.0
#
# The list of everything that can be done with a checkout. `make run HOST=example.com` and `make test` are
# all that a new machine needs: they install the packages that they miss.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

HOST ?= default localhost
SWIFT ?= swift
CLANG := $(dir $(shell command -v $(SWIFT)))clang
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# netflags for use: Swift and the C++ runtime that it needs are linked in, libnl stays the system's. The folder
# with nothing but libstdc++.a makes the linker take that one, which the compiler driver names by itself. Not
# position independent: tens of thousands of relocations at each start would take as long as the work.
STATIC_LIBS := .build-static/static-libs
STATIC := --configuration release --static-swift-stdlib --scratch-path .build-static \
	-Xlinker -L$(STATIC_LIBS) -Xswiftc -Xclang-linker -Xswiftc -static-libgcc \
	-Xswiftc -Xclang-linker -Xswiftc -no-pie

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-12s %s\n", $$1, $$2 }'

# --- What the build needs ------------------------------------------------------------------------------

.PHONY: deps test-deps
deps: ## Install libnl's development packages when they are missing
	@if ! { command -v pkg-config && pkg-config --exists libnl-3.0 libnl-route-3.0; } >/dev/null 2>&1; then \
		echo 'installing libnl-3-dev, libnl-route-3-dev and pkg-config'; \
		$(SUDO) apt-get update -qq; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			libnl-3-dev libnl-route-3-dev pkg-config >/dev/null; \
	fi

test-deps: deps
	@if ! { command -v ip && command -v unshare; } >/dev/null 2>&1; then \
		echo 'installing iproute2 and util-linux'; \
		$(SUDO) apt-get update -qq; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			iproute2 util-linux >/dev/null; \
	fi

# --- Use -----------------------------------------------------------------------------------------------

.PHONY: build run static
build: deps ## Build everything
	$(SWIFT) build

run: deps ## Ask about HOST (a name, an address, or several): make run HOST=example.com
	@$(SWIFT) build --product netflags
	@"$$($(SWIFT) build --show-bin-path)/netflags" $(HOST)

static: deps ## Build netflags for use: optimised, Swift linked in (.build-static/release/netflags)
	@mkdir -p $(STATIC_LIBS)
	@ln -sf "$$($(CLANG) -print-file-name=libstdc++.a)" $(STATIC_LIBS)/
	$(SWIFT) build $(STATIC) --product netflags

# --- Proof ---------------------------------------------------------------------------------------------

.PHONY: test asan tsan ubsan c-warnings lint format examples apple-names check bench soak stress storm
test: test-deps ## Run all tests
	$(SWIFT) build --build-tests
	$(SWIFT) test --disable-xctest

asan: test-deps ## Run all tests under the address sanitizer
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp:print_suppressions=0 \
		$(SWIFT) test --disable-xctest --sanitize=address --scratch-path .build-asan

tsan: test-deps ## Run all tests under the thread sanitizer
	$(SWIFT) test --disable-xctest --sanitize=thread --scratch-path .build-tsan

ubsan: test-deps ## Run all tests with the C target under the undefined behaviour sanitizer
	$(SWIFT) test --disable-xctest --scratch-path .build-ubsan \
		-Xcc -fsanitize=undefined -Xcc -fno-sanitize-recover=undefined -Xswiftc -Xclang-linker -Xswiftc -fsanitize=undefined

c-warnings: deps ## Compile the C target with every warning as an error
	@for file in CNetlinkShim/*.c Sources/CSystemSupport/*.c; do \
		$(CLANG) -std=gnu11 -Wall -Wextra -Werror -Wnullability-completeness -ICNetlinkShim/include -ISources/CSystemSupport/include \
			$$(pkg-config --cflags libnl-route-3.0) -fsyntax-only "$$file"; \
	done

lint: ## Check format and documentation of all Swift sources
	$(SWIFT) format lint --strict --configuration .swift-format --recursive --parallel \
		Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Benchmarks Benchmarks/Sources \
		docs/examples/Package.swift docs/examples/Sources docs/examples/Tests

format: ## Rewrite all Swift sources in the format
	$(SWIFT) format --in-place --configuration .swift-format --recursive --parallel \
		Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Benchmarks Benchmarks/Sources \
		docs/examples/Package.swift docs/examples/Sources docs/examples/Tests

examples: test-deps ## Build the example programs, a package of their own that depends on this one; test and run them
	$(SWIFT) build --package-path docs/examples -Xswiftc -warnings-as-errors
	$(SWIFT) test --package-path docs/examples --disable-xctest
	$(SWIFT) build --product netflags
	NETFLAGS="$$($(SWIFT) build --show-bin-path)/netflags" SWIFT="$(SWIFT)" docs/examples/check

apple-names: test-deps ## Prove that Apple's module names reach those who ask for them and nobody else
	Tests/Compatibility/AppleNames/check

bench: test-deps ## Measure against the same work in C and iproute2, and print the ratios
	Benchmarks/run
	Benchmarks/compare-processes

SOAK_LOOKUPS ?= 10000000
SOAK_SEED ?=

soak: test-deps ## Compare ten million lookups with the running kernel (SOAK_LOOKUPS, SOAK_SEED)
	$(SWIFT) build --configuration release --product DifferentialProbe
	"$$($(SWIFT) build --configuration release --show-bin-path)/DifferentialProbe" $(SOAK_LOOKUPS) $(SOAK_SEED)

STRESS_SECONDS ?= 60

stress: test-deps ## Forty threads at the monitor for STRESS_SECONDS (60), twice, under the thread sanitizer
	STRESS_SECONDS=$(STRESS_SECONDS) $(SWIFT) test --disable-xctest --sanitize=thread --scratch-path .build-tsan \
		--filter '[.]StressTests|MonitorStressTests'

STORM_ROUNDS ?= 5
STORM_COMMANDS ?= 20000
STORM_SEED ?= 1

storm: test-deps ## Watch STORM_ROUNDS (5) rounds of STORM_COMMANDS (20000) route and link commands
	STORM_ROUNDS=$(STORM_ROUNDS) STORM_COMMANDS=$(STORM_COMMANDS) STORM_SEED=$(STORM_SEED) \
		$(SWIFT) test --disable-xctest --filter StormTests.swift

check: lint c-warnings examples test ## What is quick enough for every change
