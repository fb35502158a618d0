# SPDX-License-Identifier: Apache-2.0
"""Level 0 with restart markers: the pixels stay, what can't be rewritten keeps its bytes."""

from __future__ import annotations

import io
import os
import pathlib

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms
from torchvision.datasets import ImageFolder

import torch_dts

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def picture(width: int, height: int, seed: int, mode: str = "RGB") -> Image.Image:
    values = np.random.default_rng(seed).integers(
        0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8
    )
    return Image.fromarray(values).resize((width, height), Image.Resampling.BICUBIC).convert(mode)


def exif(orientation: int) -> Image.Exif:
    tags = Image.Exif()
    tags[0x0112] = orientation
    tags[0x010F] = "A maker of cameras " * 20
    return tags


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("restart") / "photos"
    folder = root / "a"
    folder.mkdir(parents=True)
    picture(160, 120, 0).save(folder / "0_plain.jpg", quality=90)
    picture(170, 99, 1).save(folder / "1_progressive.jpg", progressive=True, subsampling=0)
    picture(160, 120, 2).save(folder / "2_exif.jpg", exif=exif(6), icc_profile=PROFILE, comment=b"x" * 300)
    picture(90, 150, 3, "L").save(folder / "3_gray.jpg")
    picture(90, 150, 4, "CMYK").save(folder / "4_print.jpg")
    picture(50, 40, 5).save(folder / "5_other.png")
    return root


@pytest.mark.parametrize("interval", ["auto", 3])
def test_pixels_and_facts(photos: pathlib.Path, tmp_path: pathlib.Path, interval: str | int) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", restart_interval=interval)
    assert report.recoded is not None
    assert report.recoded.num_recoded == 5
    assert report.recoded.kept_original == {"no JPEG, or one only Pillow can judge": 1}
    folder = ImageFolder(photos)
    dataset = torch_dts.DTSDataset(report)
    for i, (path, _) in enumerate(folder.samples):
        source, stored = pathlib.Path(path).read_bytes(), bytes(dataset.file.read(i))
        is_kept = path.endswith(".png")
        assert (stored == source) == is_kept
        assert (b"\xff\xdd\0\4" in stored) == (not is_kept)
        assert np.array_equal(np.asarray(dataset[i][0]), np.asarray(folder[i][0]))
        with Image.open(io.BytesIO(stored)) as new, Image.open(path) as old:
            assert (new.mode, new.size) == (old.mode, old.size)
            assert "progressive" not in new.info
            if not is_kept:
                assert np.array_equal(np.asarray(new), np.asarray(old))
    info = dataset.file.info
    assert (info["bytes_kept"], info["level"], info["encoder"]) == (False, 0, "torch_dts")
    assert (info["restart_interval"], info["metadata"]) == (interval, "needed")
    assert info["kept_original"] == report.recoded.kept_original
    assert dataset.file.header.max_pic_area == 160 * 120
    assert torch_dts.verify(report).ok
    assert torch_dts.extract(report, tmp_path / "out").bytes_kept is False


def test_a_file_without_an_end(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    whole = (photos / "a" / "0_plain.jpg").read_bytes()
    items = [(whole, 0), (whole[:-2], 0)]
    report = torch_dts.convert(items, tmp_path / "x.dts", restart_interval="auto")
    assert report.recoded is not None
    assert (report.recoded.num_recoded, report.recoded.kept_original) == (1, {"incomplete": 1})
    assert report.num_missing_eoi == 1
    assert "as it was 1 sample: incomplete" in str(report)
    with torch_dts.open(report) as file:
        assert bytes(file.read(1)) == whole[:-2]


def test_metadata(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    at = [os.path.basename(path) for path, _ in ImageFolder(photos).samples].index("2_exif.jpg")
    for metadata in ("needed", "keep"):
        report = torch_dts.convert(
            photos, tmp_path / f"{metadata}.dts", restart_interval=4, metadata=metadata
        )
        assert report.recoded is not None
        with torch_dts.open(report) as file, Image.open(io.BytesIO(file.read(at))) as image:
            assert image.getexif()[0x0112] == 6
            assert image.info["icc_profile"] == PROFILE
            assert (0x010F in image.getexif()) == (metadata == "keep")
            assert ("comment" in image.info) == (metadata == "keep")
        if metadata == "keep":
            assert (report.recoded.dropped_segments, report.recoded.dropped_bytes) == (0, 0)
        else:
            assert report.recoded.dropped_segments == 2
            assert report.recoded.dropped_bytes > 600
            assert "metadata  2 segments dropped" in str(report)


def test_any_number_of_workers_and_no_larger(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    plain = torch_dts.convert(photos, tmp_path / "plain.dts")
    reports = [
        torch_dts.convert(photos, tmp_path / f"{n}.dts", restart_interval="auto", num_workers=n)
        for n in (1, 3)
    ]
    assert (tmp_path / "1.dts").read_bytes() == (tmp_path / "3.dts").read_bytes()
    assert reports[0].stored_bytes is not None
    assert reports[0].stored_bytes < plain.source_bytes == reports[0].source_bytes


def test_the_loader_gives_the_same_batches(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    from torchvision.transforms import Compose, PILToTensor, RandomResizedCrop

    transform = Compose([RandomResizedCrop(32), PILToTensor()])
    batches = []
    for number, interval in enumerate((None, "auto", 2)):
        file = torch_dts.convert(photos, tmp_path / f"{number}.dts", restart_interval=interval)
        dataset = torch_dts.DTSDataset(file, transform=transform)
        loader = torch_dts.DataLoader(dataset, batch_size=6, num_workers=2, seed=3)
        ((images, labels),) = list(loader)
        batches.append(images)
        assert labels.tolist() == [0] * 6
    assert batches[0].equal(batches[1])
    assert batches[0].equal(batches[2])


def test_no_recoding_keeps_the_fast_path(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "x.dts", restart_interval=None)
    assert report.recoded is None
    assert report.stored_bytes == report.source_bytes
    with torch_dts.open(report) as file:
        assert file.info["bytes_kept"] is True
        assert "kept_original" not in file.info


def test_pixel_sets_have_no_markers(tmp_path: pathlib.Path) -> None:
    class Pixels(torch.utils.data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> tuple[Image.Image, int]:
            return Image.new("RGB", (8, 8)), i

    with pytest.raises(ValueError, match="restart_interval='auto' is for JPEGs"):
        torch_dts.convert(Pixels(), tmp_path / "x.dts", encoding="pixels", restart_interval="auto")
