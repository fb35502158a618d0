# SPDX-License-Identifier: Apache-2.0
"""The CUDA module: built where nvcc is, loaded late, and its absence explained."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
import torch

from torch_dts import _native
from torch_dts._native import _cuda


def has_fitting_nvcc() -> bool:
    """Whether setup.py finds a toolkit of torch's CUDA version, in one of the usual places."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for home in filter(None, homes):
        nvcc = pathlib.Path(home) / "bin" / "nvcc"
        if nvcc.exists() and torch.version.cuda is not None:
            told = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
            return f"release {torch.version.cuda.split('.')[0]}." in told
    return False


def test_the_cuda_module_is_built_where_nvcc_is_and_loads() -> None:
    """It loads without a GPU, so that a build machine finds what is missing in it."""
    if not has_fitting_nvcc() or os.environ.get("TORCH_DTS_CUDA") == "0":
        assert torch.version.cuda is not None or _native.cuda_problem()
        return
    assert _native.cuda_problem() == ""
    _native.load_cuda()
    kernels = torch._C._dispatch_dump("torch_dts::fused_normalize")
    assert any(line.startswith("CUDA:") for line in kernels.splitlines()), kernels


def test_one_module_loads_it_and_only_when_asked() -> None:
    package = pathlib.Path(_cuda.__file__).parent.parent
    naming = [path.name for path in package.rglob("*.py") if "_C_cuda" in path.read_text(encoding="utf-8")]
    assert naming == ["_cuda.py"]
    assert "import torch_dts._C_cuda" not in pathlib.Path(_cuda.__file__).read_text(encoding="utf-8")


def test_a_torch_without_cuda_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(RuntimeError, match=r"the installed torch \(.*\) has no CUDA: install"):
        _native.load_cuda()


def test_a_build_without_kernels_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(_cuda, "_MODULE", "torch_dts._C_none")
    with pytest.raises(RuntimeError, match=r"built without its CUDA kernels: .* nvcc of CUDA 13 "):
        _native.load_cuda()


def test_kernels_of_another_torch_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    (tmp_path / "broken_kernels.py").write_text("raise ImportError('undefined symbol: torch_none')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(_cuda, "_MODULE", "broken_kernels")
    with pytest.raises(RuntimeError, match=r"could not be loaded \(undefined symbol: torch_none\)"):
        _native.load_cuda()
