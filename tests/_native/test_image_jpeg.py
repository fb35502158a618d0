# SPDX-License-Identifier: Apache-2.0
import errno
import pathlib
from typing import Any

import pytest
import torch

from torch_dts import _native


def test_probe_files_sees_what_pil_sees(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    samples = [s for s in odd_expected["samples"] if s["pil"]["ok"] and s["pil"]["format"] in ("JPEG", "MPO")]
    rows = _native.probe_files([odd_images / s["path"] for s in samples]).tolist()
    for sample, (kind, size, width, height, components) in zip(samples, rows, strict=True):
        pil = sample["pil"]
        assert (kind, size, width, height) == (1, sample["bytes"], pil["width"], pil["height"]), sample[
            "path"
        ]
        assert components == {"L": 1, "RGB": 3, "CMYK": 4}[pil["mode"]], sample["path"]


def test_probe_files_leaves_the_rest_to_pil(tmp_path: pathlib.Path, odd_images: pathlib.Path) -> None:
    paths = [
        odd_images / "png" / "la.png",
        odd_images / "names" / "empty.jpg",
        tmp_path / "missing",
        tmp_path,
    ]
    rows = _native.probe_files(paths).tolist()
    assert rows[0][:2] == [0, paths[0].stat().st_size]
    assert rows[1] == [0, 0, 0, 0, 0]
    assert [row[0] for row in rows[2:]] == [-errno.ENOENT, -errno.EISDIR]


def test_probe_no_files() -> None:
    assert _native.probe_files([]).shape == (0, 5)


def test_scan_samples(odd_images: pathlib.Path) -> None:
    names = [
        "sampling/s422.jpeg",
        "tail/no_eoi.jpg",
        "tail/cut_at_60_percent.jpg",
        "tail/garbage_after_eoi.jpg",
        "png/la.png",
        "names/empty.jpg",
    ]
    datas = [(odd_images / name).read_bytes() for name in names]
    arena = torch.frombuffer(bytearray(b"".join(datas)), dtype=torch.uint8)
    sizes = torch.tensor([len(data) for data in datas])
    offsets = sizes.cumsum(0) - sizes
    rows = _native.scan_samples(arena, offsets, sizes)
    assert rows[:, 0].tolist() == [1, 1, 1, 1, 0, 0]
    assert rows[:, 3].tolist() == [1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(("offset", "size"), [(-1, 2), (9, 2), (0, -1), (2**62, 2**62)])
def test_scan_samples_checks_bounds(offset: int, size: int) -> None:
    with pytest.raises(IndexError, match=r"sample 0 .*outside of the arena of 10 bytes"):
        _native.scan_samples(torch.zeros(10, dtype=torch.uint8), torch.tensor([offset]), torch.tensor([size]))
