# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the examples, and the processes they start, find what they share."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
BENCHMARKS = pathlib.Path(__file__).parents[2] / "examples" / "benchmarks"


@pytest.fixture(scope="module")
def benchmark_module() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a benchmark by its name; what it imported beside itself is forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if BENCHMARKS in pathlib.Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]
