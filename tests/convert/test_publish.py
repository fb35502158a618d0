# SPDX-License-Identifier: Apache-2.0
"""Sets of volumes get their names together; old sets are not lost on the way."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import torch_dts
from torch_dts import _native
from torch_dts.convert._publish import refuse_replaced, take_back

Make = Callable[..., pathlib.Path]
COUNT = 3


def convert(root: object, path: pathlib.Path, seed: int, **options: Any) -> Any:
    options = {"num_volumes": COUNT, "overwrite": True, **options}
    return torch_dts.convert(root, path, seed=seed, progress=False, **options)


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("x-*")}


@pytest.fixture
def root(image_folder: Make) -> pathlib.Path:
    return image_folder(classes={"a": 4, "b": 3})


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("what", ["publish", "rename"])
@pytest.mark.parametrize("calls", range(COUNT))
def test_a_failure_puts_the_old_set_back(
    root: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    is_resumed: bool,
    what: str,
    calls: int,
) -> None:
    convert(root, tmp_path / "x.dts", 1)
    before = contents(tmp_path)
    owner, name = {"publish": (_native, "writer_publish"), "rename": (os, "rename")}[what]
    work = getattr(owner, name)
    left = calls

    def failing(*args: Any) -> Any:
        nonlocal left
        left -= 1
        if left == -1:
            raise OSError("no more")
        return work(*args)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        with pytest.raises(OSError, match="no more"):
            convert(root, tmp_path / "x.dts", 2, resume=is_resumed)
    found = contents(tmp_path)
    assert {name: found.pop(name) for name in before} == before
    endings = sorted(path.rpartition(".")[2] for path in found)
    assert endings == (["journal", "partial", "partial", "partial"] if is_resumed else [])
    report = convert(root, tmp_path / "x.dts", 2, resume=is_resumed)
    assert report.num_resumed_blocks == (COUNT if is_resumed else 0)
    with torch_dts.open(report) as file:
        assert file.info["seed"] == 2
    assert len(contents(tmp_path)) == COUNT
    assert torch_dts.verify(report).ok


def test_what_was_put_aside_is_not_replaced(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    aside = tmp_path / "x-00001-of-00003.dts.replaced"
    aside.write_bytes(b"old")
    message = r"was put aside .* rename it to 'x-00001-of-00003\.dts' to have the old volume back"
    with pytest.raises(FileExistsError, match=message):
        convert(root, tmp_path / "x.dts", 1)
    assert contents(tmp_path) == {aside.name: b"old"}
    refuse_replaced([str(tmp_path / "x-00000-of-00003.dts")])


def test_nothing_to_take_back(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / "x0", tmp_path / "x1"]
    for path in paths:
        path.write_bytes(b"of somebody else")
    take_back(list(map(str, paths)))
    (tmp_path / "x0.journal").write_bytes(b"no journal")
    take_back(list(map(str, paths)))
    assert sorted(os.listdir(tmp_path)) == ["x0", "x0.journal", "x1"]
