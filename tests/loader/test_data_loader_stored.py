# SPDX-License-Identifier: Apache-2.0
"""``decode="none"``: the bytes of the samples, in the order and the batches of decoding."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import numpy as np
import pytest
import torch
from loader_sets import FIXED, photo, same
from PIL import Image
from recognise_sets import cifar, mnist
from torch.utils.data import ConcatDataset, RandomSampler, Subset
from torchvision.datasets import ImageFolder
from torchvision.io import decode_jpeg

import torch_dts
from torch_dts.loader import DataLoader


def undecoded(dataset: Any, batch_size: int | None = 4, **arguments: Any) -> DataLoader:
    return DataLoader(dataset, batch_size, decode="none", **arguments)


def file_bytes(dataset: ImageFolder) -> list[bytes]:
    return [pathlib.Path(path).read_bytes() for path, _ in dataset.samples]


def data_of(batches: Any) -> list[bytes]:
    """The samples of all batches, each a flat uint8 tensor."""
    images = [image for batch in batches for image in batch[0]]
    assert all(image.dtype == torch.uint8 and image.dim() == 1 for image in images)
    return [image.numpy().tobytes() for image in images]


@pytest.fixture(scope="module")
def odd(photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a PNG, a text, a cut JPEG and an empty file among its photos."""
    root = tmp_path_factory.mktemp("odd")
    shutil.copytree(photos, root, dirs_exist_ok=True)
    photo(1, (20, 30)).save(root / "cat" / "00.jpg", "PNG")
    (root / "cat" / "03.jpg").write_bytes(b"<html>gone</html>")
    (root / "dog" / "01.jpg").write_bytes((photos / "dog" / "04.jpg").read_bytes()[:200])
    (root / "dog" / "07.jpg").write_bytes(b"")
    return root


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("mode", ["partial", "fully"])
def test_the_bytes_of_a_file(mode: Any, num_workers: int, blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    expected = [bytes(dataset.file.read(i)) for i in range(20)]
    loader = undecoded(dataset, 6, mode=mode, num_workers=num_workers, shuffle=True, seed=3)
    for _ in range(2):
        batches = list(loader)
        assert [len(images) for images, _ in batches] == [6, 6, 6, 2]
        labels = torch.cat([labels for _, labels in batches]).tolist()
        assert sorted(labels) == list(range(20))
        assert data_of(batches) == [expected[label] for label in labels]
        del batches
    stats = loader.stats()
    assert (stats.num_images, stats.num_batches, stats.num_foreign) == (40, 8, 0)
    loader.close()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_bytes_of_a_folder_whatever_they_are(num_workers: int, odd: pathlib.Path) -> None:
    dataset = ImageFolder(odd)
    loader = undecoded(dataset, 5, num_workers=num_workers)
    for _ in range(2):
        batches = list(loader)
        assert data_of(batches) == file_bytes(dataset)
        assert torch.cat([labels for _, labels in batches]).tolist() == dataset.targets
    assert data_of(undecoded(odd, 5, num_workers=num_workers)) == file_bytes(dataset)


def test_the_order_is_that_of_decoding(photos_file: pathlib.Path, blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    padded = torch_dts.DTSDataset(blocks_file, FIXED)
    cases: list[tuple[Any, dict[str, Any]]] = [
        (dataset, {"shuffle": True, "seed": 5}),
        (dataset, {"sampler": range(22, 0, -3)}),
        (dataset, {"batch_sampler": [[4, 4, 1], [0], [9, 2]], "batch_size": 1}),
        (dataset, {"shuffle": True, "seed": 5, "drop_last": True}),
        (dataset, {"shuffle": True, "seed": 5, "last_batch": "fill", "return_mask": True}),
        (dataset, {"shuffle": True, "num_replicas": 3, "rank": 1, "uneven": "exact"}),
        (dataset, {"shuffle": True, "reproducible": False, "seed": 8}),
        (padded, {"shuffle": True, "num_replicas": 2, "rank": 1, "shuffle_window": 1, "mode": "partial"}),
        (padded, {"shuffle": True, "seed": 1, "order": "elastic", "mode": "fully"}),
        (Subset(dataset, [5, 3, 3, 20]), {}),
        (torch_dts.DTSIterableDataset(photos_file, FIXED, seed=2), {}),
    ]
    for data, arguments in cases:
        given = {"batch_size": 4, "num_workers": 1, **arguments}
        indices = not isinstance(data, torch_dts.DTSIterableDataset)
        found = []
        for how in ("exact", "none"):
            loader = DataLoader(data, return_index=indices, decode=how, **given)
            loader.set_epoch(3)
            found.append(list(loader))
        decoded, stored = found
        assert same([batch[1:] for batch in stored], [batch[1:] for batch in decoded])
        if indices:
            leaf = data.dataset if isinstance(data, Subset) else data
            numbers = torch.cat([batch[2] for batch in stored]).tolist()
            if isinstance(data, Subset):
                numbers = [data.indices[number] for number in numbers]
            assert data_of(stored) == [bytes(leaf.file.read(number)) for number in numbers]


def test_going_on_behind_some_batches(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    expected = list(undecoded(dataset, shuffle=True, seed=4))
    loader = undecoded(dataset, shuffle=True, seed=4)
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    state = loader.state_dict()
    assert state["decode"] == "none"
    resumed = undecoded(dataset, shuffle=True, num_workers=0)
    resumed.load_state_dict(state)
    assert same(list(resumed), expected[2:])
    decoding = DataLoader(dataset, 4, shuffle=True)
    decoding.load_state_dict(state)
    assert same([labels for _, labels in decoding], [labels for _, labels in expected[2:]])


def test_batches_that_are_kept_stay_as_they_are(photos: pathlib.Path) -> None:
    dataset = ImageFolder(photos)
    first_of_each = [images[0] for _ in range(3) for images, _ in undecoded(dataset, 3, num_workers=2)]
    expected = file_bytes(dataset)[::3] * 3
    assert [image.numpy().tobytes() for image in first_of_each] == expected


@pytest.mark.filterwarnings("ignore:The image decoding")
def test_torchvision_decodes_a_batch(photos: pathlib.Path) -> None:
    dataset = ImageFolder(photos)
    images, _ = next(iter(undecoded(dataset)))
    for decoded, (path, _) in zip(decode_jpeg(images), dataset.samples, strict=False):
        with Image.open(path) as picture:
            assert np.array_equal(decoded.permute(1, 2, 0).numpy(), np.asarray(picture))


def test_who_collates_gets_tensors_and_targets(photos: pathlib.Path) -> None:
    dataset = ImageFolder(photos, FIXED, target_transform=lambda label: f"class {label}")
    (images, targets), *_ = undecoded(dataset, 3)
    assert targets == tuple(["class 0"] * 3)
    taken = next(iter(undecoded(dataset, 3, collate_fn=lambda samples: samples, return_index=True)))
    assert [sample[1:] for sample in taken] == [("class 0", 0), ("class 0", 1), ("class 0", 2)]
    assert all(torch.equal(sample[0], image) for sample, image in zip(taken, images, strict=True))
    singly = list(undecoded(dataset, None))
    assert data_of([([image], target) for image, target in singly]) == file_bytes(dataset)
    assert singly[-1][1] == "class 2"


def test_a_file_that_can_not_be_read(odd: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shutil.copytree(odd, tmp_path, dirs_exist_ok=True)
    dataset = ImageFolder(tmp_path)
    expected = file_bytes(dataset)
    for number in (6, 9):
        pathlib.Path(dataset.samples[number][0]).unlink()
        expected[number] = b""
    loader = undecoded(dataset, 5, num_workers=1, on_error="replace")
    with pytest.warns(UserWarning, match=r"replaced by an empty tensor: .*sample 6 .*Further ones") as warned:
        batches = list(loader)
    assert data_of(batches) == expected
    assert len([warning for warning in warned if "replaced" in str(warning.message)]) == 1
    assert loader.stats().num_replaced == 2
    raising = iter(undecoded(dataset, 5, num_workers=1))
    assert data_of([next(raising)]) == expected[:5]
    with pytest.raises(FileNotFoundError, match=r"sample 6 \("):
        next(raising)
    assert data_of(list(raising)) == expected[10:]


def test_a_block_that_changed(blocks_file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "changed.dts"
    content = bytearray(blocks_file.read_bytes())
    content[20_000_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(torch_dts.CorruptFileError, match="CRC-32"):
        list(undecoded(torch_dts.DTSDataset(path), shuffle=True, mode="partial", on_error="replace"))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_pixel_sets_come_as_one_tensor(num_workers: int, tmp_path: pathlib.Path) -> None:
    for dataset in (cifar(), mnist()):
        pixels = torch.as_tensor(dataset.data)
        batches = list(undecoded(dataset, 4, num_workers=num_workers, shuffle=True, return_index=True))
        order = torch.cat([indices for _, _, indices in batches])
        assert [list(images.shape) for images, _, _ in batches] == [[n, *pixels.shape[1:]] for n in (4, 2)]
        assert all(images.is_contiguous() for images, _, _ in batches)
        assert torch.equal(torch.cat([images for images, _, _ in batches]), pixels[order])
        assert torch.cat([labels for _, labels, _ in batches]).tolist() == [
            dataset.targets[i] for i in order.tolist()
        ]
        path = torch_dts.convert(dataset, tmp_path / f"{type(dataset).__name__}.dts", progress=False)
        (images, labels), *_ = undecoded(path, 6, num_workers=num_workers)
        assert torch.equal(images, pixels)
        assert labels.tolist() == [int(target) for target in dataset.targets]


def test_samples_stored_as_pixels_have_their_shape(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    raw = torch_dts.convert(photos, tmp_path / "raw.dts", encoding="raw", progress=False)
    images = [image for batch, _ in undecoded(raw, 5, shuffle=False) for image in batch]
    for image, (path, _) in zip(images, ImageFolder(photos).samples, strict=True):
        with Image.open(path) as picture:
            assert np.array_equal(image.numpy(), np.asarray(picture))
    both: Any = ConcatDataset([cifar(2), torch_dts.DTSDataset(raw)])
    (mixed, _), *_ = undecoded(both, 4)
    assert torch.equal(torch.stack(mixed[:2]), torch.as_tensor(cifar(2).data))
    assert torch.equal(mixed[2], images[0])
    (gray, _), *_ = undecoded(ConcatDataset([mnist(1), Subset(mnist(2), [1])]), 2)
    assert torch.equal(gray, mnist(2).data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dtype", torch.float16),
        ("memory_format", torch.channels_last),
        ("views", 2),
        ("repeat", 3),
        ("device", "cuda"),
        ("devices", ["cpu", "cpu"]),
        ("pad_channels", 4),
        ("static_buffers", True),
        ("backend", "dali"),
    ],
)
def test_what_is_about_images_is_refused(name: str, value: Any, photos_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=f"{name} is .*, which is about decoded images, but decode='none'"):
        undecoded(photos_file, **{name: value})


def test_a_transform_is_refused(photos_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="transform is given, but decode='none' hands samples out"):
        undecoded(photos_file, transform=FIXED)
    loader = undecoded(photos_file)
    with pytest.raises(ValueError, match="transform is given, but decode='none' hands samples out"):
        loader.set_transform(FIXED)
    loader.set_transform(None)
    assert repr(loader).endswith("backend='cpu', decode='none')")
    with pytest.raises(ValueError, match="decode is 'all', expected 'exact', 'fast' or 'none'"):
        DataLoader(torch_dts.DTSDataset(photos_file), decode="all")  # type: ignore[arg-type]


def test_what_only_python_reads_is_refused(photos: pathlib.Path) -> None:
    class Own(ImageFolder):
        def __getitem__(self, index: int) -> Any:
            return index, index

    with pytest.raises(ValueError, match=r"decode='none' needs a data set that native code reads: .*Own"):
        iter(undecoded(Own(photos)))


def test_workers_of_an_iterable_dataset_without_a_transform(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(photos_file)
    assert undecoded(dataset).num_workers == undecoded(photos_file).num_workers
    assert undecoded(torch_dts.DTSDataset(photos_file), sampler=RandomSampler(range(23))).num_workers > 0
