# SPDX-License-Identifier: Apache-2.0
"""The order of epochs and their random choices: functions of seed, epoch, window and ranks alone."""

from __future__ import annotations

import itertools
import pathlib
import pickle
from typing import Any

import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, NUM_BLOCKS_SAMPLES, NUM_PHOTOS, RANDOM, hashes, labels_of
from torch.utils.data import BatchSampler, RandomSampler, Subset, WeightedRandomSampler
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader import _memory
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._order import Order

PLENTY = 1 << 50


def available(monkeypatch: pytest.MonkeyPatch, num_bytes: float) -> None:
    monkeypatch.setattr(_memory, "available_bytes", lambda root="/": num_bytes)


def block_loader(path: pathlib.Path, **kwargs: Any) -> DataLoader:
    return DataLoader(
        torch_dts.DTSDataset(path, RANDOM),
        **{"batch_size": 4, "shuffle": True, "seed": 5, "shuffle_window": 2, **kwargs},
    )


@pytest.mark.parametrize(
    ("mode", "share"), [("partial", 0), ("fully", 0), ("auto", 0), ("auto", 1.5), ("auto", PLENTY)]
)
def test_nothing_but_the_seed_decides_what_batches_hold(
    mode: Any, share: float, blocks_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(monkeypatch, share * blocks_file.stat().st_size)
    expected = hashes(block_loader(blocks_file, num_workers=0, mode="partial"))
    assert len(set(expected)) == 5
    for num_workers, readers, prefetch in itertools.product((0, 1, 2, 8), (1, 3), (2, 5)):
        loader = block_loader(
            blocks_file,
            mode=mode,
            num_workers=num_workers,
            reader_threads=readers,
            prefetch_factor=prefetch if num_workers else None,
        )
        assert hashes(loader) == expected
        loader.close()


def test_the_order_is_the_formats(blocks_file: pathlib.Path) -> None:
    file = torch_dts.open(blocks_file)
    for window, expected_window in ((2, 2), (16, 16), ("all", 0), (None, 16)):
        loader = block_loader(blocks_file, shuffle_window=window, mode="partial")
        loader.set_epoch(3)
        order = Order(NUM_BLOCKS_SAMPLES, file, shuffle=True, shuffle_window=expected_window)
        expected = order.to_dataset(order.stream(5, 3).ids).tolist()
        with pytest.warns(UserWarning, match="reads each sample singly") if window == "all" else _nothing():
            found = labels_of(loader)
        assert list(itertools.chain(*found)) == expected
    fully = block_loader(blocks_file, shuffle_window=None, mode="fully", num_workers=1)
    uniform = Order(NUM_BLOCKS_SAMPLES, file, shuffle=True).stream(5, 0).ids
    assert list(itertools.chain(*labels_of(fully))) == file.positions_of(uniform).tolist()


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def test_folder_and_file_make_the_same_choices(photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    def by_index(dataset: Any) -> dict[int, bytes]:
        loader = DataLoader(dataset, batch_size=5, shuffle=True, seed=3, return_index=True, num_workers=2)
        loader.set_epoch(4)
        return {
            int(index): image.numpy().tobytes()
            for images, _, indices in loader
            for image, index in zip(images, indices, strict=True)
        }

    found = by_index(ImageFolder(photos, RANDOM))
    assert found == by_index(torch_dts.DTSDataset(photos_file, RANDOM))
    assert len(set(found.values())) == NUM_PHOTOS
    subset = by_index(Subset(ImageFolder(photos, RANDOM), [7, 2]))
    assert subset == {0: found[7], 1: found[2]}  # the choices of a Subset are those of the dataset below


def test_the_iterable_dataset_decides_its_order(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(blocks_file, RANDOM, seed=5, shuffle_window=2)
    native = labels_of(DataLoader(dataset, batch_size=4, num_workers=2))
    again = labels_of(DataLoader(dataset, batch_size=4, num_workers=0))
    assert native != again
    dataset.set_epoch(0)
    assert labels_of(torch.utils.data.DataLoader(dataset, batch_size=4)) == native
    assert hashes(block_loader(blocks_file)) == hashes(
        DataLoader(torch_dts.DTSIterableDataset(blocks_file, RANDOM, seed=5, shuffle_window=2), batch_size=4)
    )


# ---- epochs and seeds ----


def test_each_iteration_is_a_new_epoch_and_epochs_can_be_repeated(photos_file: pathlib.Path) -> None:
    loader = block_loader(photos_file, num_workers=2)
    epochs = [hashes(loader) for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    for set_epoch in (loader.set_epoch, loader.sampler.set_epoch, loader.batch_sampler.set_epoch):  # type: ignore[union-attr]
        set_epoch(1)
        assert hashes(loader) == epochs[1]
        assert hashes(loader) == epochs[2]


def test_without_shuffling_epochs_differ_in_their_choices_only(photos_file: pathlib.Path) -> None:
    loader = block_loader(photos_file, shuffle=False, num_workers=1)
    first, second = list(loader), list(loader)
    assert labels_of(first) == labels_of(second)
    assert all(not torch.equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
    loader.set_epoch(0)
    assert hashes(loader) == hashes(first)


def test_a_seed_is_drawn_at_the_first_iteration(photos_file: pathlib.Path) -> None:
    torch.manual_seed(1)
    loaders = [block_loader(photos_file, seed=None) for _ in range(2)]
    state = torch.get_rng_state()
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state)  # constructing drew nothing
    first = hashes(loaders[0])
    state = torch.get_rng_state()
    hashes(loaders[0])
    assert torch.equal(torch.get_rng_state(), state)  # once for all epochs
    assert hashes(loaders[1]) != first
    torch.manual_seed(1)
    assert hashes(block_loader(photos_file, seed=None)) == first


def test_torchs_generator_moves_no_more_than_with_torchs_loader(photos: pathlib.Path) -> None:
    def drawn(loader: Any) -> int:
        torch.manual_seed(0)
        for _ in range(2):
            list(loader)
        state = torch.get_rng_state()
        torch.manual_seed(0)
        for count in range(10):
            if torch.equal(torch.get_rng_state(), state):
                return count
            torch.empty((), dtype=torch.int64).random_()
        return 10

    dataset = ImageFolder(photos, FIXED)
    assert drawn(DataLoader(dataset, 8, shuffle=True)) == 1
    assert drawn(torch.utils.data.DataLoader(dataset, 8, shuffle=True)) >= 2


def test_a_generator_gives_the_seed(photos_file: pathlib.Path) -> None:
    state = torch.get_rng_state()
    made = [
        hashes(block_loader(photos_file, seed=None, generator=torch.Generator().manual_seed(number)))
        for number in (4, 4, 5)
    ]
    assert made[0] == made[1] != made[2]
    assert torch.equal(torch.get_rng_state(), state)


def test_pickled_loaders_go_on_alike(photos_file: pathlib.Path) -> None:
    loader = block_loader(photos_file, num_workers=1)
    list(loader)
    begun = iter(loader)
    copy = pickle.loads(pickle.dumps(loader))
    del begun
    assert hashes(copy) == hashes(loader)


def test_free_workers_deliver_the_same_sets(blocks_file: pathlib.Path) -> None:
    expected = [sorted(batch) for batch in labels_of(block_loader(blocks_file))]
    for arguments in ({"reproducible": False}, {"in_order": False}):
        loader = block_loader(blocks_file, num_workers=4, **arguments)
        assert [sorted(batch) for batch in labels_of(loader)] == expected


# ---- samplers of the user's ----


def test_samplers_are_read_as_they_are(photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    weights = torch.arange(NUM_PHOTOS, dtype=torch.float64)
    for make in (
        lambda: list(range(NUM_PHOTOS)[::-1]),
        lambda: WeightedRandomSampler(weights, 30, generator=torch.Generator().manual_seed(3)),
        lambda: RandomSampler(range(NUM_PHOTOS), generator=torch.Generator().manual_seed(3)),
        lambda: torch.utils.data.SubsetRandomSampler([4, 9], generator=torch.Generator().manual_seed(3)),
    ):
        expected = torch.utils.data.DataLoader(ImageFolder(photos, FIXED), 4, sampler=make())
        for dataset in (ImageFolder(photos, FIXED), torch_dts.DTSDataset(photos_file, FIXED)):
            loader = DataLoader(dataset, 4, sampler=make(), num_workers=2)
            assert len(loader) == len(expected)
            assert hashes(loader) == hashes(expected)
            expected = torch.utils.data.DataLoader(ImageFolder(photos, FIXED), 4, sampler=make())


def test_batch_samplers_are_read_as_they_are(photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    batches = [[3], [5, 1, 4], [22, -1], [0] * 9]
    expected = hashes(torch.utils.data.DataLoader(ImageFolder(photos, FIXED), batch_sampler=batches))
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    assert hashes(DataLoader(dataset, batch_sampler=batches, num_workers=2)) == expected
    wrapped = BatchSampler(RandomSampler(dataset, generator=torch.Generator().manual_seed(1)), 5, True)
    found = labels_of(DataLoader(dataset, batch_sampler=wrapped, num_workers=1))
    wrapped = BatchSampler(RandomSampler(dataset, generator=torch.Generator().manual_seed(1)), 5, True)
    assert found == [[dataset.targets[i] for i in batch] for batch in wrapped]


def test_a_sample_that_comes_again_is_augmented_anew(photos: pathlib.Path) -> None:
    loader = DataLoader(ImageFolder(photos, RANDOM), 6, sampler=[7, 7, 3, 7, 7, 3, 7, 7, 7], seed=2)
    first, second = (batch[0] for batch in loader)
    images = [*first, *second]
    assert len({image.numpy().tobytes() for image in images}) == 9
    loader.set_epoch(0)
    assert torch.equal(next(iter(loader))[0], first)


def test_endless_samplers_are_asked_a_few_batches_ahead(photos: pathlib.Path) -> None:
    asked = []

    class Endless:
        def __iter__(self) -> Any:
            for number in itertools.count():
                asked.append(number)
                yield number % NUM_PHOTOS

    loader = DataLoader(ImageFolder(photos, FIXED), 4, sampler=Endless(), num_workers=2)
    batches = iter(loader)
    for number in range(10):
        labels = next(batches)[1]
        assert labels.numel() == 4
        assert len(asked) <= 4 * (number + 6)
    with pytest.raises(TypeError, match="has no len"):
        len(batches)


def test_a_samplers_error_comes_in_its_place(photos: pathlib.Path) -> None:
    def failing() -> Any:
        yield from range(5)
        raise OSError("the list of samples is gone")

    class Batches(list[list[Any]]):
        """A batch sampler."""

    class Failing:
        def __iter__(self) -> Any:
            return failing()

    loader = DataLoader(ImageFolder(photos, FIXED), 2, sampler=Failing(), num_workers=1)
    batches = iter(loader)
    assert [next(batches)[1].numel() for _ in range(2)] == [2, 2]
    with pytest.raises(OSError, match="the list of samples is gone"):
        next(batches)
    assert next(batches, None) is None
    wrong = DataLoader(ImageFolder(photos, FIXED), 2, sampler=[0, 1, NUM_PHOTOS], num_workers=1)
    batches = iter(wrong)
    next(batches)
    with pytest.raises(IndexError, match=rf"the sampler \(list\) gave index {NUM_PHOTOS}, but the dataset"):
        next(batches)
    own = DataLoader(ImageFolder(photos, FIXED), batch_sampler=Batches([[0], [1, None]]), num_workers=1)
    batches = iter(own)
    next(batches)
    with pytest.raises(TypeError, match=r"the batch sampler \(Batches\) gave index None \(NoneType\)"):
        next(batches)
