# The two commands: `make demo` runs the main job on the shipped recording, `make test` passes all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONFIG := examples/h200/plumbline.toml

.PHONY: demo test lint types clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/.ready
	$(BIN)/plumbline --config $(CONFIG) run
	$(BIN)/plumbline --config $(CONFIG) report

test: $(VENV)/.ready lint types
	$(BIN)/pytest -n auto

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

clean:
	rm -rf build $(VENV)
