# SPDX-License-Identifier: Apache-2.0
"""Builds torch_dts._C (and, where CUDA is wanted, torch_dts._C_cuda).

Environment:
    TORCH_DTS_CUDA   auto (default): build _C_cuda when nvcc is found; 1: demand it; 0: never.
                     Decided by the compiler, not by a GPU: build machines often have none.
    TORCH_CUDA_ARCH_LIST  the GPUs that _C_cuda is built for (torch's variable), e.g. "9.0".
    DEBUG            1: -O0 -g instead of -O3.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import torch
from setuptools import Extension, find_packages, setup
from torch.utils import cpp_extension
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

ROOT = pathlib.Path(__file__).parent.resolve()
# LibTorch's stable ABI as of torch 2.11: one binary for that version and all later ones.
TORCH_TARGET = "-DTORCH_TARGET_VERSION=0x020b000000000000"


def read_version() -> str:
    text = (ROOT / "torch_dts" / "_version.py").read_text()
    return re.search(r'__version__ = "([^"]+)"', text).group(1)


def pkg_config(package: str) -> tuple[list[str], list[str]] | None:
    """Compiler and linker flags of a library, None where it (or pkg-config) is missing."""
    if shutil.which("pkg-config") is None:
        return None
    flags = []
    for kind in ("--cflags", "--libs"):
        done = subprocess.run(["pkg-config", kind, package], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
        flags.append(done.stdout.split())
    return flags[0], flags[1]


def require(package: str, debian: str) -> tuple[list[str], list[str]]:
    flags = pkg_config(package)
    if flags is None:
        sys.exit(
            f"torch_dts: {package} was not found by pkg-config. On Debian or Ubuntu install it with\n"
            f"    apt-get install pkg-config {debian}"
        )
    return flags


def sources(*folders: str) -> list[str]:
    # setup() wants paths relative to setup.py; sorted, so that builds are repeatable
    return sorted(str(p.relative_to(ROOT)) for f in folders for p in (ROOT / "csrc" / f).glob("*.cpp"))


def core_extension() -> Extension:
    jpeg = require("libjpeg", "libjpeg62-turbo-dev")
    zlib = require("zlib", "zlib1g-dev")
    deflate = pkg_config("libdeflate")
    if deflate is None:
        print("torch_dts: libdeflate not found, CRC-32 comes from zlib (slower)", file=sys.stderr)
    # -g0 undoes the -g that Python was built with: debug information is 13 of 14 MB
    optimise = ["-O0", "-g"] if os.environ.get("DEBUG") == "1" else ["-O3", "-g0"]
    defines = [TORCH_TARGET, "-DTORCH_STABLE_ONLY"] + (["-DDTS_HAVE_LIBDEFLATE"] if deflate else [])
    libraries = [jpeg, zlib] + ([deflate] if deflate else [])
    core = [p.name for p in (ROOT / "csrc" / "core").iterdir() if p.is_dir()]
    return CppExtension(
        "torch_dts._C",
        sources("ops", *(f"core/{name}" for name in core)),
        include_dirs=[str(ROOT / "csrc"), str(ROOT / "csrc" / "core")],
        # py_limited_api makes BuildExtension define Py_LIMITED_API itself; a -std flag of
        # our own keeps it from choosing one.
        py_limited_api=True,
        extra_compile_args={
            "cxx": [
                "-std=c++20",
                # no fused multiply-add: random choices must come out alike on every machine
                "-ffp-contract=off",
                "-fvisibility=hidden",
                "-Wall",
                *optimise,
                *defines,
                *(flag for cflags, _ in libraries for flag in cflags),
            ]
        },
        extra_link_args=[flag for _, libs in libraries for flag in libs],
    )


_TOOLKIT = ("bin/nvcc", "include/cuda_runtime_api.h")


def find_toolkit() -> pathlib.Path | None:
    """The CUDA toolkit: nvcc and its headers. An nvcc on the PATH may be a wrapper far from them."""
    found = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    if found is not None:
        homes += [pathlib.Path(found).parent.parent, pathlib.Path(found).resolve().parent.parent]
    for home in [*homes, "/usr/local/cuda"]:
        if home and all((pathlib.Path(home) / part).exists() for part in _TOOLKIT):
            return pathlib.Path(home)
    return None


def toolkit_mismatch(home: pathlib.Path | None) -> str:
    """Why no CUDA module can be built; "" where it can."""
    if home is None:
        return "no nvcc with its headers was found; set CUDA_HOME to the CUDA toolkit"
    if torch.version.cuda is None:
        return "the installed torch has no CUDA"
    nvcc = str(home / "bin" / "nvcc")
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"release (\d+)\.", text)
    if found is None or found.group(1) != torch.version.cuda.split(".")[0]:
        version = found.group(1) if found else "of an unknown version"
        return f"{nvcc} is CUDA {version} and torch was built with CUDA {torch.version.cuda}"
    return ""


def cuda_extensions() -> list[Extension]:
    """_C_cuda is its own module: linked against CUDA it could not load on CPU-only torch."""
    wish = os.environ.get("TORCH_DTS_CUDA", "auto")
    if wish not in ("auto", "0", "1"):
        sys.exit(f"torch_dts: TORCH_DTS_CUDA is {wish!r}, expected auto, 0 or 1")
    kernels = sorted((ROOT / "csrc" / "cuda").glob("*.cu"))
    if wish == "0":
        return []
    home = find_toolkit()
    mismatch = toolkit_mismatch(home)
    if mismatch and wish == "1":
        sys.exit(f"torch_dts: TORCH_DTS_CUDA=1, but {mismatch}")
    if mismatch:
        print(f"torch_dts: the CUDA kernels are left out: {mismatch}", file=sys.stderr)
        return []
    cpp_extension.CUDA_HOME = str(home)  # where torch looks, too
    # without a GPU in the machine torch can't guess the architectures
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX")
    return [
        CUDAExtension(
            "torch_dts._C_cuda",
            sources("cuda") + [str(p.relative_to(ROOT)) for p in kernels],
            include_dirs=[str(ROOT / "csrc"), str(ROOT / "csrc" / "core")],
            py_limited_api=True,
            extra_compile_args={
                "cxx": [
                    "-std=c++20",
                    "-ffp-contract=off",  # its tables are those of the core
                    "-fvisibility=hidden",
                    "-Wall",
                    "-O3",
                    "-g0",
                    TORCH_TARGET,
                    "-DTORCH_STABLE_ONLY",
                    "-DUSE_CUDA",
                ],
                "nvcc": [
                    "-std=c++20",
                    "-O3",
                    "--threads=4",
                    TORCH_TARGET,
                    "-DTORCH_STABLE_ONLY",
                    "-DUSE_CUDA",
                ],
            },
        )
    ]


class Build(BuildExtension):
    """Keeps the objects in one place: what did not change isn't compiled again, and the C++
    tests can be linked with the very objects of the module (csrc/Makefile, CORE_OBJECTS)."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.build_temp = str(ROOT / "build" / "objects")


setup(
    version=read_version(),
    packages=find_packages(include=["torch_dts", "torch_dts.*"]),
    ext_modules=[core_extension(), *cuda_extensions()],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
