# SPDX-License-Identifier: Apache-2.0
"""Levels 1 to 3 end to end: what the file holds, and that everything reads it."""

from __future__ import annotations

import io
import os
import pathlib
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.convert import BadSamplesError
from torch_dts.convert._levels import export_image

SIZES = [(500, 450), (700, 460), (460, 800), (300, 200), (900, 420)]


def picture(width: int, height: int, seed: int) -> Image.Image:
    values = np.random.default_rng(seed).integers(
        0, 256, (height // 16 + 2, width // 16 + 2, 3), dtype=np.uint8
    )
    return Image.fromarray(values).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """JPEGs of several kinds, and PNGs of modes that become RGB."""
    root = tmp_path_factory.mktemp("levels") / "photos"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
    for i, size in enumerate(SIZES):
        picture(*size, i).save(root / "a" / f"{i}.jpg", quality=95, progressive=i == 1, subsampling=i % 3)
        picture(*size, i + 10).save(root / "b" / f"{i}.jpg", quality=80)
    picture(600, 500, 50).convert("L").save(root / "a" / "gray.jpg")
    picture(600, 500, 51).convert("CMYK").save(root / "a" / "print.jpg")
    picture(600, 500, 52).convert("RGBA").save(root / "b" / "alpha.png")
    picture(600, 500, 53).quantize(32).save(root / "b" / "palette.png")
    return root


@pytest.fixture(scope="module", params=[1, 2, 3])
def converted(
    request: pytest.FixtureRequest, photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, torch_dts.DTSFile]]:
    path = tmp_path_factory.mktemp("files") / "x.dts"
    with torch_dts.open(torch_dts.convert(photos, path, level=request.param, num_workers=2)) as file:
        yield request.param, file


def decoded(data: bytes | memoryview) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def test_pixels_are_pillow_s(photos: pathlib.Path, converted: tuple[int, torch_dts.DTSFile]) -> None:
    level, file = converted
    folder = ImageFolder(photos)
    assert list(file.paths) == [os.path.relpath(path, photos) for path, _ in folder.samples]
    assert file.labels.tolist() == folder.targets
    stored_bytes = pillow_bytes = 0
    for i, (path, _) in enumerate(folder.samples):
        pillow = export_image(pathlib.Path(path).read_bytes(), level)
        stored = bytes(file.read(i))
        assert np.array_equal(decoded(stored), decoded(pillow)), path
        assert stored != pillow
        assert b"\xff\xdd\0\4" in stored[:1000], "no restart interval"
        stored_bytes += len(stored)
        pillow_bytes += len(pillow)
    # The set is small and smooth; photos are measured by the benchmarks.
    assert stored_bytes < 1.05 * pillow_bytes


def test_header_and_info(photos: pathlib.Path, converted: tuple[int, torch_dts.DTSFile]) -> None:
    level, file = converted
    header = file.header
    assert (header.compress_level, header.block_header_size, header.version) == (level, 16384, (3, 0, 0, 0))
    assert header.max_pic_area == max(
        decoded(file.read(i)).shape[0] * decoded(file.read(i)).shape[1] for i in range(len(file))
    )
    source_bytes = sum(path.stat().st_size for path in photos.rglob("*.*"))
    assert header.compression_ratio == pytest.approx(file.file_bytes / source_bytes, rel=1e-6)
    info = file.info
    assert (info["level"], info["bytes_kept"], info["restart_interval"]) == (level, False, "auto")
    assert info["encoder"].startswith("Pillow ")
    with open(file.path, "rb") as raw:
        raw.seek(16 << 20)
        assert raw.read(4) == b"LV%dB" % level


def test_everything_reads_it(
    photos: pathlib.Path, converted: tuple[int, torch_dts.DTSFile], tmp_path: pathlib.Path
) -> None:
    level, file = converted
    assert torch_dts.verify(file.path).ok
    dataset = torch_dts.DTSDataset(file.path)
    for i, (path, label) in enumerate(ImageFolder(photos).samples):
        image, number = dataset[i]
        with Image.open(io.BytesIO(export_image(pathlib.Path(path).read_bytes(), level))) as expected:
            assert np.array_equal(np.asarray(image), np.asarray(expected.convert("RGB")))
        assert number == label
    stored = list(torch_dts.DTSIterableDataset(file.path, shuffle=False))
    assert [label for _, label in stored] == file.labels[file.source_index].tolist()
    report = torch_dts.extract(file.path, tmp_path / "out")
    assert report.bytes_kept is False
    assert "not the bytes of the original files" in str(report)
    assert (tmp_path / "out" / "b" / "alpha.png").read_bytes() == bytes(
        file.read(list(file.paths).index("b/alpha.png"))
    )


def test_the_loader_reads_it(converted: tuple[int, torch_dts.DTSFile]) -> None:
    from torchvision.transforms import CenterCrop, Compose, PILToTensor

    _, file = converted
    transform = Compose([CenterCrop((190, 180)), PILToTensor()])
    dataset = torch_dts.DTSDataset(file.path, transform=transform)
    loader = torch_dts.DataLoader(dataset, batch_size=4, num_workers=2)
    images = torch.cat([images for images, _ in loader])
    expected = torch.stack([dataset[i][0] for i in range(len(dataset))])
    assert images.equal(expected)


def test_any_number_of_workers(
    photos: pathlib.Path, converted: tuple[int, torch_dts.DTSFile], tmp_path: pathlib.Path
) -> None:
    level, file = converted
    for num_workers in (1, 3):
        path = tmp_path / f"{num_workers}.dts"
        torch_dts.convert(photos, path, level=level, num_workers=num_workers)
        assert path.read_bytes() == pathlib.Path(file.path).read_bytes()


def test_report(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", level=3, restart_interval=None)
    with torch_dts.open(report) as file:
        assert report.stored_bytes == int(file.sizes.sum())
        assert file.info["restart_interval"] is None
        assert all(b"\xff\xdd\0\4" not in bytes(file.read(i))[:1000] for i in range(len(file)))
    assert report.source_bytes == sum(path.stat().st_size for path in photos.rglob("*.*"))
    assert report.recoded is not None
    assert (report.recoded.num_recoded, report.recoded.name) == (14, "level 3")
    assert "encoded   14 samples anew (level 3)" in str(report)
    assert [path.name for path in tmp_path.iterdir()] == ["x.dts"]


def test_from_a_dts_file_and_subset(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    torch_dts.convert(photos, tmp_path / "0.dts")
    torch_dts.convert(photos, tmp_path / "folder.dts", level=2)
    with torch_dts.open(tmp_path / "0.dts") as file:
        torch_dts.convert(file, tmp_path / "file.dts", level=2)
    with torch_dts.open(tmp_path / "folder.dts") as first, torch_dts.open(tmp_path / "file.dts") as second:
        assert [bytes(first.read(i)) for i in range(14)] == [bytes(second.read(i)) for i in range(14)]
    torch_dts.convert(Subset(ImageFolder(photos), [13, 0]), tmp_path / "subset.dts", level=2)
    with torch_dts.open(tmp_path / "subset.dts") as subset, torch_dts.open(tmp_path / "folder.dts") as first:
        assert [bytes(subset.read(i)) for i in range(2)] == [bytes(first.read(13)), bytes(first.read(0))]


def test_modes_that_no_jpeg_holds_are_found_first(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    root = tmp_path / "deep"
    (root / "a").mkdir(parents=True)
    picture(30, 20, 1).save(root / "a" / "0.jpg")
    Image.new("I;16", (30, 20)).save(root / "a" / "deep.png")
    with pytest.raises(
        BadSamplesError, match=r"deep\.png .sample 1.: an image of mode I;16, which a JPEG can't hold"
    ):
        torch_dts.convert(root, tmp_path / "x.dts", level=1)
    report = torch_dts.convert(root, tmp_path / "x.dts", level=1, on_error="skip")
    assert [each.index for each in report.skipped] == [1]
    assert torch_dts.convert(root, tmp_path / "0.dts").num_deep == 1


@pytest.mark.parametrize("num_workers", [1, 2])
def test_damage_that_only_decoding_shows(tmp_path: pathlib.Path, num_workers: int) -> None:
    root = tmp_path / "set"
    (root / "a").mkdir(parents=True)
    for i in range(3):
        picture(500, 450, i).save(root / "a" / f"{i}.jpg")
    data = (root / "a" / "1.jpg").read_bytes()
    (root / "a" / "1.jpg").write_bytes(data[: len(data) // 2])
    with pytest.raises(BadSamplesError, match=r"1 of 3 samples can't be used.*level 2 found this") as caught:
        torch_dts.convert(root, tmp_path / "x.dts", level=2, num_workers=num_workers)
    assert "truncated" in caught.value.bad[0].reason
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    report = torch_dts.convert(root, tmp_path / "x.dts", level=2, on_error="skip", num_workers=num_workers)
    assert ([each.index for each in report.skipped], report.num_samples) == ([1], 2)
    report = torch_dts.convert(
        root, tmp_path / "x.dts", level=2, on_error="keep", num_workers=num_workers, overwrite=True
    )
    assert [each.index for each in report.kept_bad] == [1]
    with torch_dts.open(report) as file:
        assert bytes(file.read(1)) == data[: len(data) // 2]


def test_pil_images_are_encoded_once(tmp_path: pathlib.Path) -> None:
    """Images without a file: no PNG in between is seen, and nothing warns of one."""
    items = [(picture(500, 450, i), 0) for i in range(2)]
    report = torch_dts.convert(items, tmp_path / "x.dts", level=1)
    assert report.num_encoded == 0
    with torch_dts.open(report) as file:
        for i, (image, _) in enumerate(items):
            out = io.BytesIO()
            image.resize((444, 400), Image.Resampling.LANCZOS).save(out, "JPEG", quality=90)
            assert np.array_equal(decoded(file.read(i)), decoded(out.getvalue()))


def test_pixel_sets_have_no_level(tmp_path: pathlib.Path) -> None:
    items = [(np.zeros((8, 8, 3), dtype=np.uint8), 0)]
    with pytest.raises(ValueError, match="encoding='pixels' does not"):
        torch_dts.convert(items, tmp_path / "x.dts", level=1, encoding="pixels")
