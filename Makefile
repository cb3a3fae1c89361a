# On a machine with Python 3.11 or newer and make, `make demo` and `make test` do everything else.
# Another Python than the first that fits: make PYTHON=/path/to/python3.13 test

.PHONY: help demo test lint types bench lock clean run-ready dev-ready
.DEFAULT_GOAL := help

# Handed to .ci/setup, which looks for one when this is empty.
PYTHON ?=
export PYTHON
UV ?= uv

help:
	@echo 'make demo    the triage swarm at work: no key, no network'
	@echo 'make test    the tests, with the slowest named'
	@echo 'make lint    ruff, on style and form'
	@echo 'make types   mypy and pyright, both strict'
	@echo 'make bench   the runtime workloads beside their bare floors'
	@echo 'make lock    requirements/*.txt anew, from pyproject.toml (needs uv)'
	@echo 'make clean   remove what make and the tools made'

run-ready:
	@sh .ci/setup run

dev-ready:
	@sh .ci/setup dev

demo: run-ready
	@.venv/bin/boyd demo

# TESTS picks some: make test TESTS='tests/house -k layers'
test: dev-ready
	@.venv/bin/python -m pytest --durations=15 --durations-min=0.25 $(TESTS)

lint: dev-ready
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

types: dev-ready
	@.venv/bin/mypy
	@.venv/bin/pyright --pythonpath .venv/bin/python

bench: dev-ready
	@.venv/bin/python -m benchmarks run runtime --json

# Hash-locked for every supported Python and system at once; a release must be a week old, so
# that a poisoned one has been found out by then.
LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --exclude-newer '1 week' pyproject.toml

lock:
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: make lock UV=/path/to/uv' >&2; exit 1; }
	@$(LOCK) --upgrade --extra cli --group link --output-file requirements/run.txt
	@$(LOCK) --upgrade --all-extras --group dev --constraints requirements/run.txt \
		--output-file requirements/dev.txt
	@echo 'requirements/run.txt and requirements/dev.txt are new'

clean:
	@rm -rf .venv .setup.log dist build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find actors runtime tests examples benchmarks -name __pycache__ -type d -prune \
		-exec rm -rf {} + 2>/dev/null || true
