# make fuzz    find bugs: TARGET=torch_inductor (or jax_xla, toy) TIME=600 (seconds) ARGS="further flags"
# make test    every check: PYTEST_ARGS="further flags"
# make lint    style and types alone
# make doctor  what is installed and what can run
# make clean   remove the virtual environment and caches; findings/ and corpus/ stay

PYTHON ?= python3
TARGET ?= torch_inductor
TIME ?= 600
ARGS ?=
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin

# What a target needs beyond Rondo's own dependencies; the extras of each stamp.
NEEDS_torch_inductor := torch
NEEDS_jax_xla := jax
NEEDS := $(or $(NEEDS_$(TARGET)),core)
EXTRAS_core := [plots]
EXTRAS_torch := [plots,torch]
EXTRAS_jax := [jax,plots]
EXTRAS_test := [jax,torch,test]

.PHONY: fuzz test lint doctor clean
.NOTPARALLEL:

fuzz: fuzz/$(TARGET).py $(VENV)/$(NEEDS).stamp
	$(BIN)/python $< corpus/ -max_total_time=$(TIME) --findings=findings $(ARGS)

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict rondo

doctor: $(VENV)/core.stamp
	$(BIN)/rondo doctor

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find $(wildcard fuzz harnesses rondo tests tools) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is as old as what it was installed from, so this is quick when there is nothing to do.
$(VENV)/%.stamp: pyproject.toml constraints.txt | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt -e '.$(EXTRAS_$*)'
	touch $@

# pip comes last when a virtual environment is made, so it tells a whole one from a broken one.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "Rondo needs Python 3.11 to 3.13: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
