# SPDX-License-Identifier: Apache-2.0
"""What others see: public names and signatures, the list of ops, the module's symbols."""

from __future__ import annotations

import inspect
import pathlib
import shutil
import subprocess
from typing import Any

import pytest
import torch

import torch_dts
from torch_dts import _C, _native

MODULE = pathlib.Path(_C.__file__)

SIGNATURES = {
    "convert": """(source, path=None, *, level=0, split=None, class_to_idx=None, allow_empty=False,
        order='shuffled', seed=42, check='header', on_error='raise', overwrite=False, encoding='jpeg',
        max_size=None, restart_interval='default', block_size=None, num_volumes=1, volume=None, resume=False,
        compat=False, min_blocks=None, metadata='needed', raw_fraction=None, raw_max_pixels=None, labels=None,
        targets=None, stats=False, num_workers=None, progress=None)""",
    "open": "(path, *, verify='blocks', ignore_sections=False)",
    "DTSFile": "(path, *, verify='blocks', ignore_sections=False)",
    "DTSDataset": "(path, transform=None, target_transform=None, *, loader=None, root=None, verify='blocks')",
    "DTSIterableDataset": """(path, transform=None, target_transform=None, *, shuffle=True, seed=None,
        shuffle_window=16, batch_size=None, num_replicas=None, rank=None, drop_last=False,
        uneven='fill', verify='blocks')""",
    "DataLoader": """(dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=None,
        collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
        multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
        pin_memory_device='', in_order=True, transform=None, seed=None, mode='auto', shuffle_window=None,
        reproducible=True, decode='exact', dtype=None, memory_format=None, return_index=False,
        on_error='raise', verify='blocks', num_replicas=None, rank=None, distributed=False, uneven='fill',
        last_batch='partial', order='shuffled', return_mask=None, views=1, repeat=1, device=None,
        devices=None, pad_channels=None, static_buffers=False, backend='auto',
        reader_threads=None, pin_threads=False, share_buffers_with=None,
        decoder='auto')""",
    "CorruptFileError": "(path, offset=None, problem='')",
    "extract": "(path, directory, *, overwrite=False, indices=None, num_workers=None, progress=None)",
    "verify": "(path, *, num_workers=None, progress=None)",
}


def describe(function: Any) -> str:
    """Names, kinds and defaults of the parameters, without annotations."""
    signature = inspect.signature(function)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def test_public_names() -> None:
    assert sorted(torch_dts.__all__) == sorted([*SIGNATURES, "__version__", "transforms"])
    assert len(torch_dts.__all__) <= 12


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signature(name: str) -> None:
    assert describe(getattr(torch_dts, name)) == " ".join(SIGNATURES[name].split())


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_public_names_have_a_docstring(name: str) -> None:
    documented = getattr(torch_dts, name)
    assert len((documented.__doc__ or "").split()) >= 5
    assert documented.__doc__ != getattr(documented, "__base__", object).__doc__


def test_each_op_is_in_exactly_one_list() -> None:
    registered = {
        schema.name.removeprefix("torch_dts::")
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("torch_dts::")
    }
    assert set(_native.TENSOR_OPS) & set(_native.STATEFUL_OPS) == set()
    listed = [*_native.TENSOR_OPS, *_native.STATEFUL_OPS]
    assert sorted(listed) == sorted(registered)


@pytest.mark.parametrize("name", _native.TENSOR_OPS)
def test_tensor_ops_have_a_fake_kernel(name: str) -> None:
    entry = torch._library.simple_registry.singleton.find(f"torch_dts::{name}")
    assert entry.fake_impl.kernel is not None


def run(*command: str) -> str:
    assert shutil.which(command[0]), f"{command[0]} (binutils) is needed, as for building"
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_module_is_abi3() -> None:
    assert MODULE.name == "_C.abi3.so"


def test_the_module_uses_only_the_stable_abi() -> None:
    undefined = run("nm", "-D", "--undefined-only", "--demangle", str(MODULE)).splitlines()
    assert [line for line in undefined if any(space in line for space in ("c10::", "at::", "torch::"))] == []
    assert any("aoti_torch_" in line for line in undefined)


def test_the_module_needs_neither_python_nor_torchs_python_library() -> None:
    needed = [line for line in run("objdump", "-p", str(MODULE)).splitlines() if "NEEDED" in line]
    assert any("libc.so" in line for line in needed)
    assert [line for line in needed if "libpython" in line or "libtorch_python" in line] == []


def test_python_symbols_are_of_the_limited_api() -> None:
    undefined = run("nm", "-D", "--undefined-only", str(MODULE)).split()
    assert {name for name in undefined if name.startswith(("Py", "_Py"))} <= {"PyModule_Create2"}
