# Two commands do everything on a fresh Debian or Ubuntu: `make demo` and `make test`.
.DEFAULT_GOAL := help
PYTEST := .venv/bin/pytest
# Twice as many as there are cores: tests of real clusters wait half of their time.
PROCESSES ?= 4
RUNS ?= 50
MIX ?= all
# Containers set it to stay small. Each of the hundreds of processes of a lane, and each worker of
# pytest, would then compile the whole project again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-spark demo lint linted test test-all lane bench soak lock clean

help: ## what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

setup: ## make .venv and install what is missing (idempotent)
	@bash .ci/setup

setup-spark: setup ## add PySpark to .venv, for harness lake (idempotent; 500 MB to fetch)
	@bash .ci/setup-spark

demo: setup ## five hosts, real clients, leaders cut off, a verdict: harness test --nemesis partition@leader
	@.venv/bin/harness test --nemesis partition@leader --time-limit 30
	@if .venv/bin/python -c 'import pyspark' 2>/dev/null; then \
	  .venv/bin/harness lake ingest store/latest && .venv/bin/harness lake sql \
	    "SELECT verdict, name, operations, elements FROM runs ORDER BY began DESC LIMIT 1"; \
	else echo "next: make setup-spark, then harness lake ingest and harness lake tables"; fi

lint: setup linted ## ruff, mypy --strict, import-linter

linted:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports
	.venv/bin/mypy

# One process compiles the tests before the lane starts, rather than each worker of it. The stamp
# goes with the caches (`make clean`). An error in a test module is left to the lane to report.
COMPILED := .pytest_cache/compiled
SOURCES := $(shell find broker harness nemesis checkers workloads reports pipeline bench tests docs \
  -name '*.py' -not -path '*/node_modules/*') pyproject.toml requirements.lock
$(COMPILED): $(SOURCES) | setup-spark
	@$(PYTEST) --collect-only --quiet --quiet >/dev/null 2>&1 || true
	@mkdir -p $(@D) && touch $@

# Lint runs beside the tests (.ci/beside-lint): mypy alone keeps a core busy for half a minute on a
# clean clone, while the other core would wait.
test: setup-spark ## the default lane: something of everything, in minutes
	+@bash .ci/beside-lint $(MAKE) --no-print-directory lane LANE='-m "not slow"'

test-all: setup-spark ## every lane, whole
	+@bash .ci/beside-lint $(MAKE) --no-print-directory lane

lane: $(COMPILED)
	$(PYTEST) -n $(PROCESSES) --dist worksteal $(LANE)

bench: setup ## our broker, Apache Kafka and the physical ceilings in one run
	.venv/bin/python bench/broker.py

soak: setup ## RUNS=50 runs with every nemesis and random seeds; MIX=matrix: one nemesis each
	.venv/bin/python -m tests.soak --runs $(RUNS) --mix $(MIX) $(SOAK)

COMPILE := .venv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
  --generate-hashes --no-emit-index-url --no-annotate --no-header
# What an extra adds to the other dependencies: its lines of pyproject.toml.
EXTRA := .venv/bin/python -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*project["optional-dependencies"][sys.argv[1]], sep="\n")'

lock: setup ## pin the dependencies of pyproject.toml anew
	.venv/bin/pip install --quiet uv
	$(COMPILE) --extra dev pyproject.toml -o requirements.lock
	$(EXTRA) spark | $(COMPILE) --constraint requirements.lock - -o requirements-spark.lock
	$(EXTRA) java | $(COMPILE) --constraint requirements.lock - -o requirements-java.lock

clean: ## remove .venv and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
