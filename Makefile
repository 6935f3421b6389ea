# Every target makes its own environment; the second time it is there already.
PYTHON ?= python3
BIN := .venv/bin
COVERAGE :=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow check format mutate fuzz kill bench bench-accuracy docs clean

demo: .venv/core
	$(BIN)/tfcr demo

# with bytecode: the commands that tests start would compile all of tfcr, each of them
test: .venv/dev
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow" $(COVERAGE)

test-slow: .venv/dev
	$(BIN)/python -m pytest -m slow

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

mutate: .venv/dev
	$(BIN)/python -P tests/mutate.py

fuzz: .venv/dev
	$(BIN)/python -P tests/fuzz/run.py

kill: .venv/dev
	KILLS=$(or $(KILLS),30) $(BIN)/python -P tests/kill.py

bench: .venv/bench
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/waiting.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/author_loop.py
	$(BIN)/python benchmarks/newsgroups.py

bench-accuracy: .venv/bench
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/accuracy.py --rows few,1000,5000,skewed,many,all --processes 2

docs: .venv/dev
	for page in commands datasets formats; do $(BIN)/python docs/make_$$page.py || exit 1; done

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage mutants fuzz-findings .fuzz-cache

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: pyproject.toml | .venv/bin/python
	$(PIP) -e .
	touch $@

.venv/bench: .venv/dev
	$(PIP) -e ".[bench]"
	touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(PIP) -e ".[dev]"
	touch $@ .venv/core
