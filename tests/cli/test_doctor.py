# SPDX-License-Identifier: Apache-2.0
import copy
import json

import pytest

import torch_dts
from torch_dts.cli import _doctor, main
from torch_dts.cli._doctor import warnings_of

GIB = 1 << 30
FINE = {
    "versions": {"torch_dts": "1.0", "DALI": None, "CRC-32": "libdeflate"},
    "module": "/lib/_C.so",
    "cuda": {"of_torch": "13.0", "kernels_built": True, "problem": "", "devices": ["NVIDIA X"]},
    "simd": "avx2",
    "cpu": {
        "model": "A CPU",
        "machine": "x86_64",
        "online": 8,
        "allowed": 8,
        "quota": None,
        "threads": 8,
        "load": 1.0,
        "numa_nodes": 2,
    },
    "memory": {"total": 64 * GIB, "available": 32 * GIB, "limit": None, "huge_pages": "madvise"},
    "limits": {"NOFILE": 65536, "MEMLOCK": 8 << 20, "NPROC": None},
    "environment": {},
}


def changed(**parts):
    facts = copy.deepcopy(FINE)
    for name, part in parts.items():
        facts[name] = {**facts[name], **part} if isinstance(part, dict) else part
    return facts


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, None),
        (
            {"simd": "generic", "cpu": {"machine": "aarch64"}},
            "This CPU (aarch64) has no AVX2: the slower generic kernels run. In a virtual machine, pass the "
            "host's CPU type on to it.",
        ),
        (
            {"simd": "generic", "environment": {"TORCH_DTS_SIMD": "generic"}},
            "TORCH_DTS_SIMD=generic keeps the fast kernels out: leave it out of the environment.",
        ),
        (
            {"environment": {"TORCH_DTS_SIMD": "sse"}},
            "TORCH_DTS_SIMD is 'sse', which says nothing: set it to generic, avx2 or avx512, or not at all.",
        ),
        (
            {"environment": {"TORCH_DTS_CHECK_DECODER": "1"}},
            "TORCH_DTS_CHECK_DECODER=1 has every JPEG decoded twice: leave it out of the environment.",
        ),
        (
            {"versions": {"CRC-32": "zlib"}},
            "CRC-32 comes from zlib, which is slower: install libdeflate's headers and build anew.",
        ),
        (
            {"cpu": {"quota": 2, "allowed": 8}},
            "This process may use 2 of 8 CPUs, by the CPU quota of its control group: give the container or "
            "job more where it is meant to have them.",
        ),
        (
            {"cpu": {"allowed": 4}},
            "This process may use 4 of 8 CPUs, by its affinity: give the container or job more where it is "
            "meant to have them.",
        ),
        ({"cpu": {"quota": 8}}, None),
        (
            {"cpu": {"load": 12.5}},
            "12.5 processes or threads want 8 CPUs: figures measured now say little.",
        ),
        ({"cpu": {"load": None, "online": None}}, None),
        (
            {"limits": {"NOFILE": 256}},
            "Only 256 files can be open at a time: raise it with 'ulimit -n 65536'.",
        ),
        (
            {"memory": {"available": GIB}},
            "Only 1.0 GiB of the machine's memory are free: use mode='partial' with a small shuffle_window, "
            "such as 4.",
        ),
        (
            {"memory": {"available": GIB, "limit": 2 * GIB}},
            "Only 1.0 GiB of the control group's limit are free: use mode='partial' with a small "
            "shuffle_window, such as 4.",
        ),
        (
            {"memory": {"huge_pages": "never"}},
            "Transparent huge pages are off, which costs a little speed: as root, 'echo madvise > "
            "/sys/kernel/mm/transparent_hugepage/enabled'.",
        ),
        (
            {"cuda": {"problem": "not built: build it"}},
            "The GPU can't be used by torch_dts: not built: build it.",
        ),
        ({"cuda": {"problem": "not built", "devices": []}}, None),
    ],
)
def test_warnings(parts, expected):
    assert warnings_of(changed(**parts)) == ([] if expected is None else [expected])


def test_text(capsys, monkeypatch):
    facts = changed(environment={"OMP_NUM_THREADS": "1"}, memory={"huge_pages": "never"})
    monkeypatch.setattr(_doctor, "collect", lambda: facts)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [
        "torch_dts        1.0",
        "DALI             not installed",
        "CRC-32           libdeflate",
        "module           /lib/_C.so loads",
        "CUDA of torch    13.0",
        "CUDA kernels     built, usable",
        "GPUs             NVIDIA X",
        "CPU              A CPU, kernels: avx2",
        "CPUs             8, 8 of them allowed, no quota; 8 threads",
        "NUMA nodes       2",
        "memory           64.0 GiB, no limit, 32.0 GiB available",
        "huge pages       never",
        "open files       65,536",
        "locked memory    8.0 MiB",
        "processes        no limit",
        "OMP_NUM_THREADS  1",
        "",
    ]
    assert lines[-1].startswith("warning: Transparent huge pages are off")
    monkeypatch.setattr(_doctor, "collect", lambda: FINE)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("\n\nnothing is in the way\n")


def test_json_of_this_machine(capsys):
    assert main(["doctor", "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert shown.err == ""
    assert set(found) == set(FINE) | {"warnings"}
    for part in ("cuda", "cpu", "memory", "limits"):
        assert set(found[part]) == set(FINE[part])
    assert found["versions"]["torch_dts"] == torch_dts.__version__
    assert main(["doctor", "too much"]) == 2
