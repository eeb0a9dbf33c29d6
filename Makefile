# `make` prints what there is. Every target works alone on a fresh clone with Rust and Python >= 3.11.
.DEFAULT_GOAL := help
.PHONY: help setup demo test bench bench-gate lint format clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Folders are listed too: they change when a file in them is added or removed.
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find rust)

help: ## Print this list
	@echo "Usage: make TARGET, or with a Python of your choice: make PYTHON=python3.13 TARGET"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# The groups of pyproject.toml are installed without the project, so that a change of Rust does not repeat this.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("rankbound needs Python >= 3.11, $(PYTHON) is " \
		+ sys.version.split()[0] + "; name another one: make PYTHON=python3.13 ...")'
	@echo "Installing Python packages into $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --group dev
	@touch $@

# The extension module is built in release mode and found through the source tree. maturin refuses to choose between
# a conda environment that happens to be active and ours.
$(VENV)/.built: $(VENV)/.installed $(SOURCES)
	@echo "Building the Rust extension (a few minutes the first time) ..."
	@env -u CONDA_PREFIX VIRTUAL_ENV="$(CURDIR)/$(VENV)" PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	@touch $@

setup: $(VENV)/.built ## Make .venv, install everything, build the extension in release mode

demo: setup ## Score a model on real data and print its report
	@$(BIN)/rankbound demo

test: setup ## Run the Rust and Python tests
	cargo test --workspace --quiet
	$(BIN)/python -m pytest

bench: setup ## Time the main jobs against floors and peers (ratios in one run)
	$(BIN)/python benches/run.py

bench-gate: setup ## Fail if a stable ratio misses its limit by half
	$(BIN)/python benches/run.py --gate

lint: setup ## Formatters, linters, types, stubs
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/stubtest rankbound._core

format: setup ## Rewrite the sources in the project's format
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove everything that was built or cached
	rm -rf $(VENV) target dist python/rankbound/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
