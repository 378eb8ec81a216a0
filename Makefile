# Needs only make and a Python with venv. Everything else is installed into .venv from pins with hashes.

PYTHON ?= python3
UV_VERSION := 0.13.9
PIP := -m pip --disable-pip-version-check --no-input
IN := .venv/bin/python

.PHONY: help demo test bench lint format docs pins clean

help:
	@echo 'make demo    install into .venv, then watch a governed agent fix a bug'
	@echo 'make test    lint, types and every test: what CI runs'
	@echo 'make bench   measure speed and memory'
	@echo 'make lint    ruff and mypy alone'
	@echo 'make format  put the code in the one format'
	@echo 'make docs    render the pages that are made of data'
	@echo 'make pins    compile requirements/ from pyproject.toml (UPGRADE=1 for newer releases)'
	@echo 'make clean   remove what the targets above made, .venv included'

demo: .venv/installed
	@$(IN) -m examples.fix_bug.demo

test: lint
	$(IN) -m pytest

bench: .venv/installed
	@$(IN) -m bench

lint: .venv/installed
	$(IN) -m ruff check .
	$(IN) -m ruff format --check .
	$(IN) -m mypy

format: .venv/installed
	$(IN) -m ruff check --fix .
	$(IN) -m ruff format .

docs: .venv/installed
	$(IN) docs/render.py

# The stamp holds the folder's name: an environment that was moved or copied would run the old folder's code.
ifneq ($(shell cat .venv/pinned 2>/dev/null),$(shell pwd -P))
.PHONY: .venv/pinned
endif

.venv/pinned: requirements/dev.txt
	$(CHECK_PYTHON)
	@echo 'Installing the pinned packages into .venv'
	@rm -rf .venv
	@"$(PYTHON)" -m venv .venv
	@$(IN) $(PIP) install --quiet --require-hashes -r requirements/dev.txt
	@pwd -P > $@

.venv/installed: .venv/pinned pyproject.toml
	@$(IN) $(PIP) install --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $@

COMPILE = build/uv/bin/uv pip compile --quiet --generate-hashes --no-header --universal --python-version 3.11 \
	$(if $(UPGRADE),--upgrade) pyproject.toml

pins: build/uv/$(UV_VERSION)
	$(COMPILE) --output-file requirements/run.txt
	$(COMPILE) --extra dev --constraint requirements/run.txt --output-file requirements/dev.txt

build/uv/$(UV_VERSION):
	$(CHECK_PYTHON)
	@rm -rf build/uv
	@"$(PYTHON)" -m venv build/uv
	@build/uv/bin/python $(PIP) install --quiet uv==$(UV_VERSION)
	@touch $@

clean:
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

define CHECK_PYTHON
@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo 'remit needs Python 3.11 or newer, and "$(PYTHON)" is not: say `make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)`' >&2; \
	exit 1; }
@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	echo '"$(PYTHON)" cannot make environments: install its venv package (on Debian and Ubuntu: apt install python3-venv)' >&2; \
	exit 1; }
endef
