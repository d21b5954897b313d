# SPDX-License-Identifier: MIT
# A front to meson, which does the building in directories below build/.
# `make help` lists the targets.
PREFIX ?= /usr/local
SOAK_SECONDS ?= 600
export PREFIX

.PHONY: all build check lint demo bench soak install format clean help
.PHONY: bootstrap bootstrap-check program quick-lint
.PHONY: lint-format lint-layers lint-size lint-clang lint-tidy lint-cppcheck lint-analyzer lint-shell

## build           the program build/cordon, and libcordon in build/lib/src (the default)
all: build
build: bootstrap
	@$(MAKE) --no-print-directory program build/lib/build.ninja
	ninja -C build/lib

program: build/static/build.ninja
	ninja -C build/static
	@cp build/static/src/cordon build/cordon

## check           quick lint, build, and all tests, plain and with sanitizers
check: bootstrap-check
	@$(MAKE) --no-print-directory quick-lint build build/asan/build.ninja
	@scripts/run_tests.py build/lib build/asan

bootstrap:
	@scripts/bootstrap build

bootstrap-check:
	@scripts/bootstrap check

build/%/build.ninja:
	@scripts/configure $*

quick-lint: lint-format lint-layers

## lint            every static check; each is also a target of its own:
lint: bootstrap-check
	@$(MAKE) --no-print-directory lint-format lint-layers lint-size lint-shell lint-clang lint-tidy lint-cppcheck lint-analyzer
