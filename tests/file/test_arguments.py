# SPDX-License-Identifier: Apache-2.0
import pytest

from torch_dts.file._arguments import check_bool, check_callable, check_verify


def test_bools():
    assert check_bool("overwrite", True) is True
    assert check_bool("overwrite", False) is False
    for wrong in (1, 0, "no", None):
        with pytest.raises(TypeError, match=f"overwrite is {wrong!r}, expected True or False"):
            check_bool("overwrite", wrong)


def test_callables():
    assert check_callable("transform", None) is None
    assert check_callable("transform", len) is len
    with pytest.raises(TypeError, match="transform is 5, expected a callable or None"):
        check_callable("transform", 5)


def test_verify():
    assert [check_verify(value) for value in ("blocks", "file", False)] == ["blocks", "file", False]
    for wrong in (0, None, True, "all"):
        with pytest.raises(ValueError, match=f"verify is {wrong!r}, expected 'blocks', 'file' or False"):
            check_verify(wrong)
