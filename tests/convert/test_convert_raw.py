# SPDX-License-Identifier: Apache-2.0
"""encoding="raw" and "mixed", max_size: end to end."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import torch_dts
from torch_dts._raw import raw_sample, raw_shape

SIZES = [(90, 60), (40, 120), (64, 64), (30, 20)]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("raw") / "photos"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
        for i, (width, height) in enumerate(SIZES):
            small = np.random.default_rng(i).integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8)
            image = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
            image.save(root / name / f"{i}.jpg", quality=90)
    image.convert("L").save(root / "a" / "gray.jpg")
    image.convert("RGBA").save(root / "b" / "alpha.png")
    return root


def stored(path: object) -> list[bytes]:
    with torch_dts.open(path) as file:  # type: ignore[arg-type]
        return [bytes(file.read(i)) for i in range(len(file))]


@pytest.mark.parametrize("num_workers", [1, 3])
def test_raw_holds_what_the_folder_gives(
    photos: pathlib.Path, tmp_path: pathlib.Path, num_workers: int
) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", encoding="raw", num_workers=num_workers)
    folder, dataset = ImageFolder(photos), torch_dts.DTSDataset(report)
    for i, (path, _) in enumerate(folder.samples):
        assert dataset[i][0].tobytes() == folder[i][0].tobytes()
        channels = 1 if path.endswith("gray.jpg") else 3
        assert raw_shape(dataset.file.read(i)) == (folder[i][0].height, folder[i][0].width, channels)
    header = dataset.file.header
    assert header.version == (3, 1, 0, 0)
    assert header.max_pic_area == 90 * 60
    assert dataset.file.info["encoding"] == "raw"
    assert dataset.file.info["bytes_kept"] is False
    assert torch_dts.verify(report).ok

    transform = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.PILToTensor()])
    dataset.transform = folder.transform = transform
    batches = [
        next(iter(torch_dts.DataLoader(each, batch_size=len(folder), seed=3, num_workers=2)))[0]
        for each in (folder, dataset)
    ]
    assert torch.equal(batches[0], batches[1])


def test_equal_bytes_for_any_number_of_workers_and_after_a_stop(
    photos: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    options = {"encoding": "mixed", "raw_fraction": 0.5, "max_size": 50}
    for i, workers in enumerate((1, 4)):
        torch_dts.convert(photos, tmp_path / f"{i}.dts", num_workers=workers, **options)
    torch_dts.convert(photos, tmp_path / "2.dts", resume=True, **options)
    first = (tmp_path / "0.dts").read_bytes()
    assert (tmp_path / "1.dts").read_bytes() == first
    assert (tmp_path / "2.dts").read_bytes() == first


def test_mixed_by_pixels_keeps_the_bytes_of_the_others(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", encoding="mixed", raw_max_pixels=64 * 64)
    found = stored(report)
    for data, (path, _) in zip(found, ImageFolder(photos).samples, strict=True):
        image = Image.open(path)
        is_small = image.width * image.height <= 64 * 64
        expected = (
            raw_sample(image if image.mode == "L" else image.convert("RGB"))
            if is_small
            else pathlib.Path(path).read_bytes()
        )
        assert data == expected
    assert torch_dts.open(report).info["raw_max_pixels"] == 64 * 64


def test_max_size_keeps_what_is_small_enough(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", max_size=64)
    sizes = []
    for data, (path, _) in zip(stored(report), ImageFolder(photos).samples, strict=True):
        source = pathlib.Path(path).read_bytes()
        before, after = Image.open(io.BytesIO(source)), Image.open(io.BytesIO(data))
        sizes.append(after.size)
        assert (data == source) == (max(before.size) <= 64)
    assert sizes == [(64, 42), (21, 64), (64, 64), (30, 20), (30, 20)] * 2
    assert report.recoded is not None
    assert report.recoded.kept_original == {"within max_size": 6}
    assert torch_dts.open(report).header.max_pic_area == 64 * 64


def test_a_level_and_max_size(tmp_path: pathlib.Path) -> None:
    (tmp_path / "photos" / "a").mkdir(parents=True)
    Image.effect_noise((1000, 500), 50).convert("RGB").save(tmp_path / "photos" / "a" / "x.png")
    report = torch_dts.convert(tmp_path / "photos", level=2, max_size=300)
    assert Image.open(io.BytesIO(stored(report)[0])).size == (300, 200)
    raw = torch_dts.convert(tmp_path / "photos", tmp_path / "raw.dts", level=2, max_size=300, encoding="raw")
    assert raw_shape(stored(raw)[0]) == (200, 300, 3)


def test_bad_images_and_images_larger_than_a_block(tmp_path: pathlib.Path) -> None:
    (tmp_path / "photos" / "a").mkdir(parents=True)
    Image.new("RGB", (3000, 2000)).save(tmp_path / "photos" / "a" / "large.png")
    (tmp_path / "photos" / "a" / "torn.jpg").write_bytes(
        (tmp_path / "photos" / "a" / "large.png").read_bytes()[:100]
    )
    with pytest.raises(ValueError, match=r"torn.jpg \(sample 1\)"):
        torch_dts.convert(tmp_path / "photos", encoding="raw")
    with pytest.raises(ValueError, match=r"all 2 of.*\n.*large.png.*: 18,000,016 bytes, but a block of"):
        torch_dts.convert(tmp_path / "photos", encoding="raw", on_error="skip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos"]
    report = torch_dts.convert(tmp_path / "photos", encoding="raw", on_error="skip", block_size=32 << 20)
    assert len(stored(report)[0]) == 18_000_016


def test_arrays_become_raw_samples_when_asked(tmp_path: pathlib.Path) -> None:
    images = [Image.fromarray(np.full((4, 5, 3), i, np.uint8)) for i in range(3)]
    report = torch_dts.convert([(image, 0) for image in images], tmp_path / "x.dts", encoding="raw")
    assert stored(report) == [raw_sample(image) for image in images]
    assert report.num_encoded == 0


@pytest.mark.parametrize(
    ("options", "is_raw"),
    [({}, True), ({"restart_interval": "auto"}, True), ({"level": 3}, False), ({"max_size": 50}, False)],
)
def test_a_raw_file_as_the_source(
    photos: pathlib.Path, tmp_path: pathlib.Path, options: dict[str, object], is_raw: bool
) -> None:
    raw = torch_dts.convert(photos, tmp_path / "raw.dts", encoding="raw")
    copy = torch_dts.convert(torch_dts.open(raw), tmp_path / "copy.dts", **options)  # type: ignore[arg-type]
    before, after = torch_dts.DTSDataset(raw), torch_dts.DTSDataset(copy)
    assert after.file.header.version == ((3, 1, 0, 0) if is_raw else (3, 0, 0, 0))
    if is_raw:
        assert stored(copy) == stored(raw)
    assert [after[i][1] for i in range(len(after))] == [before[i][1] for i in range(len(before))]
    for i in range(len(before)):
        largest = max(before[i][0].size)
        limit = options.get("max_size", 1000)
        assert max(after[i][0].size) == min(largest, limit)
        if is_raw or (largest <= 50 and "max_size" in options):
            assert after[i][0].tobytes() == before[i][0].tobytes()
