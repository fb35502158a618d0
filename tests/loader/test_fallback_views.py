# SPDX-License-Identifier: Apache-2.0
"""Views and repeated batches of a loader that works in Python: as the native one's, seeds by view."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from loader_sets import photo
from torch import Tensor
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional

from torch_dts import DataLoader, DTSDataset, DTSIterableDataset
from torch_dts._seeding import sample_seeds, seed_generators
from torch_dts.loader._fallback_views import RepeatedBatches
from torch_dts.transforms import Views

SEED = 4
pytestmark = pytest.mark.filterwarnings("ignore:this DataLoader works as torch's own")


def noisy(image: Any) -> Tensor:
    """Nothing that can be read; draws one number."""
    return functional.to_tensor(image.resize((6, 6))) + torch.rand(1)


def smaller(image: Any) -> Tensor:
    return functional.to_tensor(image.resize((4, 4))) + torch.rand(1)


def expected(part: Any, image: Any, index: int, view: int, occurrence: int = 0) -> Tensor:
    seed_generators(sample_seeds([index], [occurrence], SEED, 0, view)[0])
    made: Tensor = part(image)
    return made


@pytest.mark.parametrize("kind", ["dts", "folder", "subset", "concat"])
@pytest.mark.parametrize("num_workers", [0, 1])
def test_each_view_has_its_seed(
    kind: str, num_workers: int, photos: pathlib.Path, photos_file: pathlib.Path
) -> None:
    folder, file = ImageFolder(photos, noisy), DTSDataset(photos_file, noisy)
    rows = list(range(23))
    dataset: Any = {
        "dts": file,
        "folder": folder,
        "subset": Subset(file, [7, 5, 3, 1, 0, 2]),
        "concat": ConcatDataset([folder, folder]),
    }[kind]
    if kind == "subset":
        rows = [7, 5, 3, 1, 0, 2]
    elif kind == "concat":
        rows = list(range(46))
    loader = DataLoader(dataset, 8, views=2, repeat=2, seed=SEED, num_workers=num_workers, return_index=True)
    batches = iter(loader)
    assert len(batches) == len(loader) == 2 * -(-len(rows) // 8)
    plain = ImageFolder(photos)
    for number, (views, labels, indices) in enumerate(batches):
        taken = rows[number // 2 * 8 : number // 2 * 8 + 8]
        assert labels.tolist() == [plain[row % 23][1] for row in taken]
        assert indices.tolist() == list(range(number // 2 * 8, number // 2 * 8 + len(taken)))
        assert type(views) is list
        for v, images in enumerate(views):
            view = number % 2 * 2 + v
            made = [expected(noisy, plain[row % 23][0], row, view) for row in taken]
            assert torch.equal(images, torch.stack(made))
    assert number + 1 == len(loader)


def test_views_of_the_users_own_sizes(photos_file: pathlib.Path) -> None:
    dataset = DTSDataset(photos_file, Views([noisy, smaller]))
    loader = DataLoader(dataset, 4, repeat=2, seed=SEED, num_workers=0, dtype=torch.float16)
    plain = DTSDataset(photos_file)
    for number, (views, _) in enumerate(loader):
        for v, (images, part) in enumerate(zip(views, (noisy, smaller), strict=True)):
            rows = range(number // 2 * 4, min(23, number // 2 * 4 + 4))
            made = [expected(part, plain[row][0], row, number % 2 * 2 + v) for row in rows]
            assert torch.equal(images, torch.stack(made).half())


def test_an_image_is_decoded_once(photos: pathlib.Path) -> None:
    loaded: list[str] = []

    def own_loader(path: str) -> Any:
        loaded.append(path)
        return photo(3, (9, 9))

    dataset = ImageFolder(photos, noisy, loader=own_loader)
    found = list(DataLoader(dataset, 6, views=3, repeat=2, num_workers=0))
    assert len(found) == 8
    assert len(loaded) == 23


class Own(Dataset[Any]):
    """Items of its own making; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        return torch.rand(2), index, str(index)


class OwnDict(Own):
    def __getitem__(self, index: int) -> Any:
        return {"number": torch.rand(())}


class OwnBatches(Own):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [(torch.rand(2), index) for index in indices]


def draw(index: int, view: int) -> Tensor:
    seed_generators(sample_seeds([index], [], SEED, 0, view)[0])
    return torch.rand(2)


def test_a_dataset_of_the_users_own_is_asked_for_each(photos: pathlib.Path) -> None:
    dataset = Own()
    found = list(DataLoader(dataset, 3, views=2, repeat=2, seed=SEED, num_workers=0))
    assert len(found) == 4
    assert len(dataset.asked) == 20
    for number, (views, indices, names) in enumerate(found):
        assert names == tuple(map(str, indices.tolist()))
        for v, images in enumerate(views):
            made = [draw(index, number % 2 * 2 + v) for index in indices.tolist()]
            assert torch.equal(images, torch.stack(made))
    repeated = list(DataLoader(dataset, None, repeat=2, seed=SEED, num_workers=0))
    assert [item[1] for item in repeated] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert torch.equal(repeated[3][0], draw(1, 1))


def test_items_of_any_kind() -> None:
    (first, *_) = DataLoader(OwnDict(), 5, views=2, seed=SEED, num_workers=0)
    assert [view["number"].shape for view in first] == [(5,), (5,)]
    assert not torch.equal(first[0]["number"], first[1]["number"])
    batches = list(DataLoader(OwnBatches(), 5, repeat=2, seed=SEED, num_workers=0))
    seed_generators(sample_seeds([0], [], SEED, 0, 1)[0])  # of the batch's first sample
    assert torch.equal(batches[1][0], torch.stack([torch.rand(2) for _ in range(5)]))


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


def test_streams(photos_file: pathlib.Path) -> None:
    stream = DTSIterableDataset(photos_file, noisy, shuffle=False)
    for batch_size, count in ((8, 6), (None, 46)):
        loader = DataLoader(stream, batch_size, views=2, repeat=2)
        found = list(loader)
        assert len(found) == len(loader) == count
        assert torch.equal(torch.as_tensor(found[0][1]), torch.as_tensor(found[1][1]))
        assert len({float(view.sum()) for views, _ in found[:2] for view in views}) == 4
    with pytest.raises(ValueError, match="the items of a Stream that is read in Python come once"):
        iter(DataLoader(Stream(), 2, repeat=2))


def test_views_of_views_are_refused(photos_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="views is 2, but the transform is a Views already"):
        iter(DataLoader(DTSDataset(photos_file, Views([noisy])), 2, views=2))
    with pytest.raises(ValueError, match="130 views times repeat=2 are 260 augmentations"):
        iter(DataLoader(DTSDataset(photos_file, Views([noisy] * 130)), 2, repeat=2))


def test_the_generators_are_given_back(photos_file: pathlib.Path) -> None:
    loader = DataLoader(DTSDataset(photos_file, noisy), 8, views=2, seed=SEED, num_workers=0)
    torch.manual_seed(1)
    batches = iter(loader)  # draws, as torch's
    before = torch.random.get_rng_state()
    next(batches)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_bad_images_are_black_in_all_views(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "0.jpg").write_bytes(b"no picture")
    loader = DataLoader(
        ImageFolder(tmp_path, Views([noisy, noisy])), 1, repeat=2, num_workers=0, on_error="replace"
    )
    with pytest.warns(UserWarning, match="replaced by a black image"):
        found = list(loader)
    assert all(view.unique().numel() == 1 for views, _ in found for view in views)
    assert loader.stats().num_replaced == 1


def test_repeated_batches_come_one_by_one() -> None:
    batches = RepeatedBatches(iter([[1, 2], [3, 4]]), 2)
    assert list(batches) == [1, 2, 3, 4]
