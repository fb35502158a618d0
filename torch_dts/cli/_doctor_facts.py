# SPDX-License-Identifier: Apache-2.0
"""What ``torch-dts doctor`` looks at: versions, the machine, and what this process may use of it."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import os
import pathlib
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

import torch
from PIL import features

from torch_dts import _native
from torch_dts._version import __version__
from torch_dts.loader._cgroup import Group, groups_of
from torch_dts.loader._memory import available_bytes
from torch_dts.loader._threads import cpu_quota, default_num_workers

_VARIABLES = (
    "TORCH_DTS_SIMD",
    "TORCH_DTS_CHECK_DECODER",
    "LOCAL_WORLD_SIZE",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)


def collect(root: str = "/", environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """All facts as plain values; sizes in bytes, None: not known, or no limit.

    Args:
        root: Where ``proc`` and ``sys`` are looked for.
        environ: The environment.
    """
    return {
        "versions": _versions(),
        "module": importlib.import_module("torch_dts._C").__file__,
        "cuda": _cuda(),
        "simd": _native.simd_level(),
        "cpu": _cpu(root, environ),
        "memory": _memory(root),
        "limits": {name: _limit(name) for name in ("NOFILE", "MEMLOCK", "NPROC")},
        "environment": {name: environ[name] for name in _VARIABLES if name in environ},
    }


def _versions() -> dict[str, str | None]:
    """None: not installed."""
    found: dict[str, str | None] = {
        "torch_dts": __version__,
        "Python": f"{platform.python_version()} ({platform.system()} {platform.machine()})",
        "torch": torch.__version__,
    }
    for name, package in (("torchvision", "torchvision"), ("Pillow", "pillow"), ("NumPy", "numpy")):
        found[name] = _version_of(package)
    found["libjpeg of torch_dts"] = _native.jpeg_library()
    found["libjpeg of Pillow"] = f"libjpeg-turbo {features.version('libjpeg_turbo') or 'unknown'}"
    found["CRC-32"] = _native.crc32_backend()
    found["DALI"] = next(filter(None, map(_version_of, _dali_packages())), None)
    return found


def _version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _dali_packages() -> list[str]:
    return [f"nvidia-dali-cuda{version}0" for version in (13, 12, 11)]


def _cuda() -> dict[str, Any]:
    """What CUDA of torch's there is, and why it does not run here ("": it does, as far as can be seen)."""
    devices = []
    if torch.cuda.is_available():
        devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "of_torch": torch.version.cuda,
        "kernels_built": _native.is_cuda_built(),
        "problem": _native.cuda_problem(),
        "devices": devices,
    }


def _cpu(root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    quota = cpu_quota(root)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    nodes = pathlib.Path(root, "sys/devices/system/node")
    return {
        "model": _line(_text(root, "proc/cpuinfo"), r"model name\s*:\s*(.+)") or platform.machine(),
        "machine": platform.machine(),
        "online": os.cpu_count(),
        "allowed": allowed,
        "quota": None if math.isinf(quota) else quota,
        "threads": default_num_workers(root, environ),
        "load": _load(root),
        "numa_nodes": max(1, len(list(nodes.glob("node[0-9]*")))),
    }


def _memory(root: str) -> dict[str, Any]:
    total = _line(_text(root, "proc/meminfo"), r"MemTotal:\s+(\d+) kB")
    limits = [found for group in groups_of("memory", root) if (found := _limit_of(group)) is not None]
    pages = _text(root, "sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "total": None if total is None else int(total) * 1024,
        "available": round(available_bytes(root)),
        "limit": min(limits, default=None),
        "huge_pages": _line(pages, r"\[(\w+)\]"),
    }


def _limit_of(group: Group) -> int | None:
    found = group.read_int("memory.max" if group.is_unified else "memory.limit_in_bytes")
    return None if found is None or found >= 1 << 60 else found  # version 1 writes "none" so


def _load(root: str) -> float | None:
    """Processes that want a CPU, on average over the last minute."""
    found = _line(_text(root, "proc/loadavg"), r"([\d.]+)")
    return None if found is None else float(found)


def _limit(name: str) -> int | None:
    """The soft limit of this process."""
    if sys.platform == "win32":
        return None
    import resource

    number = getattr(resource, f"RLIMIT_{name}", None)
    if number is None:
        return None
    soft = resource.getrlimit(number)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _text(root: str, name: str) -> str:
    try:
        return pathlib.Path(root, name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _line(text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return found[1].strip() if found else None
