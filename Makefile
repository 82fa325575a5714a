# Every target makes the environment it needs: python3.11+, pip and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal
EXACT := $(addprefix --cov=ribp.,kernels counts measures symmetric totals restricted_bernoulli poisson_binomial polynomials)
# The tests that show every branch of these, and are quick without the compiler.
EXACT_TESTS := $(addprefix tests/,kernels counts measures likelihoods baselines search/test_starts.py prior/test_simulation.py \
  test_restricted_bernoulli.py test_polynomials.py test_poisson_binomial.py test_symmetric.py test_totals.py)
UNCOMPILED := $(addprefix tests/,kernels likelihoods mcmc search baselines prior variational)

.PHONY: setup demo test test-slow faults mutants browser screenshots coverage lint bench docs release lock clean

setup: $(READY)

# The lock file names everything, so that pip need not look for what else there is: a newer release of a
# dependency's extra (coverage[toml]) made older pips refuse the whole file.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'ribp needs Python 3.11 or later; set PYTHON=...')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check
	touch $(READY)

demo: $(READY)
	$(BIN)/ribp demo --out demo-output

test: $(READY)
	$(PYTEST) tests
	$(MAKE) coverage

# The same tests, the statistical tier with many replicates, in parts of at most forty minutes (PART=3/8); each leaves
# its result in tests/slow-results. Then all that can do without the compiler, which does not see an index out of bounds.
test-slow: $(READY)
ifdef PART
	RIBP_TEST_TIER=slow $(PYTEST) tests --part $(PART) --store tests/slow-results/$(subst /,-of-,$(PART)).json
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(UNCOMPILED) -m "not jit" --part $(PART)
else
	for part in 1 2 3 4 5 6 7 8; do $(MAKE) test-slow PART=$$part/8 || failed=1; done; test -z "$$failed"
endif

# Ten faults put in on purpose, one at a time: which test catches which. TIER=slow asks the slow tier.
faults: $(READY)
	$(BIN)/python -m tests.faults $(if $(TIER),--tier $(TIER))

# Single small changes of the source, chosen by a seed, one at a time: which test catches which. ROOM=kernels for one room.
mutants: $(READY)
	$(BIN)/python -m tests.mutants $(if $(ROOM),--room $(ROOM))

# The report and the documentation in a real browser; installs Debian's chromium if there is none.
browser: $(READY) chromium docs
	$(BIN)/python -m pytest -q tests/browser

# The pictures of the report in the documentation, and those of the gallery.
screenshots: $(READY) chromium
	$(BIN)/python docs/screenshots.py
	$(BIN)/python docs/gallery/make.py

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || apt-get install --yes --no-install-recommends chromium

# Branch coverage of kernels and laws, with the compiler off so that every line is seen.
coverage: $(READY)
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(EXACT_TESTS) -m "not jit" $(EXACT) --cov-branch --cov-report=term --cov-fail-under=100

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The source distribution, and the wheel made from it; both need no network.
release: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

# Rewrites requirements.lock from pyproject.toml, for every supported Python at once.
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header pyproject.toml --all-extras --group build --group test --group lint --group docs -o requirements.lock

clean:
	rm -rf $(VENV) dist demo-output docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutants
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
