# SPDX-License-Identifier: Apache-2.0
"""Volumes of samples that are encoded anew: export levels and restart markers."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import torch_dts
from torch_dts.convert import BadSamplesError, _recode
from torch_dts.convert._volumes import split_ranks
from torch_dts.file._find_files import ExactFiles

Make = Callable[..., pathlib.Path]
NUM_SAMPLES = 14
WAYS: list[dict[str, Any]] = [
    {"level": 2},
    {"restart_interval": "auto"},
    {"encoding": "mixed", "raw_fraction": 0.5, "max_size": 300},
]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """JPEGs, some of them larger than level 2 leaves them, and PNGs, which markers leave as they are."""
    root = tmp_path_factory.mktemp("recoded") / "photos"
    for i in range(NUM_SAMPLES):
        folder = root / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng(i).integers(0, 256, (12, 16, 3), dtype=np.uint8)
        image = Image.fromarray(values).resize((480 - 20 * i, 460), Image.Resampling.BICUBIC)
        image.save(folder / (f"{i:02}.png" if i % 3 == 0 else f"{i:02}.jpg"))
    return root


@pytest.fixture
def damaged(photos: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """The same, with a JPEG that ends too early (sample 4 of 14), which only decoding shows."""
    root = tmp_path / "damaged"
    for path in photos.rglob("*.*"):
        target = root / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        target.write_bytes(data[: len(data) // 2] if path.name == "08.jpg" else data)
    return root


def convert(folder: object, path: pathlib.Path, **options: Any) -> Any:
    path.parent.mkdir(exist_ok=True)
    return torch_dts.convert(folder, path, progress=False, **options)


def samples_of(path: os.PathLike[str] | str) -> list[bytes]:
    with torch_dts.open(path) as file:
        return [bytes(file.read(i)) for i in range(len(file))]


def contents(path: str) -> tuple[bytes, dict[str, Any], list[int], list[str]]:
    """A volume by itself: all behind its header area, and what its sections say."""
    with torch_dts.open(ExactFiles((path,))) as file:
        behind = pathlib.Path(path).read_bytes()[1 << 24 :]
        return behind, file.info, file.source_index.tolist(), list(file.paths)


@pytest.mark.parametrize("way", WAYS)
def test_the_set_is_the_file_cut_up(
    photos: pathlib.Path, tmp_path: pathlib.Path, way: dict[str, Any]
) -> None:
    one = convert(photos, tmp_path / "one.dts", **way)
    cut = convert(photos, tmp_path / "set" / "x.dts", num_volumes=3, **way)
    assert samples_of(cut) == samples_of(one)
    assert torch_dts.verify(cut).ok
    assert cut.recoded == one.recoded
    assert (cut.stored_bytes, cut.source_bytes) == (one.stored_bytes, one.source_bytes)
    with torch_dts.open(one) as file, torch_dts.open(cut) as volumes:
        info = dict(volumes.info)
        assert len(info.pop("set")) == 64
        assert info == file.info
        assert volumes.header.max_pic_area == file.header.max_pic_area
        assert volumes.labels.tolist() == file.labels.tolist()
        assert list(volumes.paths) == list(file.paths)
    ranks = split_ranks(NUM_SAMPLES, 3, "shuffled", 42)
    assert [contents(path)[2] and sorted(contents(path)[2]) for path in cut.paths] == [
        own.tolist() for own in ranks
    ]
    for path in cut.paths:
        own_bytes = sum((photos / name).stat().st_size for name in contents(path)[3])
        with torch_dts.open(ExactFiles((path,))) as file:
            assert file.header.compression_ratio == pytest.approx(file.file_bytes / own_bytes, rel=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_one_by_one(
    photos: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    whole = convert(photos, tmp_path / "whole" / "x.dts", num_volumes=3, **way)
    encoded: list[int] = []
    recode = _recode.RecodeStage.recode_chunk
    monkeypatch.setattr(
        _recode.RecodeStage,
        "recode_chunk",
        lambda stage, ranks: (encoded.extend(stage._kept.numbers[ranks].tolist()), recode(stage, ranks))[1],
    )
    for volume in (2, 0, 1):
        encoded.clear()
        alone = convert(
            photos, tmp_path / "alone" / "x.dts", num_volumes=3, volume=volume, num_workers=1, **way
        )
        assert sorted(encoded) == split_ranks(NUM_SAMPLES, 3, "shuffled", 42)[volume].tolist()
        assert contents(alone.paths[0]) == contents(whole.paths[volume])
    with torch_dts.open(tmp_path / "alone") as file, torch_dts.open(whole) as other:
        assert file.info == other.info
    os.unlink(whole.paths[1])
    changed = {**way, "max_size": 250}
    with pytest.raises(ValueError, match=r"x-00000-of-00003\.dts is a volume of another set"):
        convert(photos, tmp_path / "whole" / "x.dts", num_volumes=3, volume=1, **changed)


def test_what_is_kept_is_counted_by_volume(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    cut = convert(photos, tmp_path / "x.dts", num_volumes=2, order="source", restart_interval=4)
    reason = "no JPEG, or one only Pillow can judge"
    counts = []
    for path in cut.paths:
        _, info, _, paths = contents(path)
        counts.append(info["kept_original"][reason])
        assert counts[-1] == sum(name.endswith(".png") for name in paths)
    with torch_dts.open(cut) as file:
        assert file.info["kept_original"] == {reason: sum(counts)} == {reason: 5}
    pngs = [(str(path), 0) for path in sorted(photos.rglob("*.png"))]
    jpegs = [(str(path), 0) for path in sorted(photos.rglob("*.jpg"))[:5]]
    mixed = convert([*pngs, *jpegs], tmp_path / "y.dts", num_volumes=2, order="source", restart_interval=4)
    kept = [contents(path)[1]["bytes_kept"] for path in mixed.paths]
    assert kept == [True, False]
    with torch_dts.open(mixed) as file:
        assert file.info["bytes_kept"] is False


def test_damage_that_encoding_shows_stops_one_volume(damaged: pathlib.Path, tmp_path: pathlib.Path) -> None:
    options = {"num_volumes": 2, "level": 1, "on_error": "skip", "order": "source"}
    with pytest.raises(BadSamplesError, match=r"level 1 found this, in one volume.*check='decode'") as found:
        convert(damaged, tmp_path / "x.dts", volume=0, **options)
    assert [bad.index for bad in found.value.bad] == [4]
    assert [name for name in os.listdir(tmp_path) if ".dts" in name] == []
    # The other one can't know, and has another id than a set that lacks the sample.
    other = convert(damaged, tmp_path / "x.dts", volume=1, **options)
    set_id = contents(other.paths[0])[1]["set"]
    whole = convert(damaged, tmp_path / "whole" / "x.dts", **options)
    assert [bad.index for bad in whole.skipped] == [4]
    assert contents(whole.paths[1])[1]["set"] != set_id
    with torch_dts.open(whole) as file:
        assert sorted(file.source_index.tolist()) == list(range(NUM_SAMPLES - 1))
        assert "a/08.jpg" not in list(file.paths)
        assert file.info["source"]["num_skipped"] == 1
    # Kept, it has its number everywhere.
    options["on_error"] = "keep"
    kept = convert(damaged, tmp_path / "kept" / "x.dts", **options)
    alone = convert(damaged, tmp_path / "x.dts", volume=0, **options)
    assert [bad.index for bad in alone.kept_bad] == [bad.index for bad in kept.kept_bad] == [4]
    assert contents(alone.paths[0]) == contents(kept.paths[0])


def test_what_became_larger_than_a_block(tmp_path: pathlib.Path) -> None:
    items = [(Image.new("RGB", size), 0) for size in ((8, 8), (2400, 2400), (8, 8), (8, 8))]
    options = {"num_volumes": 2, "encoding": "raw", "on_error": "skip", "order": "source"}
    with pytest.raises(
        BadSamplesError, match=r"1 of 4 .*In the calls of all volumes: block_size=32 \* 2\*\*20 or more"
    ) as found:
        convert(items, tmp_path / "x.dts", volume=0, **options)
    assert [bad.index for bad in found.value.bad] == [1]
    for volume in range(2):
        convert(items, tmp_path / "x.dts", volume=volume, block_size=32 << 20, **options)
    assert torch_dts.verify(tmp_path).ok


def test_nothing_but_damage(damaged: pathlib.Path, tmp_path: pathlib.Path) -> None:
    bad = [((damaged / "a" / "08.jpg").read_bytes(), 0)] * 2
    with pytest.raises(ValueError, match="no samples are left: all 2 of the source are bad"):
        convert(bad, tmp_path / "x.dts", level=1, on_error="skip")
    good = [((damaged / "a" / "04.jpg").read_bytes(), 0)] * 2
    chosen = {"num_volumes": 2, "order": "source", "level": 1, "on_error": "skip"}
    with pytest.raises(BadSamplesError, match=r"2 of 4 samples .* level 1 found this, in one volume"):
        convert(good + bad, tmp_path / "x.dts", volume=1, **chosen)
    with pytest.raises(ValueError, match="num_volumes=3 is more than the 1 sample of"):
        convert(good[1:] + bad, tmp_path / "x.dts", **{**chosen, "num_volumes": 3})


def test_damage_found_before_is_skipped_by_all(damaged: pathlib.Path, tmp_path: pathlib.Path) -> None:
    options = {"num_volumes": 2, "level": 1, "on_error": "skip", "check": "decode"}
    whole = convert(damaged, tmp_path / "whole" / "x.dts", **options)
    for volume in range(2):
        alone = convert(damaged, tmp_path / "alone" / "x.dts", volume=volume, **options)
        assert [bad.index for bad in alone.skipped] == [4]
        assert contents(alone.paths[0]) == contents(whole.paths[volume])
    with torch_dts.open(tmp_path / "alone") as file:
        assert len(file) == NUM_SAMPLES - 1


def test_a_failure_leaves_nothing(
    photos: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(_recode.RecodeStage, "put_aside", failing)
    for volume in (None, 1):
        with pytest.raises(OSError, match="No space left"):
            convert(photos, tmp_path / "x.dts", num_volumes=2, volume=volume, level=3)
    assert os.listdir(tmp_path) == []
