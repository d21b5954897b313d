# SPDX-License-Identifier: MIT
# A front to meson, which builds in one directory below build/ for each purpose.
# `make help` lists the targets.
PREFIX ?= /usr/local
SOAK_SECONDS ?= 600
export PREFIX SOAK_SECONDS

C_FILES = $(shell find src tests bench -name '*.c')
JOBS = $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# One target after the other, whatever -j: they share directories, and ninja is parallel itself.
.NOTPARALLEL:
SUBMAKE = @+$(MAKE) --no-print-directory

all: build

## build           build/cordon, and libcordon in build/lib/src (the default)
build: bootstrap
	$(SUBMAKE) build-static build/lib/build.ninja
	@echo "== building the libraries in build/lib"
	@ninja -C build/lib libraries
	@cp --remove-destination build/static/src/cordon build/cordon # one may be running

build-%: build/%/build.ninja
	@echo "== building build/$*"
	@ninja -C build/$*

build/%/build.ninja:
	@scripts/configure $*

bootstrap:
	@scripts/bootstrap build

bootstrap-check:
	@scripts/bootstrap check

bootstrap-demo:
	@scripts/bootstrap demo

## check           quick lint, build, and all tests, plain and with sanitizers
check: bootstrap-check
	$(SUBMAKE) lint-quick build build-lib build-asan
	@scripts/check_child_symbols.py build/lib
	@scripts/check_clang.py build/lib
	@scripts/check_portable --only windows
	@tests/mcp/clients.py
	@scripts/run_tests.py build/lib build/asan

## lint            every static check; each is a target of its own too:
lint: bootstrap-check
	$(SUBMAKE) -k lint-quick lint-shell lint-clang lint-tidy lint-cppcheck lint-analyzer

lint-quick: lint-format lint-layers lint-headers lint-size

## lint-format     the format of the C files (clang-format 14)
lint-format:
	@scripts/format --check

## lint-layers     who includes whom (src/layers.txt), and the house rules
lint-layers:
	@scripts/check_layers.py

## lint-headers    every header compiles alone
lint-headers:
	@scripts/check_headers

## lint-size       a report on long functions and files
lint-size:
	@scripts/report_outliers.py

## lint-shell      shellcheck
lint-shell:
	@echo "== shellcheck"
	@shellcheck .ci/run $$(grep -lE '^#!.*\b(ba)?sh$$' -r scripts packaging)

## lint-clang      builds all, tests too, with clang and its warnings
lint-clang: build-clang

## lint-tidy       clang-tidy
lint-tidy: build/clang/build.ninja
	@echo "== clang-tidy"
	@printf '%s\n' $(C_FILES) | \
		xargs -n 1 -P $(JOBS) clang-tidy -p build/clang --quiet 2>build/clang/tidy.err || \
		{ grep -v 'warnings\? generated' build/clang/tidy.err; exit 1; }

## lint-cppcheck   cppcheck; declarations stand at the top of a function here
# What is handed over to be filled is taken for used; only with one job it looks that far.
lint-cppcheck:
	@echo "== cppcheck"
	@cppcheck --enable=warning,style,performance,portability --error-exitcode=1 --inline-suppr \
		--suppress=variableScope --suppress=unusedStructMember --suppress=ctuuninitvar --quiet --std=c11 \
		--library=scripts/cppcheck.cfg -j $(JOBS) -Isrc -Iinclude src

## lint-analyzer   gcc -fanalyzer
lint-analyzer: build-analyzer

## format          formats the C files
format: bootstrap-check
	@scripts/format

## demo            shows what cordon does
demo: bootstrap-demo build
	@scripts/demo

## bench           measures; build/bench has the figures and a plot
bench: build
	@ninja -C build/lib bench/bench_plan bench/spawn bench/net_load bench/net_origin \
		tests/unit/test_backend_live
	@ninja -C build/static bench/floor
	@bench/run

## soak            fuzzes SOAK_SECONDS (600) with each fuzzer, long property tests
soak: bootstrap-check
	$(SUBMAKE) build-fuzz build-asan
	@scripts/soak

## install         to PREFIX (/usr/local), below DESTDIR if set
install: build
	@for part in static lib; do \
		meson configure build/$$part -Dprefix=$(PREFIX) && \
		ninja -C build/$$part build.ninja && \
		meson install -C build/$$part --strip --no-rebuild || exit 1; \
	done

## dist            build/cordon-VERSION.tar.xz of the last commit, always the same bytes
dist:
	@scripts/make_dist

## deb             Debian packages of this tree, in build/deb
deb:
	@scripts/bootstrap deb
	@scripts/make_deb

## check-deb       dist and deb of the last commit, used in a clean Debian (as root)
check-deb:
	@scripts/bootstrap check-deb
	@scripts/check_deb

## check-portable  compiles the portable sources for Windows (as check does) and macOS
check-portable: bootstrap-check
	@scripts/check_portable

## macos           build/macos/cordon, for arm64 and x86-64: compiled and linked, not run
macos:
	@scripts/bootstrap macos
	@scripts/make_macos

## check-macos     looks at that program: load commands, signature, what it imports
check-macos: macos
	@scripts/check_macos.py build/macos/cordon

## windows         build/windows/src/cordon.exe and libcordon.dll, for x86-64
windows:
	@scripts/bootstrap windows
	$(SUBMAKE) build/windows/build.ninja
	@echo "== building build/windows"
	@ninja -C build/windows src/cordon.exe src/libcordon.dll
	@scripts/check_windows --symbols

## check-windows   runs the tests for Windows with Wine, which it installs (700 MB)
check-windows:
	@scripts/bootstrap check-windows
	$(SUBMAKE) build/windows/build.ninja
	@ninja -C build/windows
	@scripts/check_windows

## check-kernels   boots other kernels, which it gets once, and tries the sandbox there
check-kernels: build
	@scripts/bootstrap kernels
	@tests/kernels/check_kernels.py

## check-agents    real coding agents and MCP clients, which it gets once from npm
check-agents: build
	@scripts/bootstrap agents
	@tests/agents/check_agents.py
	@tests/agents/check_mcp.py
	@tests/agents/check_setup.py
	@tests/agents/check_import.py
	@tests/agents/check_inside.py
	@tests/agents/check_shell.py

## clean           removes build/
clean:
	rm -rf build

## help            this list
help:
	@sed -n 's/^## /  make /p' Makefile

.PHONY: all build bootstrap bootstrap-check bootstrap-demo check lint lint-quick lint-format lint-layers \
	lint-headers lint-size lint-shell lint-clang lint-tidy lint-cppcheck lint-analyzer format \
	demo bench soak install dist deb check-deb \
	macos check-macos windows check-windows check-portable check-kernels check-agents clean help
.PRECIOUS: build/%/build.ninja
