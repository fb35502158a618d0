# SPDX-License-Identifier: Apache-2.0
"""The double of the tests answers the calls that the real ones do; tests/gpu runs those."""

from __future__ import annotations

import inspect

from cuda_double import CpuCalls

from torch_dts.loader._cuda_calls import CudaCalls, StageCalls


def test_real_calls_and_the_double_take_the_same_arguments() -> None:
    names = [name for name in vars(StageCalls) if not name.startswith("_")]
    assert len(names) == 9
    for name in names:
        expected = list(inspect.signature(getattr(StageCalls, name)).parameters)
        for other in (CudaCalls, CpuCalls):
            assert list(inspect.signature(getattr(other, name)).parameters) == expected, name
