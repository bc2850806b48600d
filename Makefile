# Two commands are all a fresh machine needs: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# For Spark's JVMs in tests, which live for seconds: compiling for years of work would take a third of their time.
SHORT_LIVED := -XX:TieredStopAtLevel=1

.PHONY: install demo serve test test-real test-memory long tools lint clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -e '.[dev]'
	$(BIN)/python -m whorl.jvm.present || $(BIN)/pip install --quiet -e '.[java]'
	touch $(STAMP)

demo: install
	$(BIN)/python examples/demo.py

# The job server with the demo's jobs in it, for a browser, until Ctrl-C.
serve: install
	$(BIN)/python examples/serve.py

test: install lint tools
	$(MAKE) --no-print-directory -j2 --output-sync=target test-real test-memory

# What needs a broker or Spark, one after the other, since they share one of each; it waits more than it computes.
test-real: export SPARK_SUBMIT_OPTS := $(SHORT_LIVED)
test-real:
	$(BIN)/python -m pytest -m "real and not long"

test-memory:
	nice $(BIN)/python -m pytest -m "not real"

# Minutes of real runs: what `make test` proves in memory or in a shorter run, once more at full length.
long: export SPARK_SUBMIT_OPTS := $(SHORT_LIVED)
long: install tools
	$(BIN)/python -m pytest -m long

# Optional parts of the machine, each with the tests that are skipped without it.
OPTIONAL := kcat redis-server postgresql chromium
tools:
	@for part in $(OPTIONAL); do \
	  dpkg -s $$part >/dev/null 2>&1 || apt-get install -y -qq --no-install-recommends $$part >/dev/null 2>&1 \
	    || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $$part; } >/dev/null 2>&1 \
	    || echo "$$part cannot be installed here: its tests are skipped"; \
	done

lint: install
	$(BIN)/ruff check src tests bench examples docs
	$(BIN)/ruff format --check src tests bench examples docs
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .whorl .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis
