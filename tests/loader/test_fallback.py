# SPDX-License-Identifier: Apache-2.0
"""A loader that works in Python: torch's batches, seeded sample by sample."""

from __future__ import annotations

import pathlib
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, default_collate, get_worker_info
from torchvision.datasets import ImageFolder

from torch_dts import DTSDataset
from torch_dts._seeding import sample_seeds
from torch_dts.loader._batch_plan import IndexBatch
from torch_dts.loader._fallback import FallbackLoader, fallback_loader

Make = Callable[..., pathlib.Path]


class Numbers(Dataset[Any]):
    """Items with a draw of each generator."""

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[int, float, float, float]:
        if index >= self.length:
            raise LookupError(f"no number {index}")
        return index, torch.rand(1, dtype=torch.float64).item(), random.random(), float(np.random.rand())


class Normals(Numbers):
    """An odd number of normal values an item: two generators keep the second of a pair."""

    def __getitem__(self, index: int) -> tuple[float, float]:
        return float(np.random.randn()), random.gauss(0, 1)


class Batches(Numbers):
    """Items that are made together."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [(index, torch.rand(1).item(), len(indices)) for index in indices]


class Counting(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        yield from range(7)[info.id :: info.num_workers] if info else range(7)


class Names(Dataset[float]):
    def __getitem__(self, name: str) -> tuple[str, float]:
        return name, random.random()


def made(dataset: Any, with_index: bool = False, with_mask: bool = False, **arguments: Any) -> FallbackLoader:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fallback_loader(
            DataLoader(dataset, **arguments), "a reason", with_index=with_index, with_mask=with_mask
        )


def epoch_of(loader: FallbackLoader, seed: int, epoch: int) -> Tensor:
    loader.begin(seed, epoch)
    return torch.cat([torch.stack([column.double() for column in batch], 1) for batch in loader])


def draws(number: int) -> list[float]:
    torch_generator = torch.Generator().manual_seed(number)
    return [
        torch.rand(1, dtype=torch.float64, generator=torch_generator).item(),
        random.Random(number).random(),
        float(np.random.RandomState(number >> 32).rand()),
    ]


def collate_and_draw(items: list[Any]) -> Any:
    return default_collate([(*item, torch.rand(1).item(), random.random()) for item in items])


def note_worker(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    info.dataset.length = 100 + worker  # type: ignore[attr-defined]


class Showing(Numbers):
    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        return index, info is not None and info.dataset is self, self.length


def test_samples_depend_on_their_index_and_epoch_only() -> None:
    indices = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    occurrences = [0, 0, 0, 1, 0, 0, 0, 0, 1, 1]
    expected = [
        [index, *draws(number)]
        for index, number in zip(indices, sample_seeds(indices, occurrences, 7, 2), strict=True)
    ]
    for num_workers in (0, 1, 2):
        persistent = num_workers == 2
        arguments: dict[str, Any] = {"num_workers": num_workers, "persistent_workers": persistent}
        loader = made(Numbers(), batch_size=3, sampler=indices, **arguments)
        assert len(loader) == 4
        assert epoch_of(loader, 7, 2).tolist() == expected
        following = torch.cat([torch.stack(batch, 1) for batch in loader])  # the next epoch
        assert torch.equal(following, epoch_of(loader, 7, 3))
        assert following.tolist() != expected
        assert epoch_of(loader, 7, 2).tolist() == expected
        del loader


def test_collating_draws_alike_in_any_process() -> None:
    here, there = (
        made(Numbers(), batch_size=4, collate_fn=collate_and_draw, num_workers=num_workers)
        for num_workers in (0, 1)
    )
    assert torch.equal(epoch_of(here, 1, 1), epoch_of(there, 1, 1))


def test_generators_of_the_training_are_left_alone() -> None:
    torch.manual_seed(1)
    random.seed(1)
    np.random.seed(1)
    random.gauss(0, 1)
    np.random.randn()
    before = torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)
    single = made(Numbers(), batch_size=None)
    batched = made(Numbers(), batch_size=3)
    failing = made(Numbers(), batch_size=3, sampler=[0, 1, 20])
    iterators = [iter(single), iter(batched), iter(failing)]  # torch draws a seed for each
    torch.set_rng_state(before[0])
    assert len([*iterators[0]]) == 10
    assert len([*iterators[1]]) == 4
    with pytest.raises(LookupError, match="no number 20"):
        next(iterators[2])
    after = np.random.get_state(legacy=False)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    assert np.array_equal(before[2]["state"].pop("key"), after["state"].pop("key"))
    assert before[2] == after  # the normal value in store among it


def test_normal_values_do_not_depend_on_the_sample_before() -> None:
    numbers = sample_seeds(list(range(10)), [], 3, 1)
    expected = [
        [float(np.random.RandomState(number >> 32).randn()), random.Random(number).gauss(0, 1)]
        for number in numbers
    ]
    for num_workers in (0, 2):
        assert epoch_of(made(Normals(), batch_size=3, num_workers=num_workers), 3, 1).tolist() == expected


def test_single_samples() -> None:
    here = [*made(Numbers(), batch_size=None)]
    there = [*made(Numbers(), batch_size=None, num_workers=1)]
    assert here == there
    assert list(here[4]) == [4, *draws(sample_seeds([4], [], 0, 0)[0])]


def test_whole_batches_are_seeded_as_a_whole() -> None:
    arguments: dict[str, Any] = {"batch_size": 4, "sampler": [3, 1, 0, 2, 5]}
    here = epoch_of(made(Batches(), **arguments), 1, 1)
    assert torch.equal(here, epoch_of(made(Batches(), num_workers=2, **arguments), 1, 1))
    assert here[:, 2].tolist() == [4, 4, 4, 4, 1]
    below = epoch_of(made(Subset(Batches(), [5, 3, 1, 0, 2, 5]), batch_size=4, sampler=range(1, 6)), 1, 1)
    assert torch.equal(below, here)  # the index is that of the dataset below


def test_names_have_the_seed_of_their_position() -> None:
    class Sampler:
        def __iter__(self) -> Iterator[list[str]]:
            yield ["b", "a"]
            yield ["c"]

    numbers = sample_seeds([0, 1, 2], [], 0, 0)
    expected = [random.Random(number).random() for number in numbers]
    for num_workers in (0, 1):
        batches = [*made(Names(), batch_sampler=Sampler(), num_workers=num_workers)]
        assert [name for names, _ in batches for name in names] == ["b", "a", "c"]
        assert [draw for _, column in batches for draw in column.tolist()] == expected


def test_index_at_the_end_of_items(image_folder: Make) -> None:
    loader = made(Numbers(), with_index=True, batch_size=2, sampler=[4, 2, 0])
    assert [batch[-1].tolist() for batch in loader] == [[4, 2], [0]]
    assert [item[-1] for item in made(Numbers(3), with_index=True, batch_size=None)] == [0, 1, 2]
    with pytest.raises(ValueError, match="return_index=True, but the items of a Counting"):
        made(Counting(), with_index=True)


def test_mask_at_the_end_of_items() -> None:
    for num_workers in (0, 1):
        loader = made(
            Numbers(),
            with_mask=True,
            batch_sampler=[IndexBatch([4, 2]), IndexBatch([0, 4], 1)],
            num_workers=num_workers,
        )
        assert [batch[-1].tolist() for batch in loader] == [[True, True], [True, False]]
    both = made(Numbers(3), with_index=True, with_mask=True, batch_size=None)
    assert [item[-2:] for item in both] == [[index, True] for index in range(3)]
    with pytest.raises(
        ValueError, match="return_mask=True can't be had of a Counting that is read in Python"
    ):
        made(Counting(), with_mask=True)


def test_file_is_read_in_batches_and_seeded_singly(dts_file: Make) -> None:
    def noisy(image: Any) -> Tensor:
        return torch.from_numpy(np.array(image)).float() + torch.rand(1) + random.random()

    dataset = DTSDataset(dts_file(classes={"a": 5, "b": 4}), transform=noisy)
    read: list[list[int]] = []
    read_many = dataset.file.read_many
    dataset.file.read_many = lambda indices: read.append(list(indices)) or read_many(indices)  # type: ignore
    loader = made(Subset(dataset, [8, 3, 1, 0]), batch_size=3)
    images, labels = next(iter(loader))
    assert read == [[8, 3, 1]]
    assert labels.tolist() == [1, 0, 0]
    for i, (index, number) in enumerate(zip(read[0], sample_seeds(read[0], [], 0, 0), strict=True)):
        plain = torch.from_numpy(np.array(DTSDataset(dataset.file.path)[index][0])).float()
        draw = torch.rand(1, generator=torch.Generator().manual_seed(number))
        assert torch.equal(images[i], plain + draw + random.Random(number).random())


def test_iterable_datasets_are_torchs() -> None:
    for num_workers in (0, 2):
        plain = DataLoader(Counting(), batch_size=2, num_workers=num_workers, drop_last=True)
        loader = made(Counting(), batch_size=2, num_workers=num_workers, drop_last=True)
        loader.begin(1, 1)
        assert [batch.tolist() for batch in loader] == [batch.tolist() for batch in plain]
    assert [*made(Counting(), batch_size=None)] == list(range(7))


def test_workers_see_the_users_dataset() -> None:
    loader = made(Showing(), batch_size=5, num_workers=2, worker_init_fn=note_worker)
    columns = [torch.stack([column.long() for column in batch]).tolist() for batch in loader]
    assert columns == [
        [[0, 1, 2, 3, 4], [1] * 5, [100] * 5],
        [[5, 6, 7, 8, 9], [1] * 5, [101] * 5],
    ]


def test_fresh_workers(fresh: Any) -> None:
    arguments: dict[str, Any] = {"batch_size": 5, "num_workers": 1}
    loader = made(torch.arange(10.0), multiprocessing_context=fresh, **arguments)
    assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_persistent_workers_that_are_gone_are_made_anew() -> None:
    loader = made(Numbers(), batch_size=4, num_workers=2, persistent_workers=True)
    expected = epoch_of(loader, 1, 0)
    gone: Any = loader._iterator
    gone._workers[0].terminate()  # as Ctrl-C ends them all
    gone._workers[0].join()
    assert torch.equal(epoch_of(loader, 1, 0), expected)
    again = loader._iterator
    assert again is not gone
    assert torch.equal(epoch_of(loader, 1, 0), expected)
    assert loader._iterator is again


def test_errors_are_torchs(image_folder: Make) -> None:
    arguments: dict[str, Any] = {"batch_size": 2, "sampler": [0, 30]}
    with pytest.raises(LookupError, match="no number 30"):
        next(iter(made(Numbers(), **arguments)))
    with pytest.raises(
        LookupError, match=r"Caught LookupError in DataLoader worker process 0(.|\n)*no number 30"
    ):
        next(iter(made(Numbers(), num_workers=1, **arguments)))
    with pytest.raises(TypeError, match="default_collate"):
        next(iter(made(ImageFolder(image_folder()))))


def test_warning_says_why_and_comes_once() -> None:
    plain = DataLoader(Numbers())
    text = "this DataLoader works as torch's own, in Python: a reason"
    with pytest.warns(UserWarning, match=f"^{text}$") as seen:
        loader = fallback_loader(plain, "a reason", stacklevel=2)
    assert [warning.filename for warning in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len([*loader, *loader]) == 20


def test_other_dataset_in_its_place() -> None:
    with pytest.warns(UserWarning, match="reason"):
        loader = fallback_loader(DataLoader(Numbers(3)), "reason", dataset=Batches(3))
    assert [batch[2].item() for batch in loader] == [1, 1, 1]
