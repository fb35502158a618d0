#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a machine ready to build torch_dts: system packages (only the missing ones) and
# a virtual environment with torch. Safe to run again; does nothing when all is there.
#
#   tools/setup.sh VENV [demo|test]
#
# PYTHON      interpreter for the environment (default python3, at least 3.10)
# TORCH_SPEC  what pip installs when the environment has no torch yet
set -euo pipefail

venv=${1:?usage: tools/setup.sh VENV [demo|test]}
purpose=${2:-demo}
python=${PYTHON:-python3}
torch_spec=${TORCH_SPEC:-torch==2.14.1 torchvision==0.29.1}

say() { printf '%s\n' "setup: $*"; }
fail() {
  printf '%s\n' "setup: $*" >&2
  exit 1
}

# One line per Debian package that is missing. What is looked for is the thing itself, not
# the package, so that a toolchain from elsewhere counts too.
missing_packages() {
  command -v g++ >/dev/null || echo g++
  command -v make >/dev/null || echo make
  if command -v pkg-config >/dev/null; then
    pkg-config --exists libjpeg || echo "$jpeg_package"
    pkg-config --exists libdeflate || echo libdeflate-dev
    pkg-config --exists zlib || echo zlib1g-dev
  else
    echo pkg-config "$jpeg_package" libdeflate-dev zlib1g-dev
  fi
  command -v "$python" >/dev/null || echo python3 python3-venv python3-dev
  if command -v "$python" >/dev/null && [ ! -x "$venv/bin/python" ]; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    "$python" -c '
import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' || echo python3-dev
  fi
  if [ "$purpose" = test ]; then
    has_header doctest/doctest.h || echo doctest-dev
    has_header nlohmann/json.hpp || echo nlohmann-json3-dev
  fi
}

has_header() {
  command -v g++ >/dev/null && echo "#include <$1>" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1
}

install_packages() {
  local command="apt-get update && apt-get install -y --no-install-recommends $*"
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      as_root=(sudo)
    else
      fail "these packages are missing: $*
setup: installing them needs root. Run this once as root, then try again:
    $command"
    fi
  fi
  if ! command -v apt-get >/dev/null; then
    fail "these packages are missing (Debian's names): $*
setup: there is no apt-get here; install their like with this system's package manager.
setup: On Debian or Ubuntu the command is:
    $command"
  fi
  say "installing system packages: $*"
  "${as_root[@]}" apt-get update -q || fail "apt-get update failed; the command was: $command"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@" || fail "the command that failed: $command"
}

jpeg_package=libjpeg62-turbo-dev
if [ -r /etc/os-release ] && (. /etc/os-release && [[ " ${ID:-} ${ID_LIKE:-} " == *" ubuntu "* ]]); then
  jpeg_package=libjpeg-turbo8-dev
fi

# Twice at most: python3 may itself be what was missing, and is asked for its headers then.
for attempt in 1 2 3; do
  read -r -d '' -a packages < <(missing_packages && printf '\0') || true
  [ "${#packages[@]}" = 0 ] && break
  [ "$attempt" = 3 ] && fail "still not usable after the installation: ${packages[*]}
setup: $python is $(command -v "$python" || echo absent); a Python that is not the system's own has to bring venv and its headers"
  install_packages "${packages[@]}"
done

if [ ! -x "$venv/bin/python" ]; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$("$python" --version) is too old: Python 3.10 or later is needed; choose one with PYTHON=python3.12"
  say "making the environment $venv"
  "$python" -m venv "$venv"
fi

pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)
has_module() { "$venv/bin/python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)"; }

if ! has_module torch || ! has_module torchvision; then
  say "installing $torch_spec (a large download)"
  # shellcheck disable=SC2086  # the value is a list of requirements
  "${pip[@]}" install -q $torch_spec
fi
# What a build without isolation needs to be there already. The rest comes as the
# package's own requirements.
"${pip[@]}" install -q 'setuptools>=77' wheel ninja
