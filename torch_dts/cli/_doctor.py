# SPDX-License-Identifier: Apache-2.0
"""``torch-dts doctor``: what there is to work with, and what is in the way."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.cli._doctor_facts import collect
from torch_dts.cli._output import emit, human_bytes, two_columns

_FEW_FILES = 1024
_LITTLE_MEMORY = 2 << 30
_SIMD_LEVELS = ("generic", "avx2", "avx512")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "doctor",
        help="show versions, CPUs, memory and limits, and what is in the way",
        description="Show what torch_dts has to work with here: versions, kernels, CPUs, memory, limits and "
        "GPUs; and warn of what makes it slow or fail, with what to do. Nothing is changed.",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code: 0, with warnings too."""
    facts = collect()
    found = warnings_of(facts)
    if args.json:
        emit(json.dumps({**facts, "warnings": found}, indent=2, allow_nan=False))
        return 0
    emit(two_columns(_rows(facts)))
    emit("\n" + ("\n".join(f"warning: {each}" for each in found) or "nothing is in the way"))
    return 0


def warnings_of(facts: dict[str, Any]) -> list[str]:
    """What is in the way, in sentences, each with what to do.

    Args:
        facts: As `collect` gives them.
    """
    return [*_kernels(facts), *_cpus(facts), *_memory(facts), *_gpu(facts)]


def _kernels(facts: dict[str, Any]) -> Iterator[str]:
    wanted = facts["environment"].get("TORCH_DTS_SIMD", "")
    if wanted and wanted not in _SIMD_LEVELS:
        names = f"{', '.join(_SIMD_LEVELS[:-1])} or {_SIMD_LEVELS[-1]}"
        yield f"TORCH_DTS_SIMD is {display(wanted)!r}, which says nothing: set it to {names}, or not at all."
    elif facts["simd"] == "generic" and wanted == "generic":
        yield "TORCH_DTS_SIMD=generic keeps the fast kernels out: leave it out of the environment."
    elif facts["simd"] == "generic":
        yield (
            f"This CPU ({facts['cpu']['machine']}) has no AVX2: the slower generic kernels run. In a virtual "
            "machine, pass the host's CPU type on to it."
        )
    if facts["environment"].get("TORCH_DTS_CHECK_DECODER") == "1":
        yield "TORCH_DTS_CHECK_DECODER=1 has every JPEG decoded twice: leave it out of the environment."
    if facts["versions"]["CRC-32"] == "zlib":
        yield "CRC-32 comes from zlib, which is slower: install libdeflate's headers and build anew."


def _cpus(facts: dict[str, Any]) -> Iterator[str]:
    cpu = facts["cpu"]
    usable = cpu["allowed"] if cpu["quota"] is None else min(cpu["allowed"], cpu["quota"])
    if cpu["online"] is not None and usable < cpu["online"]:
        why = "its affinity" if cpu["allowed"] == usable else "the CPU quota of its control group"
        yield (
            f"This process may use {usable:g} of {num_of(cpu['online'], 'CPU')}, by {why}: give the "
            "container or job more where it is meant to have them."
        )
    if cpu["load"] is not None and cpu["online"] is not None and cpu["load"] > 1.5 * cpu["online"]:
        yield (
            f"{cpu['load']:.1f} processes or threads want {num_of(cpu['online'], 'CPU')}: figures "
            "measured now say little."
        )
    files = facts["limits"]["NOFILE"]
    if files is not None and files < _FEW_FILES:
        yield f"Only {files} files can be open at a time: raise it with 'ulimit -n 65536'."


def _memory(facts: dict[str, Any]) -> Iterator[str]:
    memory = facts["memory"]
    if memory["available"] and memory["available"] < _LITTLE_MEMORY:
        of_what = "the control group's limit" if memory["limit"] is not None else "the machine's memory"
        yield (
            f"Only {human_bytes(memory['available'])} of {of_what} are free: use mode='partial' with a small "
            "shuffle_window, such as 4."
        )
    if memory["huge_pages"] == "never":
        yield (
            "Transparent huge pages are off, which costs a little speed: as root, 'echo madvise > "
            "/sys/kernel/mm/transparent_hugepage/enabled'."
        )


def _gpu(facts: dict[str, Any]) -> Iterator[str]:
    cuda = facts["cuda"]
    if cuda["devices"] and cuda["problem"]:
        yield f"The GPU can't be used by torch_dts: {cuda['problem']}."


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, version in facts["versions"].items():
        yield name, version or "not installed"
    yield "module", f"{display(facts['module'])} loads"
    cuda = facts["cuda"]
    yield "CUDA of torch", cuda["of_torch"] or "none"
    built = "built" if cuda["kernels_built"] else "not built"
    yield "CUDA kernels", f"{built}, {'usable' if not cuda['problem'] else 'not usable'}"
    yield "GPUs", ", ".join(cuda["devices"]) or "none"
    cpu = facts["cpu"]
    yield "CPU", f"{cpu['model']}, kernels: {facts['simd']}"
    quota = "no quota" if cpu["quota"] is None else f"a quota of {cpu['quota']:g}"
    yield "CPUs", f"{cpu['online']}, {cpu['allowed']} of them allowed, {quota}; {cpu['threads']} threads"
    yield "NUMA nodes", str(cpu["numa_nodes"])
    memory = facts["memory"]
    total = "?" if memory["total"] is None else human_bytes(memory["total"])
    limit = "no limit" if memory["limit"] is None else f"limited to {human_bytes(memory['limit'])}"
    yield "memory", f"{total}, {limit}, {human_bytes(memory['available'])} available"
    yield "huge pages", memory["huge_pages"] or "not known"
    limits = facts["limits"]
    yield "open files", _plain(limits["NOFILE"])
    locked = limits["MEMLOCK"]
    yield "locked memory", "no limit" if locked is None else human_bytes(locked)
    yield "processes", _plain(limits["NPROC"])
    for name, value in facts["environment"].items():
        yield name, display(value)


def _plain(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit:,}"
