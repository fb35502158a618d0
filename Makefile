# SPDX-License-Identifier: Apache-2.0
# The two commands: `make demo` and `make test`. Both set up what they need.
#
#   VENV=.venv     where the virtual environment lies
#   PYTHON=python3 the interpreter it is made with (3.10 or later)
#   TORCH_SPEC=... what pip installs when the environment has no torch yet
#   DATA=folder    make demo: your own folder of class folders of JPEGs

VENV ?= .venv
PYTHON ?= python3
TORCH_SPEC ?= torch==2.14.1 torchvision==0.29.1
DATA ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export VENV PYTHON TORCH_SPEC DATA
export MAX_JOBS ?= $(JOBS)
# Where there is an nvcc, kernels are built for this machine's GPUs; without one, for one kind.
GPUS := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u | paste -sd ';')
export TORCH_CUDA_ARCH_LIST ?= $(or $(GPUS),9.0)
# The build calls ninja by name.
export PATH := $(abspath $(VENV))/bin:$(PATH)

PY := "$(VENV)/bin/python"
PIP_INSTALL := $(PY) -m pip --disable-pip-version-check --no-input install -q --no-build-isolation
STAMPS := $(VENV)/torch_dts_stamps
BUILD := build

NATIVE := setup.py pyproject.toml $(wildcard csrc/core/*/*.h csrc/core/*/*.cpp csrc/ops/*.h csrc/ops/*.cpp csrc/cuda/*)
PACKAGE := $(shell find torch_dts -name '*.py' -o -name py.typed 2>/dev/null)
CPP_FORMATTED = $(shell find csrc tests/cpp -name '*.h' -o -name '*.cpp' -o -name '*.cu')

# Only one of the two kinds of install is in the environment at a time. The demo takes
# the editable one where the tests have left it, and makes a plain one elsewhere.
INSTALLED := $(if $(wildcard $(STAMPS)/editable),editable,plain)

.PHONY: help demo test test-cpp test-python lint format bench-data clean

help:
	@echo "make demo [DATA=folder]   convert a folder, train from it, compare with ImageFolder"
	@echo "make test                 lint, C++ tests (also under sanitizers), Python tests"
	@echo "make lint | format        check or fix the formatting"
	@echo "make bench-data           an ImageNet-like folder from Debian's photo packages"
	@echo "make clean                remove build outputs (the environment stays)"

demo: $(STAMPS)/$(INSTALLED)
	@if [ -n "$$DATA" ]; then \
	  $(PY) examples/demo.py --data "$$DATA" --out $(BUILD)/demo.dts --overwrite; \
	else \
	  $(PY) examples/demo.py --make-data $(BUILD)/demo_photos --out $(BUILD)/demo.dts --overwrite; \
	fi

# The C++ tests mostly compile, the Python tests mostly run: side by side they keep the cores busy.
test: $(STAMPS)/editable
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory -j2 test-cpp test-python

# The first run tests the objects of the module that was just built. Threads are in four folders;
# the rest has nothing for TSan to see.
test-cpp: $(STAMPS)/editable
	$(MAKE) -s -C csrc -j$(JOBS) test CORE_OBJECTS="$(abspath $(BUILD))/objects/csrc/core"
	$(MAKE) -s -C csrc -j$(JOBS) test SANITIZE=address
	$(MAKE) -s -C csrc -j$(JOBS) test SANITIZE=thread TESTS="base format order pipeline" CORE_OBJECTS="$(abspath $(BUILD))/objects/csrc/core"

test-python: $(STAMPS)/editable
	$(PY) -m pytest

lint: $(STAMPS)/editable
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy --strict torch_dts
	"$(VENV)/bin/clang-format" --dry-run --Werror $(CPP_FORMATTED)

format: $(STAMPS)/editable
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	"$(VENV)/bin/clang-format" -i $(CPP_FORMATTED)

bench-data: $(STAMPS)/$(INSTALLED)
	tools/fetch_photos.sh $(BUILD)/photos
	$(PY) examples/benchmarks/make_imagenet_like.py $(BUILD)/imagenet_like \
	  --sources $(BUILD)/photos --preset debian-photos

clean:
	rm -rf $(BUILD) torch_dts.egg-info torch_dts/*.so
	$(MAKE) -C csrc clean

$(STAMPS)/setup-demo: tools/setup.sh
	@tools/setup.sh "$(VENV)" demo
	@mkdir -p "$(@D)" && touch "$@"

$(STAMPS)/setup-test: tools/setup.sh
	@tools/setup.sh "$(VENV)" test
	@mkdir -p "$(@D)" && touch "$@" "$(@D)/setup-demo"

$(STAMPS)/plain: $(STAMPS)/setup-demo $(NATIVE) $(PACKAGE)
	@echo "setup: building and installing the package"
	@rm -rf $(BUILD)/lib $(BUILD)/lib.* $(BUILD)/bdist.*  # modules that are gone must not be installed
	$(PIP_INSTALL) .
	@rm -f "$(@D)/editable" && touch "$@"

# Python files of an editable install are used where they lie: only C++ needs a rebuild.
$(STAMPS)/editable: $(STAMPS)/setup-test $(NATIVE) tools/constraints.txt
	@echo "setup: building the package in place, installing the tools"
	$(PIP_INSTALL) -c tools/constraints.txt -e '.[dev,dali-cuda130]'
	@rm -f "$(@D)/plain" && touch "$@"
