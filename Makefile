# run: the chat page on the sample library.  test: all checks.  lint: format and types.  bench: speed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test lint bench

run: $(READY)
	@$(BIN)/turnwise serve --sample

test: $(READY) lint
	@$(BIN)/python -m pytest

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(READY)
	@$(BIN)/python benchmarks/turn.py

$(READY): pyproject.toml
	@echo "Setting up .venv (about a minute the first time)..."
	@$(PYTHON) -c 'import sys; sys.exit("Turnwise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
