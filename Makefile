PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# with bytecode the processes that tests start begin sooner; neighbouring tests share what they have compiled
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo test test-slow coverage lint docs benchmark clean

demo: $(VENV)/.installed
	$(BIN)/dalembert demo

test: lint
	@sh tests/viewer/install_browser.sh
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.installed-dev
	@sh tests/viewer/install_browser.sh
	$(PYTEST)

coverage: $(VENV)/.installed-dev
	@sh tests/viewer/install_browser.sh
	$(PYTEST) -m "not slow" --cov --cov-report=html $(COVERED)
	@$(BIN)/python -m coverage report --format=total --precision=1 | sed 's/^/covered in percent: /'

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ty check --python $(VENV)

docs: $(VENV)/.installed-dev
	$(BIN)/python -m docs.builder

benchmark: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/work_precision.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "dalembert needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .coverage .coverage_html .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
