PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint bench docs clean

demo: $(READY)  ## a trained agent plays and asks, then a small one learns to
	$(BIN)/afk demo

test: $(READY)  ## what every change must pass, in minutes
	$(BIN)/python -m pytest -m 'not slow'

test-all: $(READY)  ## every test: soundness of 10,000 levels, long parity, killed sweeps, the site, too
	$(BIN)/python -m pytest

lint: $(READY)  ## style, types, and which package may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

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
