# SPDX-License-Identifier: Apache-2.0
"""compat=True: whole files against a second exporter, written from the words of docs/convert.md."""

from __future__ import annotations

import io
import os
import pathlib
import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import torch_dts

BLOCK = 16 << 20


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Class folders whose file names mix; one name in two folders; bytes to fill two blocks."""
    root = tmp_path_factory.mktemp("compat") / "train"
    generator = np.random.default_rng(0)
    for i in range(24):
        folder = root / f"n{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / ("same.JPEG" if i in (4, 5) else f"{(i * 37) % 70:03d}.JPEG")
        shape = (
            (50, 60, 3)
            if i == 9
            else (int(generator.integers(420, 560)), int(generator.integers(420, 640)), 3)
        )
        image = Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8))
        image.convert("L" if i == 11 else "RGB").save(path, "JPEG", quality=70, comment=b"seen")
        if i % 2:  # decoders stop at the end of the picture
            with open(path, "ab") as file:
                file.write(generator.bytes(int(generator.integers(1_000_000, 2_000_000))))
    return root


def listed(root: pathlib.Path) -> list[tuple[str, int]]:
    """Sample ids: class folders, then names, then a stable sort by name."""
    found = [
        (os.path.join(root, folder, name), label)
        for label, folder in enumerate(sorted(os.listdir(root)))
        for name in sorted(os.listdir(root / folder))
    ]
    return sorted(found, key=lambda each: os.path.basename(each[0]))


def at_level(path: str, level: int) -> bytes:
    if level == 0:
        return pathlib.Path(path).read_bytes()
    with Image.open(path) as opened:
        image: Image.Image = opened
        width, height = image.size
        short = min(width, height)
        if short > (400 if level == 1 else 440):
            scale = 400.0 / short
            width, height = int(width * scale), int(height * scale)
            image = image.resize((width, height), Image.LANCZOS)  # type: ignore[attr-defined]
        if level > 1:
            final = (
                (min(width, 600), min(height, 400)) if width > height else (min(width, 400), min(height, 600))
            )
            left, top = (width - final[0]) // 2, (height - final[1]) // 2
            image = image.crop((left, top, left + final[0], top + final[1]))
        if image.mode in ("RGBA", "LA", "P"):
            image = image.convert("RGB")
        out = io.BytesIO()
        image.save(out, "JPEG", quality=80 if level == 3 else 90)
    return out.getvalue()


def packed(sizes: list[int], level: int, min_blocks: int) -> list[list[int]]:
    cap = BLOCK - (16384 if level else 4096)
    samples = [[i, (size + 63) // 64 * 64] for i, size in enumerate(sizes)]
    if level:
        random.seed(42)
        random.shuffle(samples)
        blocks: list[list[list[int]]] = [[]]
        for sample in samples:
            if sum(size for _, size in blocks[-1]) + sample[1] > cap:
                blocks.append([])
            blocks[-1].append(sample)
        return [[i for i, _ in block] for block in blocks]
    samples.sort(key=lambda s: s[1])
    blocks = [[samples.pop()] for _ in range(min_blocks)]
    random.seed(42)
    random.shuffle(samples)
    for block in blocks:
        while sum(size for _, size in block) + samples[-1][1] <= cap:
            block.append(samples.pop())
    for _ in range(32):
        order = sorted([cap - sum(size for _, size in block), block] for block in blocks)
        blocks = [block for _, block in order]  # type: ignore[misc]
        samples.sort(key=lambda s: s[1], reverse=True)
        for room, block in order:
            if samples[-1][1] <= room:  # type: ignore[operator]
                block.append(samples.pop())  # type: ignore[attr-defined]
    random.seed(42)
    random.shuffle(samples)
    blocks.append([]) if not blocks else None
    while samples:
        if sum(size for _, size in blocks[-1]) + samples[-1][1] > cap:
            blocks.append([])
        blocks[-1].append(samples.pop())
    return [[i for i, _ in block] for block in blocks]


def block_area(root: pathlib.Path, level: int, min_blocks: int) -> bytes:
    samples = [(at_level(path, level), label) for path, label in listed(root)]
    area = b""
    for number, chosen in enumerate(packed([len(data) for data, _ in samples], level, min_blocks)):
        header_bytes = 16384 if level else 4096
        body, offsets = b"", []
        for i in chosen:
            offsets.append(header_bytes + len(body))
            data = samples[i][0]
            body += data + bytes(-len(data) % 64)
        head = struct.pack("<4sII", b"LV%dB" % level, number, len(chosen))
        head += struct.pack(f"<{len(chosen)}I", *offsets)
        head += struct.pack(f"<{len(chosen)}I", *(len(samples[i][0]) for i in chosen))
        head += struct.pack(f"<{len(chosen)}I", *(samples[i][1] for i in chosen))
        area += (head.ljust(header_bytes, b"\0") + body).ljust(BLOCK, b"\0")
    return area


@pytest.mark.parametrize(("level", "min_blocks"), [(0, 1), (1, None), (3, None)])
def test_the_block_area_is_its_own(
    photos: pathlib.Path, tmp_path: pathlib.Path, level: int, min_blocks: int | None
) -> None:
    report = torch_dts.convert(
        photos, tmp_path, level=level, compat=True, min_blocks=min_blocks, num_workers=2
    )
    assert report.path == str(tmp_path / f"imagenet_train_lv{level}.dts")
    assert report.packing_note == ""
    expected = block_area(photos, level, min_blocks or 0)
    data = pathlib.Path(report.path).read_bytes()
    assert data[BLOCK:] == expected
    header = struct.unpack_from("<4s4B8s4I", data)
    assert header == (b".DTS", 3, 0, 0, 0, b"IMAGENET", 1, level, 0, 3)
    assert struct.unpack_from("<I", data, 140) == (zlib.crc32(expected),)
    assert struct.unpack_from("<IIQ", data, 64) == (len(expected) // BLOCK,) * 2 + (len(data),)
    assert report.num_blocks == len(expected) // BLOCK
    assert torch_dts.verify(report).ok


def test_ours_reads_it_as_the_folder(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", level=1, compat=True, num_workers=2)
    names = sorted(path.relative_to(photos).as_posix() for path in photos.rglob("*.JPEG"))
    with torch_dts.open(report) as file:
        assert list(file.paths) == names
        assert file.info["compat"] is True
        assert file.info["restart_interval"] is None
        for i, name in enumerate(names):
            assert bytes(file.read(i)) == at_level(str(photos / name), 1)
            assert file.classes[int(file.labels[i])] == name.split("/")[0]


def test_a_set_that_its_packing_fails_on(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", compat=True, min_blocks=23)
    assert report.packing_note == "its own fails on this set with min_blocks=23"
    assert "packing   ours: its own fails on this set with min_blocks=23" in str(report)
    with torch_dts.open(report) as file:
        assert file.header.version == (3, 0, 0, 0)
    assert torch_dts.verify(report).ok


def test_sections_that_do_not_fit_are_left_out(
    photos: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch_dts.convert import _write_file

    with torch_dts.open(torch_dts.convert(photos, tmp_path / "all.dts", compat=True, num_workers=1)) as file:
        sizes = {section.tag: (section.stored_bytes + 63) // 64 * 64 for section in file.sections}
        own = 12 * file.header.num_blocks + 4 * len(file)
    steps = [["INFO"], ["CLSS"], ["LABL", "ORDR"], ["PATH"]]
    for count in range(1, 5):
        tags = [tag for step in steps[:count] for tag in step]
        room = own + sum(sizes[tag] for tag in tags)
        monkeypatch.setattr(_write_file, "_HEADER_ROOM", room)
        report = torch_dts.convert(photos, tmp_path / f"{count}.dts", compat=True, num_workers=1)
        with torch_dts.open(report) as file:
            assert {section.tag for section in file.sections} == {"HEAD", "BIDX", "SIZE", *tags}
            assert file.file_bytes == (1 + report.num_blocks) * BLOCK
            assert len(file) == 24
