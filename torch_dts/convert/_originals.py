# SPDX-License-Identifier: Apache-2.0
"""The files in which MNIST, its kin and CIFAR are published, as a source. Nothing is unpickled.

| files | set |
|---|---|
| train-images-idx3-ubyte[.gz], train-labels-idx1-ubyte[.gz], t10k-... | MNIST, FashionMNIST, KMNIST |
| emnist-<split>-train-images-idx3-ubyte[.gz], ... | EMNIST |
| qmnist-train-images-idx3-ubyte[.gz], qmnist-train-labels-idx2-int[.gz], ... | QMNIST |
| data_batch_1.bin ... data_batch_5.bin, test_batch.bin | CIFAR-10, binary version |
| train.bin, test.bin, fine_label_names.txt | CIFAR-100, binary version |
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torchvision.datasets import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST

from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts.convert._folder import GivenPath, some_names
from torch_dts.convert._idx import read_idx, read_int_idx

_IMAGES = re.compile(r"(?P<prefix>.*)images[-.]idx3-ubyte(?:\.gz)?")
_LABELS = re.compile(r".*labels[-.]idx(?:1-ubyte|2-int)(?:\.gz)?")
_BY_FOLDER = {"mnist": MNIST, "fashionmnist": FashionMNIST, "kmnist": KMNIST}
# The first labels of the sets as published, train and test: they tell these sets in any folder.
_BY_LABELS = {
    (5, 0, 4, 1, 9, 2, 1, 3, 1, 4): MNIST,
    (7, 2, 1, 0, 4, 1, 4, 9, 5, 9): MNIST,
    (9, 0, 0, 3, 0, 2, 7, 2, 5, 5): FashionMNIST,
    (9, 2, 1, 1, 6, 1, 4, 6, 5, 7): FashionMNIST,
}
_EMNIST = re.compile(r"emnist-(?P<split>[a-z]+)-")

_NUM_MNIST_CLASSES = 10
_CIFAR_PIXELS = 3 * 32 * 32
# As in batches.meta.txt, which may be missing.
_CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
_NUM_BATCHES = 5
_CIFAR10_FILE = re.compile(r"(?:data_batch_\d+|test_batch)(?:\.bin)?")
# Folders and files of the versions for Python.
_PICKLED = {"cifar-10-batches-py", "cifar-100-python"}
_PICKLED_FILES = {f"data_batch_{number}" for number in range(1, _NUM_BATCHES + 1)} | {
    "test_batch", "batches.meta", "train", "test", "meta",
}  # fmt: skip
_MAX_NAMES_BYTES = 1 << 16


@dataclass(frozen=True, eq=False)
class OriginalSet(GivenPath):
    """A set read from its files; map-style, with items as torchvision's set of the same name has them.

    Attributes:
        data: uint8 ``[n, height, width, channels]``.
        targets: int64 ``[n]``.
        classes: Class names by number, of the whole set whatever labels come in the file; None: not known.
        train: False: for testing; None: the files don't say.
    """

    data: NDArray[np.uint8]
    targets: NDArray[np.int64]
    classes: Sequence[str] | None
    train: bool | None

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        pixels = self.data[index]
        return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels), int(self.targets[index])


def open_originals(path: str, split: str | None) -> OriginalSet | None:
    """Reads the set that a folder or an images file of idx format holds; None: it holds none.

    Args:
        split: "train" or "val": which of the two, where the folder has both. None: "train" then.

    Raises:
        ValueError: Pickled files, a split that is not there, or several sets in the folder.
        CorruptFileError: A damaged file.
        OSError: A file is missing or can't be read.
    """
    if "\0" in path:
        return None
    folder, name = os.path.split(path)
    if os.path.isfile(path):
        if _LABELS.fullmatch(name):
            raise ValueError(f"{display(path)} holds labels: pass the file of the images, or the folder")
        _refuse_part(path, folder, name)
        return _open_idx(folder, name, path) if _IMAGES.fullmatch(name) else None
    if not os.path.isdir(path):
        return None
    names = set(os.listdir(path))
    for place, listed in ((path, names), (os.path.join(path, "raw"), None)):
        if listed is None:
            if "raw" not in names or not os.path.isdir(place):
                continue
            listed = set(os.listdir(place))
        images = [each for each in listed if _IMAGES.fullmatch(each)]
        if images:
            return _open_idx(place, _choose_idx(place, images, split), path)
    for folder in [path, *(os.path.join(path, name) for name in sorted(_PICKLED & names))]:
        _refuse_pickled(folder)
    if "test_batch.bin" in names or "data_batch_1.bin" in names:
        batches = [f"data_batch_{number}.bin" for number in range(1, _NUM_BATCHES + 1)]
        return _open_cifar(path, names, split, "CIFAR10", batches, "test_batch.bin", "batches.meta.txt")
    if "fine_label_names.txt" in names and {"train.bin", "test.bin"} & names:
        return _open_cifar(path, names, split, "CIFAR100", ["train.bin"], "test.bin", "fine_label_names.txt")
    return None


def _is_train(prefix: str) -> bool | None:
    words = re.split(r"[^a-z0-9]+", prefix.lower())
    return True if "train" in words else False if {"t10k", "test"} & set(words) else None


def _choose_idx(folder: str, images: list[str], split: str | None) -> str:
    """The images file of the wanted split; a plain one before its compressed copy."""
    by_prefix = {_prefix(name): name for name in sorted(images, reverse=True)}
    wanted = [name for prefix, name in by_prefix.items() if _is_train(prefix) is (split != "val")]
    if not wanted and split is None:
        wanted = list(by_prefix.values())
    if len(wanted) == 1:
        return wanted[0]
    names = some_names(sorted(wanted or images))
    if not wanted:
        raise ValueError(f"{display(folder)} has no files for split={split!r}, but {names}")
    raise ValueError(f"{display(folder)} holds several sets: pass the path of one file of images, of {names}")


def _prefix(name: str) -> str:
    found = _IMAGES.fullmatch(name)
    return found["prefix"] if found else name


def _open_idx(folder: str, name: str, given: str) -> OriginalSet:
    path = os.path.join(folder, name)
    plain = os.path.join(folder, name.removesuffix(".gz").replace("images", "labels"))
    candidates = [
        f"{plain.replace('idx3-ubyte', kind)}{ending}"
        for kind in ("idx1-ubyte", "idx2-int")
        for ending in ("", ".gz")
    ]
    labels_path = next((each for each in candidates if os.path.exists(each)), "")
    if not labels_path:
        raise FileNotFoundError(errno.ENOENT, f"no such file, the labels of {display(name)}", candidates[0])
    pixels = read_idx(path, 3)
    # QMNIST's rows are class, series, writer and so on.
    labels = read_int_idx(labels_path)[:, 0] if "idx2-int" in labels_path else read_idx(labels_path, 1)
    if len(pixels) != len(labels):
        raise CorruptFileError(
            labels_path, 4, f"it has {len(labels)} labels for the {len(pixels)} images of {display(name)}"
        )
    kind, classes = _idx_set(folder, name, pixels.shape[1:], labels)
    kin = _kin(folder, lambda each: bool(_IMAGES.fullmatch(each) or _LABELS.fullmatch(each)))
    return OriginalSet(
        kind,
        _beside(given),
        kin,
        pixels[..., None],
        labels.astype(np.int64),
        classes,
        _is_train(_prefix(name)),
    )


def _idx_set(
    folder: str, name: str, size: tuple[int, ...], labels: NDArray[Any]
) -> tuple[str, Sequence[str] | None]:
    """Name of the set and its class names: by the file's name, by its first labels, by its folders.

    Others of the same size have ten classes too, as far as the labels allow: those that occur in a part
    of a set must not decide how many classes it has.
    """
    if name.startswith(("qmnist-", "xnist-")):
        return "QMNIST", QMNIST.classes
    emnist = _EMNIST.match(name)
    if emnist:
        return "EMNIST", EMNIST.classes_split_dict.get(emnist["split"])
    known = _BY_LABELS.get(tuple(labels[:10].tolist()))
    if known is not None:
        return known.__name__, known.classes
    for part in reversed(os.path.abspath(folder).split(os.sep)[-3:]):
        kind = _BY_FOLDER.get(re.sub(r"[^a-z]", "", part.lower()))
        if kind is not None:
            return kind.__name__, kind.classes
    is_like_mnist = size == (28, 28) and labels.max(initial=0) < _NUM_MNIST_CLASSES
    return "IDX", [str(number) for number in range(_NUM_MNIST_CLASSES)] if is_like_mnist else None


def _refuse_part(path: str, folder: str, name: str) -> None:
    """Refuses one of the files that CIFAR is made of: only their folder is the set."""
    with open(path, "rb") as file:
        is_pickle = file.read(1) == b"\x80"
    folder = folder or os.curdir
    if is_pickle:
        _refuse_pickled(folder)
    kind = ""
    if _CIFAR10_FILE.fullmatch(name):
        kind = "CIFAR-10"
    elif name in ("train.bin", "test.bin") and os.path.exists(os.path.join(folder, "fine_label_names.txt")):
        kind = "CIFAR-100"
    if kind:
        raise ValueError(
            f"{display(path)} is one of the files of {kind}: pass their folder, {display(folder)!r}"
        )


def _refuse_pickled(path: str) -> None:
    try:
        names = {name for name in os.listdir(path or os.curdir) if name in _PICKLED_FILES}
    except OSError:  # no folder, or one that says so where it is listed
        return
    names = {name for name in names if os.path.isfile(os.path.join(path, name))}
    is_cifar10 = "batches.meta" in names or any(name.startswith("data_batch") for name in names)
    is_cifar100 = {"train", "test"} & names and "meta" in names
    if is_cifar10 or is_cifar100:
        kind = "CIFAR10" if is_cifar10 else "CIFAR100"
        raise ValueError(
            f"{display(path)} holds pickled files, which are not opened, as a pickle can run any code: pass "
            f"torchvision.datasets.{kind}(root), or the folder of the binary version, which is read"
        )


def _open_cifar(
    path: str, names: set[str], split: str | None, kind: str, train: list[str], test: str, classes: str
) -> OriginalSet:
    is_train = split != "val" and (split == "train" or any(name in names for name in train))
    files = train if is_train else [test]
    missing = [name for name in files if name not in names]
    if missing:
        raise FileNotFoundError(
            errno.ENOENT, f"no such file, a part of {kind}", os.path.join(path, missing[0])
        )
    num_labels = 1 if kind == "CIFAR10" else 2  # coarse and fine, of which the fine one counts
    num_classes = 10 if kind == "CIFAR10" else 100
    class_names = _CIFAR10_CLASSES
    if classes in names:
        class_names = _read_names(os.path.join(path, classes), num_classes)
    paths = [os.path.join(path, name) for name in files]
    own = {*train, test, classes}
    records = np.concatenate([_read_records(each, num_labels + _CIFAR_PIXELS) for each in paths])
    labels = records[:, num_labels - 1].astype(np.int64)
    planes = records[:, num_labels:].reshape(-1, 3, 32, 32)
    return OriginalSet(
        kind,
        _beside(path),
        _kin(path, own.__contains__),
        planes.transpose(0, 2, 3, 1),
        labels,
        class_names,
        is_train,
    )


def _read_records(path: str, record_bytes: int) -> NDArray[np.uint8]:
    size = os.path.getsize(path)
    if size == 0 or size % record_bytes or size >= 1 << 32:
        raise CorruptFileError(
            path,
            None,
            f"it has {size} bytes, expected a multiple of {record_bytes}: label and pixels of each image",
        )
    return np.fromfile(path, dtype=np.uint8).reshape(-1, record_bytes)


def _read_names(path: str, count: int) -> list[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        names = [line.strip() for line in file.read(_MAX_NAMES_BYTES).splitlines() if line.strip()]
    if len(names) != count:
        raise CorruptFileError(path, None, f"it has {len(names)} class names, expected {count}")
    return names


def _kin(folder: str, is_own: Callable[[str], bool]) -> list[str]:
    """All files of a set, those of the other split too: none is to be overwritten."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if is_own(name)]


def _beside(path: str) -> str:
    return re.sub(r"\.gz$", "", path.rstrip(os.sep) or path)
