# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of this folder import the helpers beside them, and makes what several of them read."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """A folder of 30 pictures."""
    from building import jpeg
    from volume_sets import CLASSES

    root = tmp_path_factory.mktemp("pictures") / "images"
    seed = 100
    for name, count in CLASSES.items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            (root / name / f"{i:02}.jpg").write_bytes(jpeg(seed))
            seed += 1
    return root


@pytest.fixture(scope="session")
def volumes(pictures, tmp_path_factory):
    """Its three volumes, to be read only."""
    from volume_sets import make_set

    return make_set(tmp_path_factory.mktemp("volumes"), pictures, 3)
