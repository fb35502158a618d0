# SPDX-License-Identifier: Apache-2.0
"""Every kind of source -> one list of samples."""

from __future__ import annotations

import errno
import io
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset
from torchvision.datasets import DatasetFolder, ImageFolder

from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import flatten, list_samples

Make = Callable[..., pathlib.Path]


@pytest.fixture
def listed(tmp_path: pathlib.Path) -> Iterator[Callable[..., Samples]]:
    """list_samples with defaults; closes what it gave."""
    made: list[Samples] = []

    def make(source: Any, **changes: Any) -> Samples:
        options: dict[str, Any] = {"class_to_idx": None, "allow_empty": False, "progress": False, **changes}
        made.append(list_samples(source, spool_dir=str(tmp_path), **options))
        return made[-1]

    yield make
    for samples in made:
        samples.close()


class Items(Dataset[Any]):
    """A map-style data set of given items, which counts how often each is asked for."""

    def __init__(self, items: list[Any], **attributes: Any) -> None:
        self.items = items
        self.asked = [0] * len(items)
        self.__dict__.update(attributes)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        self.asked[index] += 1
        item = self.items[index]
        return item() if callable(item) else item


def png(color: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (3, 2), color).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("kind", [str, pathlib.Path, os.fsencode, ImageFolder])
def test_a_folder(image_folder: Make, listed: Callable[..., Samples], kind: Callable[[str], Any]) -> None:
    root = image_folder(classes={"10": 1, "2": 2})
    samples = listed(kind(str(root)))
    assert samples.kind == "ImageFolder"
    assert samples.files == [path for path, _ in ImageFolder(root).samples]
    assert samples.names == ["10/0.jpg", "2/0.jpg", "2/1.jpg"]
    assert samples.labels.tolist() == [0, 1, 1]
    assert samples.labels.dtype == torch.int64
    assert samples.classes == ["10", "2"]
    assert samples.root == str(root)
    assert samples.spool is None


def test_folders_of_other_kinds(image_folder: Make, listed: Callable[..., Samples]) -> None:
    class Reversed(ImageFolder):
        def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
            return ["a", "b"], {"a": 1, "b": 0}

    def refuse(path: str) -> Any:
        raise AssertionError("items are not asked for")

    root = image_folder()
    samples = listed(Reversed(root, transform=str, loader=refuse))
    assert samples.kind == "Reversed"
    assert samples.classes == ["b", "a"]
    assert samples.labels.tolist() == [1, 1, 1, 0, 0]
    samples = listed(DatasetFolder(root, loader=str, extensions=(".jpg",)))
    assert len(samples) == 5


def test_a_folder_with_its_own_items_is_asked(image_folder: Make, listed: Callable[..., Samples]) -> None:
    class Relabelled(ImageFolder):
        def __getitem__(self, index: int) -> Any:
            return pathlib.Path(self.samples[index][0]).read_bytes(), 1 - self.samples[index][1]

    class Longer(Relabelled):
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index % 5)

    root = image_folder()
    samples = listed(Relabelled(root))
    assert samples.labels.tolist() == [1, 1, 1, 0, 0]
    assert samples.files == [""] * 5
    assert samples.read(3) == (root / "b" / "0.jpg").read_bytes()
    samples = listed(Subset(Longer(root), [5, 4]))
    assert samples.labels.tolist() == [1, 0]
    assert samples.read(0) == (root / "a" / "0.jpg").read_bytes()

    class WithPaths(ImageFolder):
        def __getitem__(self, index: int) -> Any:
            return (*super().__getitem__(index), self.samples[index][0])

    with pytest.raises(
        TypeError, match=r"found tuple of 3.*; WithPaths has items of its own: pass .*ImageFolder"
    ):
        listed(WithPaths(root))


def test_the_length_of_a_folder_is_its_own(image_folder: Make, listed: Callable[..., Samples]) -> None:
    class Shorter(ImageFolder):
        def __len__(self) -> int:
            return 4

    class Longer(ImageFolder):
        def __len__(self) -> int:
            return 6

    root = image_folder()
    samples = listed(Shorter(root))
    assert samples.files == [path for path, _ in ImageFolder(root).samples[:4]]
    samples = listed(Longer(root))
    assert samples.failed == {5: "Longer[5] raised IndexError: list index out of range"}
    assert samples.labels.tolist()[:5] == [0, 0, 0, 1, 1]


def test_a_folder_below_that_can_t_be_listed(
    image_folder: Make, listed: Callable[..., Samples], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = image_folder(classes={"a": 1, "b": 1, "b/deep": 1})
    folder = ImageFolder(root)
    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        if os.fspath(path) == str(root / "b" / "deep"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for source in (root, folder):
        with pytest.raises(PermissionError, match=r"Permission denied: the folder can't be listed.*b/deep'"):
            listed(source, allow_empty=True)
    assert len(listed(Subset(folder, [0]))) == 1


def test_subset_and_concat(image_folder: Make, listed: Callable[..., Samples]) -> None:
    first, second = ImageFolder(image_folder()), ImageFolder(image_folder(seed=1))
    both = ConcatDataset([first, Subset(second, [4, 0])])
    samples = listed(Subset(both, [6, 1, -2]))
    assert samples.files == [second.samples[0][0], first.samples[1][0], second.samples[4][0]]
    assert samples.labels.tolist() == [0, 0, 1]
    assert samples.classes == ["a", "b"]
    assert samples.names == ["folder2/a/0.jpg", "folder1/a/1.jpg", "folder2/b/1.jpg"]
    assert samples.root is None
    assert samples.kind == "Subset"


def test_a_subset_of_a_folder_keeps_classes_and_root(
    image_folder: Make, listed: Callable[..., Samples]
) -> None:
    root = image_folder()
    samples = listed(Subset(ImageFolder(root), [4]))
    assert samples.classes == ["a", "b"]
    assert samples.names == ["b/1.jpg"]
    assert samples.root == str(root)


def test_joined_sets_must_agree_on_classes(image_folder: Make, listed: Callable[..., Samples]) -> None:
    first, second = ImageFolder(image_folder()), ImageFolder(image_folder(classes={"a": 1, "c": 1}))
    with pytest.raises(
        ValueError, match=r"2 \('a', 'b', ...\) in the first, 2 \('a', 'c', ...\) in number 1"
    ):
        listed(ConcatDataset([first, second]))


def test_a_subset_with_a_wrong_index(image_folder: Make, listed: Callable[..., Samples]) -> None:
    with pytest.raises(IndexError, match="a Subset has index 5 into a data set of 5"):
        listed(Subset(ImageFolder(image_folder()), [0, 5]))


def test_flatten_is_exact() -> None:
    a, b = Items([1, 2, 3]), Items([4, 5])
    leaves, leaf_of, item_of = flatten(Subset(ConcatDataset([a, b]), [4, 0, 3]))
    assert [leaves[leaf][item] for leaf, item in zip(leaf_of.tolist(), item_of.tolist(), strict=True)] == [
        5,
        1,
        4,
    ]


def test_a_subset_with_its_own_items_is_asked(listed: Callable[..., Samples]) -> None:
    class Doubled(Subset[Any]):
        def __getitem__(self, index: Any) -> Any:
            data, label = super().__getitem__(index)
            return data + data, label

        def __getitems__(self, indices: Any) -> Any:
            return [self[index] for index in indices]

    samples = listed(Doubled(Items([(b"ab", 0), (b"cd", 1)]), [1]))
    assert samples.read(0) == b"cdcd"


def test_items_of_all_kinds(tmp_path: pathlib.Path, listed: Callable[..., Samples]) -> None:
    (tmp_path / "file.png").write_bytes(png("red"))
    fresh = png("green")
    dataset = Items(
        [
            (str(tmp_path / "file.png"), 2),
            (png("blue"), torch.tensor(0)),
            (torch.tensor(list(png("white")), dtype=torch.uint8), 1),
            lambda: (Image.open(io.BytesIO(fresh)), 1),
            lambda: (Image.new("L", (2, 2), 7), 0),
        ]
    )
    samples = listed(dataset)
    assert dataset.asked == [1] * 5
    assert samples.kind == "Items"
    assert samples.files == [str(tmp_path / "file.png"), "", "", "", ""]
    assert [samples.read(i) for i in (1, 2, 3)] == [png("blue"), png("white"), fresh]
    assert Image.open(io.BytesIO(samples.read(4))).getpixel((0, 0)) == 7
    assert samples.labels.tolist() == [2, 0, 1, 1, 0]
    assert samples.classes == ["0", "1", "2"]
    assert samples.names[1:] == ["0/00000001.png", "1/00000002.png", "1/00000003.png", "0/00000004.png"]
    assert os.listdir(tmp_path) == ["file.png"]


def test_a_list_is_a_data_set(listed: Callable[..., Samples]) -> None:
    samples = listed([("/x/cat/1.jpg", 0), (pathlib.Path("/x/dog/2.jpg"), 1)])
    assert samples.kind == "list"
    assert samples.files == ["/x/cat/1.jpg", "/x/dog/2.jpg"]
    assert samples.names == ["cat/1.jpg", "dog/2.jpg"]


def test_only_the_items_of_a_subset_are_asked_for(listed: Callable[..., Samples]) -> None:
    dataset = Items([(b"a", 0), (b"b", 1), (b"c", 2)], classes=["x", "y", "z"])
    samples = listed(Subset(dataset, [2]))
    assert dataset.asked == [0, 0, 1]
    assert samples.classes == ["x", "y", "z"]
    assert samples.labels.tolist() == [2]


def test_class_to_idx(image_folder: Make, listed: Callable[..., Samples]) -> None:
    root = image_folder()
    samples = listed(root, class_to_idx={"b": 0, "new": 1, "a": 2})
    assert samples.classes == ["b", "new", "a"]
    assert samples.labels.tolist() == [2, 2, 2, 0, 0]
    with pytest.raises(ValueError, match="class_to_idx lacks the source's class 'b'"):
        listed(root, class_to_idx={"a": 0})


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (3, TypeError, "source must be a folder's path, an ImageFolder .* found int: 3"),
        (None, TypeError, "found NoneType: None"),
        (iter([]), TypeError, "found list_iterator"),
        ([], ValueError, r"the source has no samples: list: \[\]"),
        ([(b"x", 0), (b"y", -1)], ValueError, "sample 1 has label -1; labels are numbers from 0 on"),
        ([(b"x", 0), b"y"], TypeError, r"list\[1\] must be \(image, class number\), found bytes b'y'"),
        ([("/a/x.jpg", 0), ("/a/x.jpg", 0)], ValueError, "samples 0 and 1 of the source have the same path"),
    ],
)
def test_wrong_sources(
    source: Any, error: type[Exception], message: str, listed: Callable[..., Samples], tmp_path: pathlib.Path
) -> None:
    with pytest.raises(error, match=message):
        listed(source)
    assert os.listdir(tmp_path) == []


def test_iterable_data_sets_have_no_items(listed: Callable[..., Samples]) -> None:
    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter([])

        def __len__(self) -> int:
            return 3

    with pytest.raises(TypeError, match=r"map-style data set .* found Stream"):
        listed(Stream())


def test_labels_of_a_folder_that_are_no_ints(image_folder: Make, listed: Callable[..., Samples]) -> None:
    folder = ImageFolder(image_folder())
    folder.samples[2] = (folder.samples[2][0], "cat")  # type: ignore[assignment]
    with pytest.raises(TypeError, match="sample 2: the class number must be an int, found str 'cat'"):
        listed(folder)
    folder.samples = [(path, torch.tensor(label)) for path, label in ImageFolder(folder.root).samples]  # type: ignore[misc]
    assert listed(folder).labels.tolist() == [0, 0, 0, 1, 1]


def test_items_that_can_t_be_read_are_listed(listed: Callable[..., Samples]) -> None:
    def broken() -> Any:
        raise OSError("truncated")

    samples = listed(Items([(b"a", 1), broken]))
    assert samples.failed == {1: "Items[1] raised OSError: truncated"}
    assert len(samples) == 2


@pytest.mark.parametrize("error", [ValueError, IndexError, KeyError, RuntimeError, TypeError, AssertionError])
def test_any_error_of_an_item_is_listed(listed: Callable[..., Samples], error: type[Exception]) -> None:
    def broken() -> Any:
        raise error("x")

    samples = listed(Items([(b"a", 1), broken]))
    assert samples.failed == {1: f"Items[1] raised {error.__name__}: {error('x')}"}


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt("x"), SystemExit("x"), MemoryError("x"), OSError(errno.EMFILE, "x")],
)
def test_trouble_of_the_process_is_no_bad_sample(
    listed: Callable[..., Samples], tmp_path: pathlib.Path, error: BaseException
) -> None:
    def broken() -> Any:
        raise error

    with pytest.raises(type(error), match="x"):
        listed(Items([(b"a", 1), broken]))
    assert os.listdir(tmp_path) == []
