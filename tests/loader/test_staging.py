# SPDX-License-Identifier: Apache-2.0
"""``device="cuda"`` with a device that is none: the same values, in the order and number of the CPU."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from cuda_double import pretend_cuda
from loader_sets import FIXED, MEAN, RANDOM, STD, photo, same
from torch.nn.functional import pad
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import torch_dts
from torch_dts.loader import _cuda_device, _staging
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._engine import EngineOptions

ERASING = transforms.Compose(
    [
        transforms.RandomResizedCrop(16),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
        transforms.RandomErasing(0.7, value=(0.1, -2.0, 1.0)),
    ]
)
NORMALS = transforms.Compose([*ERASING.transforms[:-1], transforms.RandomErasing(0.7, value="random")])
BYTES = transforms.Compose([transforms.RandomResizedCrop(16), transforms.PILToTensor()])
SCALED = v2.Compose(
    [v2.RandomResizedCrop(16), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
)


def both(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., DataLoader], epochs: int = 1, **where: Any
) -> tuple[list[Any], list[Any]]:
    """What a loader yields on the CPU, and with a stage."""
    torch.manual_seed(3)
    expected = [batch for loader in [make()] for _ in range(epochs) for batch in loader]
    made = pretend_cuda(monkeypatch)
    torch.manual_seed(3)
    loader = make(**(where or {"device": "cuda"}))
    found = [batch for _ in range(epochs) for batch in loader]
    assert made, "no stage was used"
    assert any(entry[0] == "copy" for calls in made for entry in calls.log)
    return found, expected


@pytest.mark.parametrize("num_workers", [0, 3])
@pytest.mark.parametrize(
    "transform",
    [FIXED, RANDOM, ERASING, NORMALS, BYTES, SCALED],
    ids=["fixed", "random", "erasing", "normals", "bytes", "scaled"],
)
@pytest.mark.parametrize("how", [{}, {"dtype": torch.float16, "memory_format": torch.channels_last}])
def test_values_are_the_cpus_bit_for_bit(
    transform: Any, how: dict[str, Any], num_workers: int, photos_file: pathlib.Path, monkeypatch: Any
) -> None:
    def make(**where: Any) -> DataLoader:
        dataset = torch_dts.DTSDataset(photos_file, transform)
        return DataLoader(dataset, 5, True, num_workers=num_workers, seed=4, **how, **where)

    found, expected = both(monkeypatch, make, epochs=2)
    assert len(found) == 10
    for one, other in zip(found, expected, strict=True):
        assert same(one, other)
        assert one[0].stride() == other[0].stride()


def test_views_repeats_indices_masks_and_targets(photos_file: pathlib.Path, monkeypatch: Any) -> None:
    views = torch_dts.transforms.Views([ERASING, FIXED, RANDOM])

    def make(**where: Any) -> DataLoader:
        dataset = torch_dts.DTSDataset(photos_file, views, target_transform=lambda label: label * 0.5)
        extra = {"return_index": True, "return_mask": True, "last_batch": "fill", "repeat": 2}
        return DataLoader(dataset, 5, True, num_workers=2, seed=4, **extra, **where)

    found, expected = both(monkeypatch, make)
    assert len(found) == 10
    assert all(map(same, found, expected))
    assert found[0][1].dtype == torch.float64


def test_labels_are_of_their_own(photos_file: pathlib.Path, monkeypatch: Any) -> None:
    pretend_cuda(monkeypatch)
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 5, device="cuda", num_workers=1)
    kept = [batch[1] for batch in loader]
    assert torch.cat(kept).tolist() == torch_dts.DTSDataset(photos_file).targets
    assert all(labels.untyped_storage().nbytes() == 8 * labels.numel() for labels in kept)


@pytest.mark.parametrize("transform", [ERASING, BYTES], ids=["floats", "bytes"])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_samples_of_pillow_come_complete(
    num_workers: int, transform: Any, tmp_path: pathlib.Path, monkeypatch: Any
) -> None:
    (tmp_path / "a").mkdir()
    for number in range(11):
        kind = "png" if number % 3 else "jpg"
        photo(number, (30, 24)).save(tmp_path / "a" / f"{number:02}.{kind}")
    (tmp_path / "a" / "05.png").write_bytes(b"no picture")

    def make(**where: Any) -> DataLoader:
        dataset = ImageFolder(str(tmp_path), transform)
        return DataLoader(dataset, 4, True, num_workers=num_workers, seed=1, on_error="replace", **where)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = both(monkeypatch, make)
    assert all(map(same, found, expected))
    images = torch.cat([batch[0] for batch in found])
    assert sum(not image.any() for image in images) == 1


def test_a_collate_fn_of_ones_own_sees_the_cpus_tensors(photos_file: pathlib.Path, monkeypatch: Any) -> None:
    def collate(samples: list[Any]) -> dict[str, Any]:
        return {"x": torch.stack([image for image, _ in samples]), "n": len(samples)}

    def make(**where: Any) -> DataLoader:
        dataset = torch_dts.DTSDataset(photos_file, RANDOM)
        return DataLoader(dataset, 5, num_workers=1, seed=1, collate_fn=collate, **where)

    found, expected = both(monkeypatch, make)
    for one, other in zip(found, expected, strict=True):
        assert one["n"] == other["n"]
        assert torch.equal(one["x"], other["x"])


def test_single_samples(photos_file: pathlib.Path, monkeypatch: Any) -> None:
    found, expected = both(
        monkeypatch,
        lambda **where: DataLoader(torch_dts.DTSDataset(photos_file, RANDOM), None, seed=1, **where),
    )
    assert len(found) == 23
    assert all(
        torch.equal(one[0], other[0]) and one[1] == other[1]
        for one, other in zip(found, expected, strict=True)
    )


def test_data_sets_read_in_python(photos: pathlib.Path, monkeypatch: Any) -> None:
    def make(**where: Any) -> DataLoader:
        dataset = ImageFolder(str(photos), transforms.Compose([lambda image: image, *FIXED.transforms]))
        return DataLoader(dataset, 5, num_workers=0, **where)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = both(monkeypatch, make)
        assert all(map(same, found, expected))
        with pytest.raises(ValueError, match="pad_channels=4 needs a data set and a transform that native"):
            next(iter(make(device="cuda", pad_channels=4)))


def test_several_devices_have_a_stage_each(blocks_file: pathlib.Path, monkeypatch: Any) -> None:
    def make(devices: Any = ("cpu", "cpu", "cpu")) -> DataLoader:
        dataset = torch_dts.DTSDataset(blocks_file, ERASING)
        return DataLoader(dataset, 3, True, num_workers=4, seed=2, devices=list(devices))

    found, expected = both(monkeypatch, make, devices=["cuda:0", "cpu", 1])
    assert len(found) == len(expected) > 1
    for one, other in zip(found, expected, strict=True):
        assert all(map(same, one, other))


def test_four_channels(photos_file: pathlib.Path, monkeypatch: Any) -> None:
    def make(**where: Any) -> DataLoader:
        return DataLoader(torch_dts.DTSDataset(photos_file, ERASING), 5, num_workers=1, seed=1, **where)

    found, expected = both(monkeypatch, make, device=0, pad_channels=4)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one[0], pad(other[0], (0, 0, 0, 0, 0, 1)))
    loader = DataLoader(torch_dts.DTSDataset(photos_file, BYTES), 5, device="cuda", pad_channels=4)
    with pytest.raises(ValueError, match="pad_channels=4 needs backend='cpu', torch's own"):
        next(iter(loader))


@pytest.mark.parametrize("where", [{}, {"device": "cuda"}])
@pytest.mark.parametrize("transform", [RANDOM, lambda image: FIXED(image)], ids=["native", "python"])
@pytest.mark.filterwarnings("ignore:.*worker processes|.*is read in Python|.*can't be read")
def test_static_buffers(
    where: dict[str, Any], transform: Any, photos_file: pathlib.Path, monkeypatch: Any
) -> None:
    """One address from epoch to epoch, all batches full, the values of each step."""
    pretend_cuda(monkeypatch)
    common: dict[str, Any] = {"batch_size": 5, "num_workers": 0, "seed": 1, "shuffle": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = torch_dts.DTSDataset(photos_file, transform)
        loader = DataLoader(dataset, static_buffers=True, **common, **where)
        expected = DataLoader(dataset, last_batch="fill", **common)
        assert loader.last_batch == "fill"
        addresses = set()
        for _ in range(2):
            for found, other in zip(loader, expected, strict=True):
                addresses.add((found[0].data_ptr(), found[1].data_ptr()))
                assert same(found, other)
                assert len(found[0]) == 5
    assert len(addresses) == 1


def test_each_device_has_static_buffers_of_its_own(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, RANDOM)
    common: dict[str, Any] = {"batch_size": 3, "num_workers": 0, "seed": 1, "shuffle": True}
    loader = DataLoader(dataset, devices=["cpu", "cpu"], static_buffers=True, **common)
    expected = DataLoader(dataset, devices=["cpu", "cpu"], last_batch="fill", **common)
    addresses = set()
    for found, others in zip(loader, expected, strict=True):
        addresses.add(tuple(images.data_ptr() for images, _ in found))
        assert all(same(one, other) for one, other in zip(found, others, strict=True))
    ((first, second),) = addresses
    assert first != second


def test_static_buffers_leave_out_what_drop_last_does(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    loader = DataLoader(dataset, 5, drop_last=True, static_buffers=True)
    assert loader.last_batch == "partial"
    assert [len(batch[0]) for batch in loader] == [5] * 4
    given = DataLoader(dataset, 5, drop_last=True, last_batch="partial", static_buffers=True)
    assert given.last_batch == "partial"
    with pytest.raises(ValueError, match="static_buffers=True needs batches of one shape, but last_batch is"):
        DataLoader(dataset, 5, last_batch="partial", static_buffers=True)
    short = DataLoader(dataset, batch_sampler=[[1, 2], [3]], static_buffers=True)
    with pytest.raises(ValueError, match=r"needs batches of one shape: found .*\[1, 3, 16, 16\]"):
        list(short)


def test_a_stage_lives_from_epoch_to_epoch_and_ends_with_the_loader(
    photos_file: pathlib.Path, monkeypatch: Any
) -> None:
    made = pretend_cuda(monkeypatch)
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 5, device="cuda:0", num_workers=1)
    for _ in range(2):
        next(iter(loader))
    loader.set_transform(RANDOM)
    assert next(iter(loader))[0].shape == (5, 3, 16, 16)
    assert len(made) == 1
    calls = made[0]
    loader.close()
    assert calls.log[-1][0] == "join"
    list(loader)
    assert len(made) == 2


def test_an_engine_for_a_device_has_its_memory_and_cpus(monkeypatch: Any) -> None:
    class OnGpu:
        device = torch.device("cuda", 2)

    monkeypatch.setattr(_cuda_device, "pci_bus_id", lambda device: f"0000:0{device.index}:00.0")
    monkeypatch.setattr(_staging, "cpus_near", lambda bus, count: (8, 9, 10, 11, 12, 13)[:count])
    options = EngineOptions(2, 2, True, (0, 1), 1, True)
    found = _staging.near_device(options, OnGpu(), 6, 1, 3)  # type: ignore[arg-type]
    assert (found.device, found.pci_bus_id, found.cpus) == (2, "0000:02:00.0", (9, 12))
    unbound = options._replace(cpus=())
    assert _staging.near_device(unbound, OnGpu(), 6, 1, 3).cpus == ()  # type: ignore[arg-type]
    assert _staging.near_device(options, None, 6, 1, 3) is options
