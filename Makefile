# The two commands: `make demo` runs the main job on the shipped recording, `make test` passes all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONFIG := examples/h200/plumbline.toml

.PHONY: demo test lint types docs wheel clean

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/.ready
	$(BIN)/plumbline --config $(CONFIG) run
	$(BIN)/plumbline --config $(CONFIG) report
	$(BIN)/plumbline --config $(CONFIG) report --out build/report

test: $(VENV)/.ready lint types
	$(BIN)/pytest -n auto --dist worksteal

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

# Writes the generated pages, and renews the outputs that pages show.
docs: $(VENV)/.ready
	$(BIN)/python docs/generate.py

AWAY = cd build/wheel/try && PYTHONPATH=../site $(abspath $(BIN)/python) -P
# Builds the wheel and runs the example from what it installs, away from the sources.
wheel: $(VENV)/.ready
	rm -rf build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/wheel/site build/wheel/*.whl
	mkdir build/wheel/try && cp -R examples build/wheel/try/
	$(AWAY) -c 'import pipelines; assert "build/wheel/site" in pipelines.__file__, pipelines.__file__'
	$(AWAY) -m pipelines.cli init
	$(AWAY) -m pipelines.cli --config $(CONFIG) run
	$(AWAY) -m pipelines.cli --config $(CONFIG) report > ../report.txt
	$(AWAY) -m pipelines.cli --config $(CONFIG) report --out ../report

clean:
	rm -rf build $(VENV)
