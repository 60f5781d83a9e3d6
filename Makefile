# Two commands do all, set-up included: `make demo` and `make test`.
# It takes Python 3.11 or newer, git and make. Another Python: make setup PYTHON=/path/to/python

SHELL := bash
BIN   := .venv/bin
READY := .venv/ready
ARGS  :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint format web clean

help: ## Say what can be made
	@bold= plain=; if [ -t 1 ] && [ -z "$$NO_COLOR" ]; then bold=$$'\e[1m' plain=$$'\e[0m'; fi; \
	awk -F ':.*## ' -v bold="$$bold" -v plain="$$plain" \
		'/^[a-z-]+:.*## / { printf "  %smake %-9s%s %s\n", bold, $$1, plain, $$2 }' Makefile

setup: $(READY) ## Install everything into .venv (the others do it when needed)

# Made once, and again when what shall be installed has changed.
$(READY): pyproject.toml constraints.txt $(wildcard native/*.toml native/CMakeLists.txt native/src/*)
	@set -eo pipefail; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		for python in "$(PYTHON)" python3 python3.14 python3.13 python3.12 python3.11; do \
			"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
			python=; \
		done; \
		if [ -z "$$python" ]; then \
			echo "Prosector needs Python 3.11 or newer with its venv module, and found none: install it" >&2; \
			echo "(Debian, Ubuntu: apt install python3-venv) or name it: make setup PYTHON=/path/to/python" >&2; \
			exit 2; \
		fi; \
		echo "Making .venv with $$("$$python" -V)"; \
		"$$python" -m venv --clear .venv; \
	fi; \
	echo "Installing Prosector and what it needs into .venv (once, a few minutes)"; \
	rm -f .venv/setup.log; \
	$(BIN)/python -m pip install --disable-pip-version-check --no-color --no-input --log .venv/setup.log \
		-c constraints.txt -e '.[dev]' 2>/dev/null \
		| while read -r verb what rest; do case "$$verb $$rest" in \
			Downloading*MB*) echo "  downloading $${what%%-*} $${rest%% MB*} MB)";; \
			Installing*packages:*) echo "  unpacking $$(wc -w <<< "$${rest#*: }" | tr -d ' ') packages";; \
		esac; done \
	|| { grep 'ERROR: ' .venv/setup.log | tail -n 5 >&2; \
		echo "The installation failed; all that pip said is in .venv/setup.log" >&2; exit 1; }; \
	echo "Building the native core (once, half a minute)"; \
	$(BIN)/python -m pip install --disable-pip-version-check --no-color --no-input --log .venv/native.log -q ./native \
		2>/dev/null || echo "No native core, so PyTorch computes everything (it takes a C++ compiler; .venv/native.log)"; \
	touch $(READY); \
	echo "Ready."

demo: setup ## Translate, train a small translator, fine-tune: the tour (six minutes on two cores)
	@$(BIN)/prosector demo $(ARGS)

test: setup ## Run the tests, but for the slow ones; ARGS="tests/attention -x" is passed on
	@$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" $(ARGS)

test-all: setup ## Run all tests, with many more examples for each law
	@$(BIN)/python -m pytest -q -n auto --dist loadfile --hypothesis-profile=thorough $(ARGS)

lint: setup ## Check style, format and types
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy $(if $(NO_COLOR),--no-color-output)

format: setup ## Format the code and mend what can be mended
	@$(BIN)/python -m ruff check --fix-only --quiet .
	@$(BIN)/python -m ruff format .

web: ## Build the page of `prosector explain` from web/ (takes Node 20 or newer)
	@command -v npm >/dev/null || { echo "make web takes Node and npm, and found none; the page that comes with Prosector was built before" >&2; exit 2; }
	@cd web && npm ci --silent && npm run --silent build

clean: ## Remove caches and builds; .venv, models and runs stay
	rm -rf dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
