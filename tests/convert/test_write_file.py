# SPDX-License-Identifier: Apache-2.0
"""The writer stage: header, sections, and which split a set is."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest
import torch

import torch_dts
from torch_dts._progress import Progress
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import plan_blocks
from torch_dts.convert._samples import Samples
from torch_dts.convert._stats import PixelStats
from torch_dts.convert._write_file import FileFacts, FileWriter, is_val_split

Make = Callable[..., pathlib.Path]


def samples_in(root: pathlib.Path) -> Samples:
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.jpg"))
    files = [str(root / name) for name in names]
    labels = torch.arange(len(names)) % 2
    return Samples(kind="X", files=files, labels=labels, classes=["a", "b"], names=names, root=str(root))


def test_header_and_sections(image_folder: Make, tmp_path: pathlib.Path) -> None:
    samples = samples_in(image_folder(classes={"a": 3}, size=(30, 20)))
    sizes = torch.tensor([os.path.getsize(path) for path in samples.files])
    kept = Kept(samples, torch.arange(3), sizes, samples.labels).select(torch.tensor([0, 2]))
    plan = plan_blocks(kept, 16 << 20, "source", 42)
    facts = FileFacts(level=2, is_val=True, max_area=0, source_bytes=16 << 20, info=b'{"x":1}')
    stats = PixelStats()
    with (
        FileWriter(str(tmp_path / "x.dts"), kept, plan, facts, overwrite=False) as file,
        Progress("writing", 1, False) as bar,
    ):
        totals = file.write(1, bar, stats=stats)
        file.normalize(stats.finish())
        file.seal()
        assert not (tmp_path / "x.dts").exists()
        file.publish()
    assert totals.max_area == 600
    with torch_dts.open(tmp_path / "x.dts") as file:
        header = file.header
        assert (header.compress_level, header.is_training, header.num_samples) == (2, 0, 2)
        assert (header.max_pic_area, header.compression_ratio) == (600, 2.0)
        assert header.normalize_mean == pytest.approx(stats.finish().mean.tolist())
        assert file.info == {"x": 1}
        assert list(file.paths) == [samples.names[0], samples.names[2]]
        assert bytes(file.read(1)) == pathlib.Path(samples.files[2]).read_bytes()
    assert (tmp_path / "x.dts").read_bytes()[16 << 20 :][:4] == b"LV2B"


def test_an_error_leaves_nothing(image_folder: Make, tmp_path: pathlib.Path) -> None:
    samples = samples_in(image_folder(classes={"a": 1}))
    os.unlink(samples.files[0])
    kept = Kept(samples, torch.arange(1), torch.tensor([10]), samples.labels)
    facts = FileFacts(level=0, is_val=False, max_area=0, source_bytes=1, info=b"{}")
    plan = plan_blocks(kept, 16 << 20, "source", 42)
    with (
        pytest.raises(FileNotFoundError, match=r"a/0\.jpg"),
        FileWriter(str(tmp_path / "x.dts"), kept, plan, facts, overwrite=False) as file,
        Progress("writing", 1, False) as bar,
    ):
        file.write(1, bar)
    assert [name for name in os.listdir(tmp_path) if ".dts" in name] == []


@pytest.mark.parametrize(
    ("folder", "split", "is_val"),
    [("val", None, True), ("x", None, False), ("val", "train", False), ("x", "val", True)],
)
def test_is_val_split(folder: str, split: str | None, is_val: bool) -> None:
    samples = Samples(kind="X", files=["f"], labels=torch.zeros(1), classes=["a"], names=["f"], root=folder)
    assert is_val_split(split, samples) is is_val
