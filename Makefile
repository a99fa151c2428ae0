# The commands of this project. A machine needs make and Python 3.11 or newer. `test`, `coverage` and `grid` also
# need git and Node.js 20 or newer with npm (22 where npm has none for the judges: elsewhere than on Linux x64).
# Everything is installed inside this directory.

PYTHON ?= python3
# What is installed to be tested: this checkout, or a wheel (make test PACKAGE=dist/workbench_mcp-0.1.0-py3-none-any.whl).
PACKAGE ?= --editable .
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --constraint constraints.txt
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
NODE_MODULES := tests/node/node_modules/.installed
IS_NODE_OLD = const least = process.platform + process.arch === "linuxx64" ? 20 : 22; \
	process.exit(parseInt(process.versions.node) < least ? 1 : 0)
SEMANTIC := .semantic
MEASURED := .measured
PACKAGED := .packaged
BENCH_LEAN := .bench/lean
BENCH_PEERS := .bench/peers
BENCH_MCP_PROXY := .bench/mcp-proxy

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without bytecode on disk, each of the processes of a test run would compile all the tests again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo unit test coverage semantic grid lint package bench soak venv clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(RUNTIME) ## Install what the workbench needs, and watch it work
	@$(VENV)/bin/mcp-workbench demo

unit: $(DEV) ## Run the unit tests: Python only, in less than a minute
	@$(VENV)/bin/python -m pytest -p tests.unit --numprocesses 4 --dist loadfile

test: $(DEV) $(NODE_MODULES) ## Install everything, and run all the tests
	@$(VENV)/bin/python -m pytest --numprocesses 4 --dist loadfile

coverage: $(MEASURED)/.installed $(DEV) $(NODE_MODULES) ## Run the tests measured, and fail if coverage falls below the limit in pyproject.toml
	@$(VENV)/bin/coverage erase
	@$(MEASURED)/bin/python -m pytest -p tests.measured --numprocesses 4 --dist loadfile -m "not untraced"
	@$(VENV)/bin/coverage combine --quiet
	@$(VENV)/bin/coverage report

semantic: $(SEMANTIC)/.installed ## Install the extra `semantic` into an environment of its own, and run its tests
	@$(SEMANTIC)/bin/python -m pytest tests/semantic tests/workbench/searching tests/journeys/test_finding.py

grid: $(DEV) $(NODE_MODULES) ## Try every client version with every server version, and write docs/compatibility.md
	@$(VENV)/bin/python -m pytest -p tests.grid.plugin --grid-page docs/compatibility.md tests/grid

lint: $(DEV) ## Check formatting, style, types and workflows
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/actionlint -shellcheck $(VENV)/bin/shellcheck -pyflakes '' .github/workflows/*.yml

package: $(DEV) ## Build wheel and sdist into dist, and try each in an environment of its own
	@rm -rf dist
	@$(VENV)/bin/python -m hatchling build
	@for built in dist/*.whl dist/*.tar.gz; do \
		echo "Trying $$built ..." && \
		$(PYTHON) -m venv --clear $(PACKAGED) && \
		$(PACKAGED)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip && \
		$(PACKAGED)/bin/python -m pip install --quiet --constraint constraints.txt \
			--build-constraint constraints.txt "$$built" && \
		$(PACKAGED)/bin/mcp-workbench --version && \
		$(PACKAGED)/bin/workbench-mcp --version && \
		$(PACKAGED)/bin/mcp-workbench demo >/dev/null || exit 1; \
	done

bench: $(BENCH_LEAN)/.installed $(BENCH_PEERS)/.installed $(BENCH_MCP_PROXY)/.installed ## Measure, and write docs/benchmarks.md (SUITE=http: one suite, printed)
	@$(BENCH_PEERS)/bin/python -m bench --python $(BENCH_LEAN)/bin/python $(or $(SUITE),--write-docs)

soak: $(RUNTIME) ## Ten minutes of load, faults and kills, with every answer accounted for (SECONDS=60, SEED=1)
	@$(VENV)/bin/python -m soak $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

venv: $(DEV) ## Build the virtual environment in .venv, for development

clean: ## Remove everything that the other targets made
	rm -rf $(VENV) $(SEMANTIC) $(MEASURED) $(PACKAGED) .bench .coverage .coverage.* tests/node/node_modules
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests bench soak scripts -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
		echo "There is no '$(PYTHON)' here. Install Python 3.11 or newer, or name yours: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "MCP Workbench needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments: its 'venv' or 'ensurepip' module is missing." >&2; \
		echo "On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@echo "Building the virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@$(PIP) --build-constraint constraints.txt $(PACKAGE)
	@touch $@

$(DEV): $(RUNTIME)
	@echo "Installing the tools for tests and lint ..."
	@$(PIP) --group dev
	@touch $@

# Apart from the others: most people search by words alone, and the tests have to see what they see.
$(SEMANTIC)/.installed: $(RUNTIME)
	@echo "Building the environment with the extra in $(SEMANTIC) ..."
	@$(PYTHON) -m venv $(SEMANTIC)
	@$(SEMANTIC)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	@$(SEMANTIC)/bin/python -m pip install --quiet --constraint constraints.txt \
		--build-constraint constraints.txt --group dev --editable '.[semantic]'
	@touch $@

# Apart from the others: here every Python process is measured, from its start. The usual switch for that is an
# environment variable, which neither the tests nor the workbench pass on to their children.
$(MEASURED)/.installed: $(RUNTIME)
	@echo "Building the environment for coverage in $(MEASURED) ..."
	@$(PYTHON) -m venv $(MEASURED)
	@$(MEASURED)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	@$(MEASURED)/bin/python -m pip install --quiet --constraint constraints.txt \
		--build-constraint constraints.txt --group dev --editable .
	@$(MEASURED)/bin/python scripts/measure.py
	@touch $@

# What is compared gets the workbench's own dependencies and orjson; the peers and the driver have their own.
$(BENCH_LEAN)/.installed: $(RUNTIME)
	@echo "Building the environment of what is compared in $(BENCH_LEAN) ..."
	@$(PYTHON) -m venv $(BENCH_LEAN)
	@$(BENCH_LEAN)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	@$(BENCH_LEAN)/bin/python -m pip install --quiet --constraint constraints.txt \
		--build-constraint constraints.txt --editable . orjson
	@touch $@

$(BENCH_PEERS)/.installed: $(RUNTIME) bench/constraints.txt
	@echo "Building the environment of the peers and of the benchmark itself in $(BENCH_PEERS) ..."
	@$(PYTHON) -m venv $(BENCH_PEERS)
	@$(BENCH_PEERS)/bin/python -m pip install --quiet --constraint bench/constraints.txt --upgrade pip
	@$(BENCH_PEERS)/bin/python -m pip install --quiet --constraint bench/constraints.txt fastmcp matplotlib
	@touch $@

# Needs an earlier version of the MCP SDK than the other peers.
$(BENCH_MCP_PROXY)/.installed: $(RUNTIME) bench/peers/mcp-proxy-constraints.txt
	@echo "Building the environment of the peer mcp-proxy in $(BENCH_MCP_PROXY) ..."
	@$(PYTHON) -m venv $(BENCH_MCP_PROXY)
	@$(BENCH_MCP_PROXY)/bin/python -m pip install --quiet --constraint bench/peers/mcp-proxy-constraints.txt --upgrade pip
	@$(BENCH_MCP_PROXY)/bin/python -m pip install --quiet --constraint bench/peers/mcp-proxy-constraints.txt mcp-proxy
	@touch $@

$(NODE_MODULES): tests/node/package.json tests/node/package-lock.json tests/node/.npmrc
	@command -v npm >/dev/null && node -e '$(IS_NODE_OLD)' || { \
		echo "The tests run real MCP servers and clients from npm: install Node.js 22 or newer, with npm" >&2; \
		echo "(20 is enough on Linux x64)." >&2; exit 1; }
	@echo "Installing the npm packages of the tests ..."
	@cd tests/node && npm ci >/dev/null
	@touch $@
