# Every tool runs as `python -m`, so it follows the active virtual environment.
PYTHON ?= python

.DEFAULT_GOAL := help
.PHONY: help check lint formatted types layers spelling claims test test-slow smoke format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: lint formatted types layers spelling claims  ## all of the six below; what pre-commit and CI run

lint:  ## ruff check
	@echo "== ruff check"
	@$(PYTHON) -m ruff check .

formatted:  ## ruff format --check
	@echo "== ruff format --check"
	@$(PYTHON) -m ruff format --check .

types:  ## pyright
	@echo "== pyright"
	@$(PYTHON) -m pyright --pythonpath "$$($(PYTHON) -c 'import sys; print(sys.executable)')"

layers:  ## import-linter: imports go downwards only
	@echo "== lint-imports"
	@$(PYTHON) -c 'from importlinter.cli import lint_imports_command as main; main()' --no-logo

spelling:  ## codespell
	@echo "== codespell"
	@$(PYTHON) -m codespell_lib .

claims:  ## registered predictions stand as registered
	@echo "== claim.py verify"
	@$(PYTHON) scripts/claim.py verify

test:  ## the quick tests
	$(PYTHON) -m pytest

test-slow:  ## the tests that take longer than a few seconds of CPU
	$(PYTHON) -m pytest -m slow

# Its runs are kept in a temporary store: in the usual one a finished run would be skipped the second time.
smoke:  ## three steps of classification and three of language modelling
	@store=$$(mktemp -d) && trap 'rm -rf "$$store"' EXIT && set -ex && \
	$(PYTHON) train.py norm=bn placement=pre model=tiny log=file train.steps=3 store="$$store" && \
	$(PYTHON) train.py data=sotu norm=rms placement=pre model=tiny log=file train.steps=3 store="$$store"

format:  ## let ruff mend what it can
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

clean:  ## remove caches and build outputs; runs and data are kept
	rm -rf build dist src/*.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +
