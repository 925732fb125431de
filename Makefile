# `make help` lists the targets. Everything lives in .venv; targets are re-runnable.
# The first of these that is Python 3.11 to 3.13.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$python && break; done)
HOST ?= 127.0.0.1
PORT ?= 8000
ENGINE ?= docker
PYTHON_IMAGE ?= $(shell sed -n 's/^ARG PYTHON_IMAGE=//p' Dockerfile)
RECIPE ?= training/recipes/both.toml
CHECKPOINT ?= training/checkpoints/de-en
SHORTLIST ?= models/de-en/shortlist.bin
INPUTS ?= 2000
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
DISTRIBUTION ?= loadfile
# A process that replaces one that died may wait for ever (pytest-xdist with loadfile).
TESTS := -m "not slow" --numprocesses $(WORKERS) --dist $(DISTRIBUTION) --max-worker-restart 0
# The plugin of Schemathesis takes a second to import in each process.
WITHOUT_COMMANDS := --ignore tests/commands -p no:schemathesis
SUITES := test-engine test-text test-formats test-service test-jobs test-import test-training test-bench

.DEFAULT_GOAL := help
.PHONY: help serve train test test-commands $(SUITES) coverage test-slow test-gpu fuzz lint format image image-export image-test sbom helm lock platforms audit bench bench-quick bench-page page clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Files of the versions that requirements/ names, and no others. Where pip finds no CPU build of torch, PyPI's is taken.
PIP_LOCKED := $(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement
# An editable installation is what is wanted here; setuptools warns of each.
PIP_PROJECT := PYTHONWARNINGS="ignore:Editable installation" $(BIN)/python -m pip install --quiet --no-build-isolation --editable

$(VENV)/.python: requirements/build.txt
	@test -n "$(PYTHON)" || { echo "no Python 3.11, 3.12 or 3.13 found; name one: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP_LOCKED) requirements/build.txt
	@touch $@

$(VENV)/.serving: $(VENV)/.python pyproject.toml requirements/serving.txt setup.py $(wildcard dragoman/native/src/*)
	$(PIP_LOCKED) requirements/serving.txt
	$(PIP_PROJECT) .
	@touch $@

$(VENV)/.development: $(VENV)/.serving pyproject.toml requirements/torch-cpu.txt requirements/torch.txt requirements/development.txt
	$(PIP_LOCKED) requirements/torch-cpu.txt 2>/dev/null || $(PIP_LOCKED) requirements/torch.txt
	$(PIP_LOCKED) requirements/development.txt
	$(PIP_PROJECT) ".[dev]"
	@touch $@

serve: $(VENV)/.serving ## Set up what serving needs and start the service on HOST:PORT
	$(BIN)/dragoman serve --host $(HOST) --port $(PORT)

train: $(VENV)/.development ## Train, or resume training, the model that RECIPE describes
	MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=268435456 \
		OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m training $(RECIPE)

test: $(VENV)/.development ## Set up everything and run all tests but test-commands; test-engine, -text, -formats, -service, -jobs, -import, -training and -bench run those of one folder
	$(BIN)/python -m pytest $(TESTS) $(WITHOUT_COMMANDS)

test-commands: $(VENV)/.development ## Run the tests that start commands, compilers, browsers and clusters, and those with random inputs with more of them
	EXAMPLES=20 $(BIN)/python -m pytest $(TESTS) tests/commands tests/formats/fuzz
	EXAMPLES=20 $(BIN)/python -m pytest $(TESTS) -m "(hypothesis or examples) and not slow" $(WITHOUT_COMMANDS)

# A folder `import` could not be imported.
$(SUITES): $(VENV)/.development
	$(BIN)/python -m pytest $(TESTS) $(subst import,imports,$(@:test-%=tests/%))

coverage: $(VENV)/.development ## Run the tests and report the lines and branches that none of them reaches; a third slower
	$(BIN)/python -m pytest --cov --cov-report=term $(TESTS)

test-slow: $(VENV)/.development ## Run the tests that take minutes
	EXAMPLES=20 $(BIN)/python -m pytest -m slow --timeout 1800

test-gpu: $(VENV)/.development ## Run the tests that need a GPU; docs/guides/gpu.md tells what to install first
	$(BIN)/python -m pytest -m gpu -rs
	$(BIN)/python -m pytest tests/engine/cuda -rs

fuzz: $(VENV)/.development ## Fuzz parsers and routes with INPUTS each, then send what the OpenAPI document allows and forbids
	$(BIN)/python -m pytest tests/formats/fuzz --fuzz-inputs $(INPUTS) --timeout 0
	EXAMPLES=20 $(BIN)/python -m pytest tests/commands/service -k as_documented -m slow --timeout 0

lint: $(VENV)/.development ## Style, strict types on code and tests, import arrows
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.development ## Format and apply safe fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

page: ## Build the web page from web/ into service/page/static; needs Node.js 20 or newer
	npm --prefix web ci --no-audit
	npm --prefix web run build

.venv-lock/.uv:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet "uv>=0.9"
	@touch $@

lock: .venv-lock/.uv ## Write requirements/*.txt anew; ARGUMENTS=--upgrade takes newer releases
	.venv-lock/bin/python -m requirements.lock $(ARGUMENTS)

platforms: .venv-lock/.uv ## Check that the locked versions have wheels for other platforms and newer Pythons
	.venv-lock/bin/python -m requirements.platforms

audit: $(VENV)/.development ## Look for known vulnerabilities in the versions of requirements/
	$(BIN)/python requirements/audit.py $(ARGUMENTS)

.venv-bench/.peers: requirements/peers.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet "pip>=24"
	.venv-bench/bin/python -m pip install --quiet --requirement requirements/peers.txt
	@touch $@

# The engine that tests/imports/bergamot compares with. Its wheels are for Python 3.10 and older.
.venv-bench/bergamot:
	python3.10 -m venv $@
	$@/bin/python -m pip install --quiet --no-deps bergamot==0.4.5

bench: $(VENV)/.development .venv-bench/.peers ## Measure CHECKPOINT's model against CTranslate2 and Transformers; writes docs/reports/performance.md
	$(BIN)/python -m bench.models opus-size runs/bench/opus-size --fresh
	$(BIN)/python -m bench.models $(CHECKPOINT) runs/bench/trained --shortlist $(SHORTLIST) --fresh
	./bench/all full

bench-quick: $(VENV)/.development .venv-bench/.peers ## The same with few runs, into runs/bench/quick: does it work?
	$(BIN)/python -m bench.models opus-size runs/bench/opus-size
	$(BIN)/python -m bench.models $(CHECKPOINT) runs/bench/trained --shortlist $(SHORTLIST)
	./bench/all quick

bench-page: $(VENV)/.development ## Tables and plots of docs/reports and of the README from bench/results
	$(BIN)/python -m bench.page

image: ## Build the container image `dragoman` with ENGINE (docker, podman) on PYTHON_IMAGE
	$(ENGINE) build --build-arg PYTHON_IMAGE=$(PYTHON_IMAGE) --tag dragoman .

image-export: ## Build the image `dragoman:export`, which also imports models
	$(ENGINE) build --build-arg PYTHON_IMAGE=$(PYTHON_IMAGE) --target export --tag dragoman:export .

image-test: $(VENV)/.development ## Build both images with buildah, start the server, translate over HTTP
	./deploy/image-test

.venv-image/.packages: requirements/build.txt requirements/sbom.txt requirements/image.txt
	$(PYTHON) -m venv .venv-image
	.venv-image/bin/python -m pip install --quiet --no-deps --require-hashes --requirement requirements/build.txt --requirement requirements/sbom.txt
	$(PYTHON) -m venv --without-pip --clear .venv-image/image
	.venv-image/bin/pip --python .venv-image/image install --quiet --no-compile --no-deps --require-hashes --requirement requirements/image.txt
	@touch $@

sbom: .venv-image/.packages ## Write the image's bill of materials, dist/dragoman.cdx.json, from its lock file
	mkdir -p dist
	.venv-image/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/dragoman.cdx.json .venv-image/image/bin/python

helm: $(BIN)/helm ## Install Helm, which tests of the chart need, into VENV; for Linux on x86-64

$(BIN)/helm: $(VENV)/.python requirements/helm.txt
	rm -rf $(VENV)/helm
	$(PIP_LOCKED) requirements/helm.txt --no-compile --target $(VENV)/helm
	tar -xzOf $(VENV)/helm/aws_cdk/*/_jsii/*.jsii.tgz package/lib/layer.zip > $(VENV)/helm/layer.zip
	$(BIN)/python -m zipfile --extract $(VENV)/helm/layer.zip $(VENV)/helm
	install -m 755 $(VENV)/helm/helm/helm $@
	rm -r $(VENV)/helm

clean: ## Remove the environment and caches; models and runs stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info dragoman/native/_kernels.so
