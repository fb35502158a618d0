# SPDX-License-Identifier: Apache-2.0
"""Mean and std against numpy's of all pixels."""

import io
import threading

import numpy as np
import pytest
import torch
from PIL import Image

import torch_dts
from torch_dts import _native
from torch_dts._raw import raw_sample
from torch_dts.convert._stats import PixelStats


def encoded(pixels, kind, **how):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **how)
    return out.getvalue()


def rgb_of(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).reshape(-1, 3)


def arena_of(datas):
    sizes = torch.tensor([len(data) for data in datas])
    return (
        torch.from_numpy(np.frombuffer(bytearray(b"".join(datas)), np.uint8)),
        sizes.cumsum(0) - sizes,
        sizes,
    )


def expected(pixels):
    return pixels.mean(0) / 255, pixels.std(0) / 255


def check(stats, pixels):
    found = stats.finish()
    mean, std = expected(pixels)
    assert found.mean.dtype == found.std.dtype == torch.float32
    np.testing.assert_allclose(found.mean.numpy(), mean, rtol=1e-6)
    np.testing.assert_allclose(found.std.numpy(), std, rtol=1e-6, atol=1e-12)


def test_samples_of_all_kinds():
    generator = np.random.default_rng(1)
    rgb = generator.integers(0, 256, (9, 13, 3), dtype=np.uint8)
    gray = generator.integers(0, 100, (6, 5), dtype=np.uint8)
    datas = [
        encoded(rgb, "JPEG", quality=95),
        encoded(gray, "JPEG"),
        encoded(rgb, "PNG"),
        encoded(gray, "PNG"),
        encoded(generator.integers(0, 256, (4, 4, 4), dtype=np.uint8), "PNG"),
    ]
    raw = [raw_sample(Image.fromarray(rgb)), raw_sample(Image.fromarray(gray))]
    stats = PixelStats()
    stats.add_samples(*arena_of(datas + raw))
    grays = np.repeat(gray.reshape(-1, 1), 3, 1)
    check(stats, np.concatenate([*map(rgb_of, datas), rgb.reshape(-1, 3), grays]).astype(np.float64))


def test_what_cant_be_decoded_is_left_out():
    good = encoded(np.full((4, 4, 3), 51, dtype=np.uint8), "PNG")
    stats = PixelStats()
    stats.add_samples(*arena_of([b"no picture", good, good[:40], b""]))
    with pytest.warns(UserWarning, match="mean and std are without 3 samples that can't be decoded"):
        found = stats.finish()
    assert found.mean.tolist() == pytest.approx([0.2] * 3)
    assert found.std.tolist() == [0] * 3


def test_nothing_at_all():
    stats = PixelStats()
    stats.add_samples(*arena_of([b"no picture"]))
    with pytest.raises(ValueError, match="no sample of the set can be decoded"):
        stats.finish()


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels(channels):
    pixels = np.random.default_rng(2).integers(0, 256, (11, 4, 5, channels), dtype=np.uint8)
    stats = PixelStats()
    for piece in np.array_split(pixels, 3):
        stats.add_pixels(torch.from_numpy(piece.copy()), channels)
    flat = pixels.reshape(-1, channels).astype(np.float64)
    check(stats, np.repeat(flat, 3, 1) if channels == 1 else flat)


def test_any_order_gives_the_same_bits():
    generator = np.random.default_rng(3)
    parts = [torch.from_numpy(generator.integers(0, 256, (7, 9, 3), dtype=np.uint8)) for _ in range(40)]
    forwards, threaded = PixelStats(), PixelStats()
    for part in parts:
        forwards.add_pixels(part, 3)
    threads = [threading.Thread(target=threaded.add_pixels, args=(part, 3)) for part in reversed(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, other = forwards.finish(), threaded.finish()
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.std, other.std)


def header_of(path):
    with torch_dts.DTSFile(path) as file:
        return file.header


def test_convert_writes_them_into_the_header(image_folder, tmp_path):
    folder = image_folder(classes={"a": 7, "b": 4})
    pixels = [rgb_of(path.read_bytes()) for path in folder.rglob("*.jpg")]
    mean, std = expected(np.concatenate(pixels).astype(np.float64))
    files = []
    for num_workers in (1, 3):
        path = tmp_path / f"{num_workers}.dts"
        torch_dts.convert(folder, path, stats=True, num_workers=num_workers, progress=False)
        files.append(path.read_bytes())
        np.testing.assert_allclose(header_of(path).normalize_mean, mean, rtol=1e-6)
        np.testing.assert_allclose(header_of(path).normalize_std, std, rtol=1e-6)
        assert torch_dts.verify(path).ok  # the header's own CRC-32 covers them
    assert files[0] == files[1]
    torch_dts.convert(folder, tmp_path / "plain.dts", progress=False)
    assert header_of(tmp_path / "plain.dts").normalize_std == (0, 0, 0)
    # the same blocks, and the same samples from the file as a source
    assert files[0][1 << 24 :] == (tmp_path / "plain.dts").read_bytes()[1 << 24 :]
    torch_dts.convert(torch_dts.DTSDataset(path), tmp_path / "again.dts", stats=True, progress=False)
    assert header_of(tmp_path / "again.dts").normalize_mean == header_of(path).normalize_mean


def test_a_set_without_a_picture_leaves_no_file(tmp_path):
    (tmp_path / "set" / "a").mkdir(parents=True)
    (tmp_path / "set" / "a" / "0.jpg").write_bytes(b"no picture")
    with pytest.raises(ValueError, match="no sample of the set can be decoded"):
        torch_dts.convert(tmp_path / "set", tmp_path / "x.dts", stats=True, check="none", progress=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["set"]


def test_a_pixel_file(tmp_path):
    pixels = np.random.default_rng(4).integers(0, 256, (30, 8, 8), dtype=np.uint8)
    items = [(Image.fromarray(image), i % 2) for i, image in enumerate(pixels)]
    path = tmp_path / "p.dts"
    torch_dts.convert(items, path, encoding="pixels", stats=True, progress=False)
    mean, std = expected(pixels.reshape(-1, 1).astype(np.float64))
    np.testing.assert_allclose(header_of(path).normalize_mean, [mean[0]] * 3, rtol=1e-6)
    np.testing.assert_allclose(header_of(path).normalize_std, [std[0]] * 3, rtol=1e-6)
    assert torch_dts.verify(path).ok


def test_they_are_of_what_is_stored(image_folder, tmp_path):
    path = tmp_path / "small.dts"
    torch_dts.convert(image_folder(size=(700, 500)), path, level=3, stats=True, progress=False)
    with torch_dts.DTSFile(path) as file:
        stored = [rgb_of(file.read(i)) for i in range(len(file))]
        mean, std = expected(np.concatenate(stored).astype(np.float64))
        np.testing.assert_allclose(file.header.normalize_mean, mean, rtol=1e-6)
        np.testing.assert_allclose(file.header.normalize_std, std, rtol=1e-6)


def test_blocks_of_an_interrupted_run_count(image_folder, tmp_path, monkeypatch):
    folder, path = image_folder(), tmp_path / "x.dts"
    whole = tmp_path / "whole.dts"
    torch_dts.convert(folder, whole, stats=True, progress=False)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_native, "writer_seal", interrupted)
        with pytest.raises(KeyboardInterrupt, match="resume=True goes on"):
            torch_dts.convert(folder, path, stats=True, resume=True, progress=False)
    report = torch_dts.convert(folder, path, stats=True, resume=True, progress=False)
    assert report.num_resumed_blocks == 1
    assert path.read_bytes() == whole.read_bytes()
