# SPDX-License-Identifier: Apache-2.0
"""Samples only Pillow can decode: its pixels, its errors and warnings, from processes or from here."""

from __future__ import annotations

import gc
import hashlib
import io
import os
import pathlib
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1

from torch_dts.loader._foreign import ForeignWorkers
from torch_dts.transforms._read import read

SIZE = (12, 15)
TRANSFORM = v1.Compose([v1.Resize(SIZE), v1.PILToTensor()])


def plan(transform: Any = TRANSFORM) -> str:
    found = read(transform).plan
    assert found is not None
    return found.encode()


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def noise(width: int = 20, height: int = 30, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


@pytest.fixture(params=[0, 2])
def workers(request: pytest.FixtureRequest) -> Iterator[ForeignWorkers]:
    made = ForeignWorkers(request.param, plan(), describe="key {}".format)
    yield made
    made.close()


@pytest.fixture
def one_process() -> Iterator[ForeignWorkers]:
    made = ForeignWorkers(1, plan())
    yield made
    made.close()


def alive(pid: int) -> bool:
    return pathlib.Path(f"/proc/{pid}").exists()


def test_odd_images_are_pillows(
    odd_images: pathlib.Path, odd_expected: dict[str, Any], workers: ForeignWorkers
) -> None:
    others = [entry for entry in odd_expected["samples"] if entry["pil"].get("format") not in ("JPEG", "MPO")]
    good = 0
    for i, entry in enumerate(others):
        workers.submit(i, (odd_images / entry["path"]).read_bytes(), i, 0, 0, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, entry in reversed([*enumerate(others)]):
            path = odd_images / entry["path"]
            if not entry["pil"]["ok"]:
                with pytest.raises(Exception, match=f"key {i}"):
                    workers.result(i)
                continue
            image = Image.open(path).convert("RGB")
            if "rgb_sha256" in entry["pil"]:
                assert hashlib.sha256(image.tobytes()).hexdigest() == entry["pil"]["rgb_sha256"]
            assert torch.equal(workers.result(i)[0], TRANSFORM(image)), entry["path"]
            good += 1
    assert good > 5


def test_random_choices_are_those_of_the_index(workers: ForeignWorkers) -> None:
    from torch_dts import _native

    text = plan(v1.Compose([v1.RandomResizedCrop(8), v1.RandomHorizontalFlip(), v1.PILToTensor()]))
    random_workers = ForeignWorkers(workers._num_workers, text)
    image = noise()
    choices = [(index, occurrence, 7, epoch) for index in (0, 5) for occurrence in (0, 1) for epoch in (0, 3)]
    for choice in choices:
        random_workers.submit(choice, encoded(image), *choice)
    arena = torch.from_numpy(np.array(image).reshape(-1))
    shape = torch.tensor([[image.height, image.width, 3]])
    for index, occurrence, seed, epoch in choices:
        expected, _ = _native.run_plan(
            arena,
            torch.tensor([0]),
            torch.tensor([arena.numel()]),
            shape,
            text,
            torch.tensor([index]),
            torch.tensor([occurrence]),
            seed,
            epoch,
        )
        assert torch.equal(random_workers.result((index, occurrence, seed, epoch))[0], expected[0])
    random_workers.close()


def test_gray_pixels_stay_gray() -> None:
    reading = read(v1.PILToTensor(), source_channels=1, source_size=(4, 5))
    assert reading.plan is not None
    gray = np.arange(20, dtype=np.uint8).reshape(4, 5)
    for num_workers in (0, 1):
        workers = ForeignWorkers(num_workers, reading.plan.encode())
        workers.submit("gray", b"P5 5 4 255\n" + gray.tobytes(), 0, 0, 0, 0)
        assert workers.result("gray")[0].tolist() == [gray.tolist()]
        workers.close()


def test_errors_are_pillows_own(workers: ForeignWorkers, tmp_path: pathlib.Path) -> None:
    data = encoded(noise())
    workers.submit("no image", b"no image at all", 0, 0, 0, 0)
    workers.submit("cut", data[: len(data) // 2], 1, 0, 0, 0)
    workers.submit("good", data, 2, 0, 0, 0)
    with pytest.raises(Image.UnidentifiedImageError, match=r"cannot identify image.*\[key no image\]"):
        workers.result("no image")
    with pytest.raises(OSError, match=r"truncated.*\[key cut\]"):
        workers.result("cut")
    assert torch.equal(workers.result("good")[0], TRANSFORM(noise()))
    with pytest.raises(KeyError, match="good"):
        workers.result("good")


def test_settings_of_pillow_hold_in_processes(
    workers: ForeignWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = encoded(noise())
    cut = data[: len(data) * 3 // 4]
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    workers.submit("cut", cut, 0, 0, 0, 0)
    assert torch.equal(workers.result("cut")[0], TRANSFORM(Image.open(io.BytesIO(cut)).convert("RGB")))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 400)
    workers.submit("large", data, 0, 0, 0, 0)
    with pytest.warns(Image.DecompressionBombWarning, match="600 pixels"):
        assert torch.equal(workers.result("large")[0], TRANSFORM(noise()))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200)
    workers.submit("bomb", data, 0, 0, 0, 0)
    with pytest.raises(Image.DecompressionBombError, match=r"600 pixels.*\[key bomb\]"):
        workers.result("bomb")


def test_what_the_plan_refuses_is_the_transforms_to_say() -> None:
    transform = v1.Compose([v1.RandomCrop(25), v1.PILToTensor()])
    for num_workers in (0, 1):
        workers = ForeignWorkers(num_workers, plan(transform), describe=str, transforms=[transform])
        workers.submit("small", encoded(noise(20, 30)), 0, 0, 0, 0)
        workers.submit("large", encoded(noise(40, 30)), 0, 0, 0, 0)
        with pytest.raises(ValueError, match=r"larger than input image size.*\[small\]"):
            workers.result("small")
        assert workers.result("large")[0].shape == (3, 25, 25)
        workers.close()


def test_bad_samples_become_zeros_where_asked_for() -> None:
    for num_workers in (0, 1):
        workers = ForeignWorkers(num_workers, plan(), "replace")
        workers.submit(0, b"nothing", 0, 0, 0, 0)
        workers.submit(1, encoded(noise()), 1, 0, 0, 0)
        assert torch.equal(workers.result(0)[0], torch.zeros(3, *SIZE, dtype=torch.uint8))
        assert torch.equal(workers.result(1)[0], TRANSFORM(noise()))
        assert workers.num_replaced == 1
        workers.close()


def test_killed_process_is_an_error_and_others_follow(one_process: ForeignWorkers) -> None:
    one_process.submit(0, encoded(noise()), 0, 0, 0, 0)
    assert one_process.result(0)[0].shape == (3, *SIZE)
    (pid,) = one_process.pids
    os.kill(pid, signal.SIGSTOP)
    one_process.submit(1, encoded(noise()), 0, 0, 0, 0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(
        RuntimeError, match=rf"decodes images with Pillow \(pid {pid}\) was killed by SIGKILL"
    ):
        one_process.result(1)
    one_process.submit(2, encoded(noise()), 0, 0, 0, 0)
    assert torch.equal(one_process.result(2)[0], TRANSFORM(noise()))


def test_close_and_garbage_leave_no_process() -> None:
    workers = ForeignWorkers(2, plan())
    for i in range(20):
        workers.submit(i, encoded(noise(seed=i)), i, 0, 0, 0)
    workers.result(19)
    pids = workers.pids
    assert 1 <= len(pids) <= 2
    workers.close()
    workers.close()
    assert not any(map(alive, pids))
    workers.submit(0, encoded(noise()), 0, 0, 0, 0)
    assert torch.equal(workers.result(0)[0], TRANSFORM(noise()))
    pids = workers.pids
    del workers
    gc.collect()
    assert not any(map(alive, pids))


def test_discarded_samples_are_forgotten(workers: ForeignWorkers) -> None:
    for i in range(10):
        workers.submit(i, encoded(noise()), i, 0, 0, 0)
    workers.discard(3)
    workers.result(9)
    with pytest.raises(KeyError, match="3"):
        workers.result(3)


def test_forked_child_has_processes_of_its_own(one_process: ForeignWorkers) -> None:
    one_process.submit(0, encoded(noise()), 0, 0, 0, 0)
    one_process.result(0)
    (pid,) = one_process.pids
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's, about threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            one_process.submit(1, encoded(noise()), 0, 0, 0, 0)
            code = 0 if torch.equal(one_process.result(1)[0], TRANSFORM(noise())) else 2
            one_process.close()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    one_process.submit(2, encoded(noise()), 0, 0, 0, 0)
    one_process.result(2)
    assert one_process.pids == [pid]
