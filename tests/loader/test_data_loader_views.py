# SPDX-License-Identifier: Apache-2.0
"""``views=``, ``repeat=`` and Views: each image is that of a decode of its own with the view's number."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from loader_sets import FIXED, RANDOM, photo
from PIL import Image
from recognise_sets import cifar, mnist
from torch import Tensor
from torch.utils.data import Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts import DataLoader, DTSDataset, DTSIterableDataset, _native
from torch_dts.transforms import Views
from torch_dts.transforms._read import read

SEED = 9
SMALL = transforms.Compose(
    [
        transforms.RandomResizedCrop(7, (0.05, 0.3)),
        transforms.RandomGrayscale(0.5),
        transforms.ToTensor(),
    ]
)


def image_of(
    transform: Any, pixels: Any, index: int, view: int, epoch: int = 0, occurrence: int = 0
) -> Tensor:
    """``[C, H, W]``: what the plan of a lone view makes of an image that is decoded for it alone."""
    pixels = np.ascontiguousarray(pixels).reshape(*pixels.shape[:2], -1)
    plan = read(transform, source_channels=pixels.shape[2], source_size=pixels.shape[:2]).plan
    assert plan is not None
    images, status = _native.run_plan(
        torch.from_numpy(pixels.reshape(-1).copy()),
        torch.tensor([0]),
        torch.tensor([pixels.size]),
        torch.tensor([pixels.shape]),
        plan.encode(),
        torch.tensor([index]),
        torch.tensor([occurrence]),
        SEED,
        epoch,
        view,
    )
    assert not status.any()
    return images[0]


def same_images(images: Tensor, expected: Iterable[Tensor]) -> bool:
    return torch.equal(images, torch.stack(list(expected)))


@pytest.fixture(scope="module")
def sources(photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """A set by its name, without transform."""
    root = tmp_path_factory.mktemp("views")
    mixed = root / "mixed"
    (mixed / "a").mkdir(parents=True)
    for number in range(9):
        image = photo(number, (40 + number, 33)).convert("L" if number % 3 == 1 else "RGB")
        if number % 3 == 2:
            image.save(mixed / "a" / f"{number}.png")
        else:
            image.save(mixed / "a" / f"{number}.jpg", quality=90)
    pixels = [(np.asarray(photo(number, (30, 26))), number) for number in range(8)]

    def make(name: str) -> Any:
        if name == "folder":
            return ImageFolder(photos)
        if name == "mixed":  # JPEG, gray JPEG, PNG, which Pillow decodes
            return ImageFolder(mixed)
        if name == "cifar":
            return cifar(9)
        if name == "mnist":
            return mnist(9)
        path = root / f"{name}.dts"
        if not path.exists() and name == "raw":
            items = [(Image.fromarray(array), label) for array, label in pixels]
            torch_dts.convert(items, path, encoding="raw", progress=False)
        elif not path.exists():
            torch_dts.convert(photos, path, restart_interval=1, progress=False)
        return DTSDataset(path)

    return make


@pytest.mark.parametrize("name", ["folder", "restart", "mixed", "raw", "cifar", "mnist"])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_views_of_every_kind_of_source(name: str, num_workers: int, sources: Any) -> None:
    dataset = sources(name)
    originals = [np.asarray(dataset[i][0]) for i in range(len(dataset))]
    labels = [dataset[i][1] for i in range(len(dataset))]
    crop = transforms.Compose(
        [transforms.RandomCrop(6, padding=3), SMALL.transforms[0], transforms.ToTensor()]
    )
    flip = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.Resize((6, 5))])
    flip.transforms.append(transforms.ToTensor())
    dataset.transform = Views([crop, flip, crop])
    loader = DataLoader(dataset, 4, repeat=2, seed=SEED, num_workers=num_workers)
    assert len(loader) == 2 * -(-len(dataset) // 4)
    found = list(loader)
    assert len(found) == len(loader)
    for number, (views, found_labels) in enumerate(found):
        rows = range(number // 2 * 4, min(len(dataset), number // 2 * 4 + 4))
        assert found_labels.tolist() == [labels[i] for i in rows]
        assert type(views) is list
        for v, (images, part) in enumerate(zip(views, (crop, flip, crop), strict=True)):
            view = number % 2 * 3 + v
            assert same_images(images, [image_of(part, originals[i], i, view) for i in rows])
    assert loader.stats().num_images == len(dataset)
    assert loader.stats().num_batches == len(loader)
    loader.close()


def test_views_of_a_plain_transform(photos: pathlib.Path) -> None:
    plain = ImageFolder(photos)
    loader = DataLoader(ImageFolder(photos, RANDOM), 5, shuffle=True, views=2, seed=SEED, return_index=True)
    for epoch in range(2):
        for (one, other), labels, indices in loader:
            for view, images in enumerate((one, other)):
                expected = [
                    image_of(RANDOM, np.asarray(plain[i][0]), i, view, epoch) for i in indices.tolist()
                ]
                assert same_images(images, expected)
            assert labels.tolist() == [plain.targets[i] for i in indices]
    # view 0 is what a loader of one view gives
    lone = DataLoader(ImageFolder(photos, RANDOM), 5, shuffle=True, seed=SEED)
    loader.set_epoch(0)
    pairs = zip(lone, loader, strict=True)
    assert all(torch.equal(batch[0], views[0]) for batch, (views, *_) in pairs)


def test_repeated_batches(photos_file: pathlib.Path) -> None:
    dataset = DTSDataset(photos_file, RANDOM)
    plain = DTSDataset(photos_file)
    arguments: dict[str, Any] = {"batch_size": 4, "shuffle": True, "seed": SEED, "drop_last": True}
    lone = list(DataLoader(dataset, **arguments, return_index=True))
    loader = DataLoader(dataset, **arguments, repeat=3, return_index=True, memory_format=torch.channels_last)
    batches = iter(loader)
    assert len(batches) == len(loader) == 15
    found = list(batches)
    assert len(found) == 15
    for number, (images, labels, indices) in enumerate(found):
        assert torch.equal(indices, lone[number // 3][2])
        assert torch.equal(labels, lone[number // 3][1])
        assert images.is_contiguous(memory_format=torch.channels_last)
        expected = [image_of(RANDOM, np.asarray(plain[i][0]), i, number % 3) for i in indices.tolist()]
        assert same_images(images, expected)
    # each batch's labels are its own
    found[0][1].zero_()
    assert torch.equal(found[1][1], lone[0][1])
    loader.set_epoch(0)
    batches = iter(loader)
    next(batches)
    del batches  # in the middle of a group
    loader.set_epoch(0)
    assert torch.equal(next(iter(loader))[0], found[0][0])


def test_each_sample_of_a_loader_without_batches(photos_file: pathlib.Path) -> None:
    dataset = DTSDataset(photos_file, FIXED)
    loader = DataLoader(Subset(dataset, range(3)), None, views=2, repeat=2, seed=SEED, num_workers=1)
    found = list(loader)
    assert len(loader) == len(found) == 6
    for number, (views, label) in enumerate(found):
        assert type(views) is list
        assert all(torch.equal(view, dataset[number // 2][0]) for view in views)
        assert label == dataset[number // 2][1]


def test_a_collate_fn_gets_the_samples_as_the_transform_gives_them(photos_file: pathlib.Path) -> None:
    dataset = DTSDataset(photos_file, FIXED)
    loader = DataLoader(dataset, 4, views=2, repeat=2, num_workers=1, collate_fn=lambda items: items)
    found = list(loader)
    assert len(found) == 12
    for views, label in found[1]:
        assert type(views) is list
        assert [view.shape for view in views] == [(3, 16, 16)] * 2
        assert isinstance(label, int)
    plain = DataLoader(dataset, 4, repeat=2, num_workers=1, collate_fn=lambda items: items)
    assert all(isinstance(image, Tensor) for image, _ in next(iter(plain)))


def test_a_view_of_one_is_a_list(photos_file: pathlib.Path) -> None:
    images, _ = next(iter(DataLoader(DTSDataset(photos_file, Views([FIXED])), 2, num_workers=1)))
    assert [view.shape for view in images] == [(2, 3, 16, 16)]


def test_bad_samples_are_zeros_in_all_views(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir()
    photo(1, (30, 30)).save(tmp_path / "a" / "0.jpg")
    (tmp_path / "a" / "1.jpg").write_bytes(b"no picture")
    loader = DataLoader(ImageFolder(tmp_path, FIXED), 2, views=2, repeat=2, num_workers=1, on_error="replace")
    with pytest.warns(UserWarning, match="replaced by zeros"):
        found = list(loader)
    assert len(found) == 2
    assert all(view[0].any() and not view[1].any() for views, _ in found for view in views)
    assert loader.stats().num_replaced == 1
    raising = DataLoader(ImageFolder(tmp_path, FIXED), 2, views=2, num_workers=1)
    with pytest.raises(Image.UnidentifiedImageError, match=r"1\.jpg"):
        list(raising)


def test_what_one_view_refuses_is_the_transforms_error_or_its_result(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir()
    photo(1, (30, 30)).save(tmp_path / "a" / "0.jpg")
    photo(2, (12, 30)).save(tmp_path / "a" / "1.jpg")
    large = transforms.Compose([transforms.RandomCrop(20), transforms.ToTensor()])
    with pytest.raises(ValueError, match=r"Required crop size .* \[.*1\.jpg"):
        list(DataLoader(ImageFolder(tmp_path, Views([FIXED, large])), 2, num_workers=1))


def test_occurrences_and_ranks_go_on_as_ever(photos_file: pathlib.Path) -> None:
    dataset = DTSDataset(photos_file, RANDOM)
    plain = np.asarray(DTSDataset(photos_file)[3][0])
    loader = DataLoader(dataset, 2, sampler=[3, 3], repeat=2, seed=SEED, num_workers=1)
    for view, (images, _) in enumerate(loader):
        assert same_images(images, [image_of(RANDOM, plain, 3, view, 0, times) for times in range(2)])
    parts = [
        DataLoader(
            dataset, 4, repeat=2, seed=SEED, num_replicas=2, rank=rank, num_workers=1, return_index=True
        )
        for rank in range(2)
    ]
    indices = [torch.cat([batch[2] for batch in part]).tolist() for part in parts]
    assert len(indices[0]) == len(indices[1]) == 24
    assert set(indices[0] + indices[1]) == set(range(23))
    stream = DTSIterableDataset(photos_file, RANDOM, seed=SEED)
    assert len(DataLoader(stream, 4, repeat=3)) == 18
    assert len(list(DataLoader(stream, 4, repeat=3, num_workers=1))) == 18
    assert len(DataLoader(stream, None, repeat=3)) == 69


def test_set_transform_may_change_the_views(photos_file: pathlib.Path) -> None:
    loader = DataLoader(DTSDataset(photos_file, FIXED), 4, num_workers=1)
    assert next(iter(loader))[0].shape == (4, 3, 16, 16)
    loader.set_transform(Views([FIXED, SMALL]))
    assert [view.shape[2] for view in next(iter(loader))[0]] == [16, 7]
    two = DataLoader(DTSDataset(photos_file, SMALL), 4, num_workers=1, views=2)
    assert [view.shape[2] for view in next(iter(two))[0]] == [7, 7]
    two.set_transform(Views([FIXED, SMALL]))
    with pytest.raises(ValueError, match="views is 2, but the transform is a Views already"):
        iter(two)
    two.set_transform(FIXED)
    assert [view.shape[2] for view in next(iter(two))[0]] == [16, 16]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"views": 0}, ValueError, "views is 0, expected at least 1"),
        ({"repeat": -1}, ValueError, "repeat is -1, expected at least 1"),
        ({"views": 1.5}, TypeError, "views is 1.5, expected an int"),
        ({"views": 20, "repeat": 13}, ValueError, "views is 20 and repeat is 13: 260 augmentations"),
    ],
)
def test_wrong_numbers(arguments: Any, error: type[Exception], text: str, photos_file: pathlib.Path) -> None:
    with pytest.raises(error, match=text):
        DataLoader(DTSDataset(photos_file, FIXED), 2, **arguments)


def test_dtype_is_that_of_all_views(photos_file: pathlib.Path) -> None:
    views = Views([FIXED, SMALL])
    loader = DataLoader(DTSDataset(photos_file, views), 2, dtype=torch.bfloat16, num_workers=1)
    assert [view.dtype for view in next(iter(loader))[0]] == [torch.bfloat16] * 2


def test_a_png_is_decoded_once_for_all_views(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    stream = io.BytesIO()
    photo(1, (30, 30)).save(stream, "PNG")
    (tmp_path / "a" / "0.png").write_bytes(stream.getvalue())
    opened: list[int] = []
    real_open = Image.open

    def counted(*args: Any, **kwargs: Any) -> Any:
        opened.append(1)
        return real_open(*args, **kwargs)

    loader = DataLoader(ImageFolder(tmp_path, RANDOM), 1, views=2, repeat=2, num_workers=0, seed=SEED)
    monkeypatch.setattr(Image, "open", counted)
    found = list(loader)
    assert len(opened) == 1
    original = np.asarray(real_open(tmp_path / "a" / "0.png").convert("RGB"))
    for number, (views, _) in enumerate(found):
        for v, images in enumerate(views):
            assert same_images(images, [image_of(RANDOM, original, 0, number * 2 + v)])
