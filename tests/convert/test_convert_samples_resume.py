# SPDX-License-Identifier: Apache-2.0
"""convert(resume=True) killed at many points: the end is the same, finished work is not redone."""

from __future__ import annotations

import os
import pathlib
import signal
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image

import torch_dts
from torch_dts import _native
from torch_dts.convert import _recode
from torch_dts.convert._journal import Journal

Make = Callable[..., pathlib.Path]

# Where to die: whose call, and whether before it (else behind it).
_PLACES = {
    "check": (Journal, "note_check", True),
    "samples": (Journal, "add_samples", False),
    "spooled": (Journal, "add_samples", True),
    "block": (Journal, "add_block", False),
    "written": (Journal, "add_block", True),
    "finish": (_native, "writer_seal", True),
    "publish": (_native, "writer_publish", True),
    "remove": (Journal, "remove", True),
}


def kill(source: pathlib.Path, target: pathlib.Path, what: str, calls: int, **arguments: object) -> None:
    """Converts in a forked process that kills itself at a call of `what` behind the first `calls` ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads here
        child = os.fork()
    if child == 0:
        try:
            _die(source, target, what, calls, arguments)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _die(
    source: pathlib.Path, target: pathlib.Path, what: str, calls: int, arguments: dict[str, object]
) -> None:
    torch.set_num_threads(1)  # OpenMP's threads do not live on behind a fork
    _recode._CHUNK_SAMPLES = 3
    owner, name, before = _PLACES[what]
    work = getattr(owner, name)
    left = calls

    def dying(*args: object) -> object:
        nonlocal left
        left -= 1
        if left < 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = work(*args)
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)
    torch_dts.convert(source, target, resume=True, progress=False, **{"num_workers": 1, **arguments})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("resume") / "photos"
    for i in range(20):
        folder = root / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng(i).integers(0, 256, (12, 16, 3), dtype=np.uint8)
        image = Image.fromarray(values).resize((480, 445), Image.Resampling.BICUBIC)
        image.save(folder / f"{i}.png" if i == 5 else folder / f"{i}.jpg", comment=b"note")
    return root


@pytest.fixture
def blocks(tmp_path: pathlib.Path) -> pathlib.Path:
    """Five blocks' worth of files that are no images (for check="none")."""
    folder = tmp_path / "big" / "a"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"{number}.jpg").write_bytes(bytes([number, 1]) * (5 << 20))
    return folder.parent


@pytest.fixture
def recoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the samples that recoders get."""
    counts: list[int] = []
    recode = _recode.RecodeStage.recode_chunk

    def counting(self: _recode.RecodeStage, ranks: object) -> object:
        counts.append(ranks.numel())  # type: ignore[attr-defined]
        return recode(self, ranks)  # type: ignore[arg-type]

    monkeypatch.setattr(_recode.RecodeStage, "recode_chunk", counting)
    return counts


def outputs(folder: pathlib.Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if ".dts" in name)


@pytest.mark.parametrize(
    ("what", "calls", "left"),
    [
        ("check", 0, 20),
        ("spooled", 0, 20),
        ("samples", 0, 17),
        ("spooled", 4, 8),
        ("samples", 6, 0),
        ("block", 0, 0),
        ("finish", 0, 0),
        ("publish", 0, 0),
    ],
)
def test_levels(
    photos: pathlib.Path, tmp_path: pathlib.Path, recoded: list[int], what: str, calls: int, left: int
) -> None:
    torch_dts.convert(photos, tmp_path / "whole.dts", level=3, num_workers=1)
    assert sum(recoded) == 20
    target = tmp_path / "x.dts"
    kill(photos, target, what, calls, level=3)
    assert "x.dts" not in outputs(tmp_path)
    recoded.clear()
    report = torch_dts.convert(photos, target, level=3, resume=True, num_workers=2)
    assert sum(recoded) == left
    assert report.recoded is not None
    assert report.recoded.num_resumed == 20 - left
    assert report.recoded.num_recoded == 20
    assert report.num_resumed_blocks == (what in ("block", "finish", "publish"))
    assert target.read_bytes() == (tmp_path / "whole.dts").read_bytes()
    assert outputs(tmp_path) == ["whole.dts", "x.dts"]


def test_restart_markers_killed_twice(
    photos: pathlib.Path, tmp_path: pathlib.Path, recoded: list[int]
) -> None:
    whole = torch_dts.convert(photos, tmp_path / "whole.dts", restart_interval=4)
    target = tmp_path / "x.dts"
    for calls in (1, 2):
        kill(photos, target, "samples", calls, restart_interval=4)
    recoded.clear()
    report = torch_dts.convert(photos, target, restart_interval=4, resume=True)
    assert sum(recoded) == 20 - 6 - 9
    assert target.read_bytes() == (tmp_path / "whole.dts").read_bytes()
    first, second = whole.recoded, report.recoded
    assert first is not None
    assert second is not None
    assert (first.num_recoded, first.kept_original, first.dropped_segments) == (
        second.num_recoded,
        second.kept_original,
        second.dropped_segments,
    )


@pytest.mark.parametrize(
    ("what", "calls", "resumed"), [("written", 0, 0), ("block", 1, 2), ("written", 3, 3), ("finish", 0, 5)]
)
def test_blocks(blocks: pathlib.Path, tmp_path: pathlib.Path, what: str, calls: int, resumed: int) -> None:
    torch_dts.convert(blocks, tmp_path / "whole.dts", check="none")
    target = tmp_path / "x.dts"
    kill(blocks, target, what, calls, check="none")
    assert outputs(tmp_path) == ["whole.dts", "x.dts.journal", "x.dts.lock", "x.dts.partial"]
    report = torch_dts.convert(blocks, target, check="none", resume=True)
    assert report.num_resumed_blocks == resumed
    assert ("of an interrupted run" in str(report)) == (resumed > 0)
    assert target.read_bytes() == (tmp_path / "whole.dts").read_bytes()
    assert outputs(tmp_path) == ["whole.dts", "x.dts"]


@pytest.mark.parametrize("arguments", [{"level": 3}, {"check": "none"}])
@pytest.mark.parametrize(("what", "calls"), [("check", 0), ("block", 0), ("publish", 0)])
def test_one_volume_of_several(
    photos: pathlib.Path, tmp_path: pathlib.Path, arguments: dict[str, object], what: str, calls: int
) -> None:
    chosen = {"num_volumes": 2, "volume": 1, **arguments}
    (tmp_path / "whole").mkdir()
    whole = torch_dts.convert(photos, tmp_path / "whole" / "x.dts", **chosen)  # type: ignore[arg-type]
    kill(photos, tmp_path / "x.dts", what, calls, **chosen)
    name = "x-00001-of-00002.dts"
    assert f"{name}.journal" in outputs(tmp_path)
    report = torch_dts.convert(photos, tmp_path / "x.dts", resume=True, **chosen)  # type: ignore[arg-type]
    assert report.num_resumed_blocks == (what != "check")
    assert outputs(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == pathlib.Path(whole).read_bytes()


def test_all_volumes_clear_away_what_one_left(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    kill(photos, tmp_path / "x.dts", "samples", 2, num_volumes=2, volume=1, level=3)
    names = ["x-00000-of-00002.dts", "x-00001-of-00002.dts"]
    assert outputs(tmp_path) == [f"{names[1]}{end}" for end in (".journal", ".lock", ".samples")]
    torch_dts.convert(photos, tmp_path / "x.dts", num_volumes=2)
    assert outputs(tmp_path) == names


def test_a_partial_file_that_was_hurt(blocks: pathlib.Path, tmp_path: pathlib.Path) -> None:
    torch_dts.convert(blocks, tmp_path / "whole.dts", check="none")
    target = tmp_path / "x.dts"
    kill(blocks, target, "block", 3, check="none")
    with open(f"{target}.partial", "r+b") as file:
        file.seek((16 << 20) + 5000)
        file.write(b"hurt")
    report = torch_dts.convert(blocks, target, check="none", resume=True)
    assert report.num_resumed_blocks == 3
    assert target.read_bytes() == (tmp_path / "whole.dts").read_bytes()


def test_what_differs_is_named(blocks: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "x.dts"
    kill(blocks, target, "block", 1, check="none")
    (tmp_path / "x.dts.lock").unlink()
    before = [(tmp_path / name).read_bytes() for name in outputs(tmp_path)]
    with pytest.raises(ValueError, match=r"these differ: seed was 42, now 43\. Nothing was changed"):
        torch_dts.convert(blocks, target, check="none", resume=True, seed=43)
    (blocks / "a" / "1.jpg").write_bytes(b"other")
    with pytest.raises(
        ValueError, match=r"these differ: the samples themselves \(sizes, modification times\)"
    ):
        torch_dts.convert(blocks, target, check="none", resume=True)
    assert [(tmp_path / name).read_bytes() for name in outputs(tmp_path)] == before
    torch_dts.convert(blocks, target, check="none")
    assert outputs(tmp_path) == ["x.dts"]
    assert torch_dts.verify(target).ok


def test_killed_behind_the_end(blocks: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The file is there, its journal too: the next call goes by the file."""
    target = tmp_path / "x.dts"
    kill(blocks, target, "remove", 0, check="none")
    assert outputs(tmp_path) == ["x.dts", "x.dts.journal", "x.dts.lock"]
    whole = target.read_bytes()
    with pytest.raises(FileExistsError, match="exists"):
        torch_dts.convert(blocks, target, check="none", resume=True)
    report = torch_dts.convert(blocks, target, check="none", resume=True, overwrite=True)
    assert report.num_resumed_blocks == 0
    assert target.read_bytes() == whole
    assert outputs(tmp_path) == ["x.dts"]


@pytest.mark.parametrize("level", [0, 3])
def test_ctrl_c(
    photos: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, level: int
) -> None:
    def stop(*args: object, **kwargs: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(_native, "writer_write_block", stop)
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            torch_dts.convert(photos, tmp_path / "x.dts", level=level)
        assert outputs(tmp_path) == []
        with pytest.raises(
            KeyboardInterrupt, match=r"kept beside .*x\.dts; the same call with resume=True goes on"
        ):
            torch_dts.convert(photos, tmp_path / "x.dts", level=level, resume=True)
    assert outputs(tmp_path)[:2] == ["x.dts.journal", "x.dts.partial"]
    report = torch_dts.convert(photos, tmp_path / "x.dts", level=level, resume=True)
    assert torch_dts.verify(report).ok
    assert outputs(tmp_path) == ["x.dts"]
