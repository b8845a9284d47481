PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench docs clean

demo: $(READY)  ## a trained agent plays and asks, then a small one learns to
	$(BIN)/afk demo

test: $(READY)  ## every test
	$(BIN)/python -m pytest

lint: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

bench: $(READY)  ## speed of the environments on this machine
	$(BIN)/afk bench env

docs: $(READY)  ## the site of the documents, in site/
	$(BIN)/python -m mkdocs build --strict

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("error: Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[textworld]' \
		|| echo 'textworld could not be installed (it takes a C compiler): tests against it are skipped'
	touch $(READY)

clean:
	rm -rf $(VENV)
