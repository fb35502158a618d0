# SPDX-License-Identifier: Apache-2.0
"""Arguments, errors and attributes of DataLoader, beside torch's own."""

from __future__ import annotations

import copy
import inspect
import itertools
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, NUM_PHOTOS, RANDOM, hashes
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader import _source
from torch_dts.loader._data_loader import DataLoader

NUMBERS: Any = [0, 1, 2, 3]


class Endless(torch.utils.data.IterableDataset[int]):
    """A stream of numbers."""

    def __iter__(self) -> Any:
        return itertools.count()


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"num_workers": 0, "prefetch_factor": 2},
        {"num_workers": 1, "prefetch_factor": -1},
        {"num_workers": 0, "persistent_workers": True},
        {"batch_size": 0},
        {"batch_size": 1.5},
        {"batch_size": "3"},
        {"batch_size": None, "drop_last": True},
        {"drop_last": 1},
        {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "sampler": [1]},
        {"batch_sampler": [[1]], "drop_last": True},
        {"num_workers": 0, "multiprocessing_context": "spawn"},
        {"num_workers": 1, "multiprocessing_context": "nonsense"},
        {"num_workers": 1, "multiprocessing_context": 3},
        {"num_workers": "2"},
        {"dataset": [], "shuffle": True},
        {"dataset": Endless(), "shuffle": True},
        {"dataset": Endless(), "sampler": [1]},
        {"dataset": Endless(), "batch_sampler": [[1]]},
    ],
)
def test_errors_are_torchs(arguments: dict[str, Any]) -> None:
    arguments = {"dataset": NUMBERS, **arguments}
    with pytest.raises((ValueError, TypeError), match=r".") as expected:
        torch.utils.data.DataLoader(**arguments)
    with pytest.raises((ValueError, TypeError), match=r".") as found:
        DataLoader(**arguments)
    assert (found.type, str(found.value)) == (expected.type, str(expected.value))


def test_numbers_that_torch_takes_until_an_epoch_begins() -> None:
    with pytest.raises(TypeError, match=r"^num_workers is 1\.5, expected an int or None$"):
        DataLoader(NUMBERS, num_workers=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^prefetch_factor is 2\.0, expected an int or None$"):
        DataLoader(NUMBERS, num_workers=1, prefetch_factor=2.0)  # type: ignore[arg-type]
    assert DataLoader(NUMBERS, num_workers=np.int64(1)).num_workers == 1  # type: ignore[arg-type]


def test_arguments_that_stay_as_they_are() -> None:
    loader = DataLoader(NUMBERS)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(
            ValueError, match=rf"{name} attribute should not be set after DataLoader is initial"
        ):
            setattr(loader, name, None)


def test_the_signature_is_torchs_with_more_behind() -> None:
    ours = inspect.signature(DataLoader.__init__).parameters
    torchs = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
    assert list(ours)[: len(torchs)] == list(torchs)
    for name, parameter in torchs.items():
        assert ours[name].kind == parameter.kind
        assert ours[name].default == (None if name == "num_workers" else parameter.default)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in list(ours.values())[len(torchs) :])


def test_our_own_arguments_are_checked(photos_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"mode is 'slow', expected 'auto', 'fully' or 'partial'"):
        DataLoader(NUMBERS, mode="slow")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"share_buffers_with is 3, expected a torch_dts.DataLoader"):
        DataLoader(NUMBERS, share_buffers_with=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"transform can't be given for a list"):
        DataLoader(NUMBERS, transform=len)
    with pytest.raises(ValueError, match=r"seed is 3, but a DTSIterableDataset decides it"):
        DataLoader(torch_dts.DTSIterableDataset(photos_file, FIXED), seed=3)
    with pytest.raises(ValueError, match=r"rank 0 of 2 can't be taken of what a list delivers"):
        DataLoader(NUMBERS, sampler=[1, 2], num_replicas=2, rank=0)
    with pytest.raises(FileNotFoundError, match=r"no/such.dts"):
        DataLoader("no/such.dts", transform=FIXED)
    with pytest.raises(TypeError, match=r"transform is 3, expected a callable or None"):
        DataLoader(ImageFolder.__new__(ImageFolder)).set_transform(3)  # type: ignore[arg-type]


# ---- attributes ----


def test_every_argument_is_an_attribute(photos_file: pathlib.Path) -> None:
    given: dict[str, Any] = {
        "dataset": torch_dts.DTSDataset(photos_file),
        "batch_size": 5,
        "shuffle": True,
        "num_workers": 3,
        "collate_fn": len,
        "pin_memory": True,
        "drop_last": True,
        "timeout": 7,
        "worker_init_fn": print,
        "generator": torch.Generator(),
        "prefetch_factor": 4,
        "persistent_workers": True,
        "in_order": False,
        "transform": FIXED,
        "seed": 8,
        "mode": "partial",
        "shuffle_window": 3,
        "reproducible": False,
        "dtype": torch.float16,
        "memory_format": torch.channels_last,
        "return_index": True,
        "on_error": "replace",
        "verify": False,
        "num_replicas": 3,
        "rank": 2,
        "reader_threads": 2,
        "pin_threads": True,
        "share_buffers_with": DataLoader(NUMBERS),
        "decoder": "libjpeg",
    }
    loader = DataLoader(**given)
    assert {name: getattr(loader, name) for name in given} == given
    assert all(hasattr(loader, name) for name in list(inspect.signature(DataLoader.__init__).parameters)[1:])
    assert isinstance(loader, torch.utils.data.DataLoader)


def test_samplers_are_of_torchs_kinds(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    assert isinstance(DataLoader(dataset, shuffle=True).sampler, RandomSampler)
    assert isinstance(DataLoader(dataset).sampler, SequentialSampler)
    assert type(DataLoader(dataset).batch_sampler) is BatchSampler
    assert DataLoader(dataset, batch_size=None).batch_sampler is None
    loader = DataLoader(dataset, 4, shuffle=True, seed=2, num_workers=1)
    indices = list(loader.batch_sampler)  # type: ignore[arg-type]
    loader.set_epoch(0)
    assert [batch[1].tolist() for batch in loader] == [
        [dataset.targets[i] for i in batch] for batch in indices
    ]


def rebuilt(loader: DataLoader) -> DataLoader:
    """As trainers do it: the constructor's arguments from attributes of the same name."""
    names = list(inspect.signature(type(loader).__init__).parameters)[1:]
    attributes = {name: value for name, value in vars(loader).items() if name in names}
    attributes["multiprocessing_context"] = loader.multiprocessing_context
    attributes |= {"sampler": loader.sampler, "batch_sampler": None}
    return type(loader)(**attributes)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shuffle": True, "seed": 4},
        {"shuffle": True, "seed": 4, "num_replicas": 2, "rank": 1, "drop_last": True},
        {"shuffle": False},
        {"batch_size": None, "shuffle": True},
        {"sampler": [5, 2, 2]},
        {"shuffle": True, "mode": "fully", "return_index": True, "dtype": torch.float16},
        {"num_workers": 0, "shuffle": True, "transform": RANDOM},
    ],
)
def test_building_it_again_from_its_attributes(arguments: dict[str, Any], photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    loader = DataLoader(dataset, **{"batch_size": 4, "num_workers": 1, "seed": 1, **arguments})
    again = rebuilt(loader)
    assert again.sampler is loader.sampler
    assert len(again) == len(loader)
    epochs = []
    for made in (loader, again, rebuilt(again)):
        made.set_epoch(3)
        epochs.append([[image, torch.as_tensor(label), *index] for image, label, *index in made])
    assert hashes(epochs[0]) == hashes(epochs[1]) == hashes(epochs[2])
    assert vars(again).keys() == vars(loader).keys()


def test_shuffle_false_beside_our_sampler_keeps_its_order(photos_file: pathlib.Path) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 4, shuffle=True, seed=4, num_workers=1)
    again = DataLoader(loader.dataset, 4, shuffle=False, sampler=loader.sampler, num_workers=1)
    expected = hashes(loader)
    again.set_epoch(0)
    assert hashes(again) == expected


def test_copies(photos_file: pathlib.Path) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 4, shuffle=True, seed=4, num_workers=1)
    expected = hashes(loader)
    deep = copy.deepcopy(loader)
    deep.set_epoch(0)
    assert hashes(deep) == expected


def test_workers_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "default_num_workers", lambda: 7)
    loader = DataLoader(NUMBERS)
    assert (loader.num_workers, loader.prefetch_factor) == (7, 2)
    assert DataLoader(NUMBERS, persistent_workers=True, multiprocessing_context="spawn").num_workers == 7


def test_many_threads_are_nothing_to_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DataLoader(NUMBERS, num_workers=500)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="memory is pinned where there is an accelerator")
def test_pin_memory_without_a_device(photos_file: pathlib.Path) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 4, pin_memory=True, num_workers=1)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        batches = iter(loader)
    assert not next(batches)[0].is_pinned()


# ---- paths ----


def test_paths_of_any_kind(photos: pathlib.Path, photos_file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(photos, tmp_path / "again.dts", progress=False)
    expected = hashes(DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 4, num_workers=1))
    for path in (photos_file, str(photos_file), report):
        loader = DataLoader(path, 4, transform=FIXED, num_workers=1)
        assert isinstance(loader.dataset, torch_dts.DTSDataset)
        assert hashes(loader) == expected


def corrupt(path: pathlib.Path, tmp_path: pathlib.Path, offset: int) -> pathlib.Path:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    damaged = tmp_path / "damaged.dts"
    damaged.write_bytes(content)
    return damaged


def test_damage_and_what_verify_sees_of_it(photos_file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    # In the zeros behind the last sample: no picture changes, only the block's checksum.
    path = corrupt(photos_file, tmp_path, photos_file.stat().st_size - 1000)
    expected = hashes(DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 4, shuffle=True, seed=1))

    def make(**kwargs: Any) -> Callable[[], list[str]]:
        loader = DataLoader(
            torch_dts.DTSDataset(path, FIXED), 4, shuffle=True, seed=1, num_workers=1, **kwargs
        )
        return lambda: hashes(loader)

    assert make(verify=False)() == expected
    for mode in ("partial", "fully"):
        found = make(verify="blocks", mode=mode, shuffle_window=16)
        for _ in range(2):
            with pytest.raises(torch_dts.CorruptFileError, match=r"damaged.dts.*block 0.*CRC-32"):
                found()
    with pytest.raises(torch_dts.CorruptFileError, match=r"damaged.dts.*CRC-32"):
        iter(DataLoader(torch_dts.DTSDataset(path, FIXED), 4, verify="file"))
    with pytest.raises(torch_dts.CorruptFileError, match=r"damaged.dts.*CRC-32"):
        DataLoader(path, 4, transform=FIXED, verify="file")


def test_the_whole_file_is_checked_once(photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_dts.loader import _native_run

    checked = []
    monkeypatch.setattr(_native_run, "check_files", lambda dataset: checked.append(dataset))
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), 4, verify="file", num_workers=1)
    for _ in range(3):
        list(loader)
    assert len(checked) == 1


# ---- memory that two loaders share ----


def test_two_loaders_share_their_buffers_in_turn(blocks_file: pathlib.Path) -> None:
    arguments: dict[str, Any] = {
        "batch_size": 4,
        "shuffle": True,
        "seed": 1,
        "mode": "partial",
        "num_workers": 1,
    }
    train = DataLoader(torch_dts.DTSDataset(blocks_file, FIXED), shuffle_window=2, **arguments)
    expected = hashes(train)
    validate = DataLoader(
        torch_dts.DTSDataset(blocks_file, FIXED), shuffle_window=1, share_buffers_with=train, **arguments
    )
    for _ in range(2):
        train.set_epoch(0)
        assert hashes(train) == expected
        assert len(hashes(validate)) == 5
    begun = iter(train)
    next(begun)
    with pytest.raises(ValueError, match=r"in use|another"):
        iter(validate)
    del begun
    assert len(hashes(validate)) == 5


# ---- what it counted ----


@pytest.mark.parametrize("num_workers", [0, 2])
def test_stats(num_workers: int, photos_file: pathlib.Path) -> None:
    # Not kept in memory: another loader of this process may hold the file already.
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    loader = DataLoader(dataset, 4, num_workers=num_workers, mode="partial")
    assert loader.stats().bottleneck == "none"
    list(loader)
    list(loader)
    loader.close()
    stats = loader.stats()
    assert (stats.num_images, stats.num_batches) == (2 * NUM_PHOTOS, 12)
    assert stats.bytes_read > 0
    assert stats.decode_seconds > 0
    assert stats.bottleneck in ("disk", "decoding", "consumer")
