# Every command sets itself up: a virtual environment in .venv with the versions of constraints.txt. Repeats work offline.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export UV_SYSTEM_CERTS := 1
export UV_NATIVE_TLS := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

# uv where pip can install it (seconds instead of minutes), plain pip otherwise.
define install
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || { echo "firecard needs Python 3.11 to 3.13; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(1) (once; later runs reuse it)"
	@$(PYTHON) -m venv --clear $(1)
	@if $(1)/bin/python -m pip install --quiet uv 2>/dev/null && $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2); then :; else \
	  echo "uv is not to be had here; pip takes a few minutes"; $(1)/bin/python -m pip install --quiet $(2); fi
endef

$(READY): pyproject.toml constraints.txt
	$(call install,$(VENV),--constraint constraints.txt --editable ".[dev]")
	@touch $@

setup: $(READY)  ## make .venv with the tested versions

demo: $(READY)  ## a synthetic night, three models, score cards in ./demo
	@$(BIN)/firecard demo --out demo

test: $(READY) lint  ## format, lint, types, import rules and the test suite
	@echo "pytest"; $(BIN)/python -m pytest -q $(PYTEST)

lint: $(READY)  ## ruff, mypy and import-linter
	@echo "ruff"; $(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@echo "mypy"; $(BIN)/mypy --no-error-summary
	@echo "import-linter"; $(BIN)/lint-imports > .import-linter.log || { cat .import-linter.log; exit 1; }; rm -f .import-linter.log

format: $(READY)  ## format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix --quiet .

.venv-bench/.ready: pyproject.toml
	$(call install,.venv-bench,--editable ".[bench]")
	@touch $@

bench: .venv-bench/.ready  ## speed against peers, as ratios; writes benchmarks.json
	@.venv-bench/bin/python tests/benchmarks/run.py $(BENCH)

clean:  ## remove what the commands made
	rm -rf .venv .venv-bench demo build benchmarks.json .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
