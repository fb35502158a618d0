# SPDX-License-Identifier: Apache-2.0
"""The datasets the native engine reads itself: what each needs to be read without its own code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision.datasets import CIFAR10, MNIST, DatasetFolder, folder
from torchvision.datasets.vision import StandardTransform

from torch_dts import _native
from torch_dts._paths import display, join_paths
from torch_dts._raw import as_image_file
from torch_dts.datasets import DTSDataset, DTSIterableDataset
from torch_dts.datasets._decode import PixelLoader, default_loader
from torch_dts.file import DTSFile
from torch_dts.loader._recognise_labels import NotReadable, int_tensor, label_tensor, watch_values
from torch_dts.loader._recognise_own import ABSENT, changed_behaviour, is_as_written, own_state

_COMMON: dict[str, type | None] = {"transform": None, "target_transform": None}
_MAP: dict[str, type | None] = {"__getitems__": ABSENT, **_COMMON}
_OWNERS: dict[type, dict[str, type | None]] = {
    DTSDataset: {
        **_COMMON,
        "file": None,
        "loader": None,
        **dict.fromkeys(("__getitem__", "__getitems__", "__len__", "_item"), DTSDataset),
    },
    DTSIterableDataset: {
        **_COMMON,
        **dict.fromkeys(("file", "shuffle", "seed", "shuffle_window", "_window", "_ranks", "_clock")),
        **dict.fromkeys(("__iter__", "__len__", "num_replicas", "rank", "set_epoch"), DTSIterableDataset),
    },
    DatasetFolder: {
        **_MAP,
        "samples": None,
        "loader": None,
        **dict.fromkeys(("__getitem__", "__len__"), DatasetFolder),
    },
    MNIST: {**_MAP, "data": None, "targets": None, **dict.fromkeys(("__getitem__", "__len__"), MNIST)},
    CIFAR10: {**_MAP, "data": None, "targets": None, **dict.fromkeys(("__getitem__", "__len__"), CIFAR10)},
}
KNOWN = "DTSDataset, DTSIterableDataset, ImageFolder, DatasetFolder, MNIST, CIFAR10 and their like"


@dataclass(frozen=True, eq=False)
class Leaf:
    """One dataset as the native engine reads it; nothing is open yet.

    Attributes:
        num_samples: Of the source; also of the dataset.
        samples: int64 ``[n]``, the source's sample by dataset index; None: the same.
        labels: int64 ``[n]`` by dataset index.
        transform, target_transform: The dataset's.
        channels: Of the images: 3, or 1 for gray.
        size: (height, width) where all images have the same; they are pixels then.
        file: The ``.dts`` file.
        open_source: Takes `keep`, returns the handle of a new source.
        num_bytes: What keeping the encoded images in memory takes, about.
        describe: The sample of the source, for messages.
        read_bytes: The sample of the source, encoded; OSError where it can't be read.
        is_current: Whether the dataset is still what it was.
    """

    num_samples: int
    samples: Tensor | None
    labels: Tensor
    transform: Any
    target_transform: Any
    channels: int
    size: tuple[int, int] | None
    file: DTSFile | None
    open_source: Callable[[int], int]
    num_bytes: Callable[[], int]
    describe: Callable[[int], str]
    read_bytes: Callable[[int], bytes]
    is_current: Callable[[], bool]


def read_leaf(dataset: Any) -> Leaf:
    """The dataset as the native engine reads it.

    Raises:
        NotReadable: It is of another kind, or something about it is the user's.
    """
    name = type(dataset).__qualname__
    kind = next((base for base in type(dataset).__mro__ if base in _OWNERS), None)
    if kind is None:
        raise NotReadable(f"{name} is none of {KNOWN}")
    reason = changed_behaviour(dataset, _OWNERS[kind])
    if reason:
        raise NotReadable(reason)
    try:
        return _read(dataset, kind)
    except NotReadable as error:
        raise NotReadable(f"{name}: {error}") from None


def applies_transform(dataset: Any) -> bool:
    """Whether an item is ``(transform(image), target)``, by the code of its library, whatever the image's."""
    kind = next((base for base in type(dataset).__mro__ if base in _OWNERS), None)
    if kind is None or changed_behaviour(dataset, _OWNERS[kind]):
        return False
    return type(own_state(dataset).get("transforms")) in (type(None), StandardTransform)


def _read(dataset: Any, kind: type) -> Leaf:
    state = own_state(dataset)
    for name, owner in _OWNERS[kind].items():
        if owner is None and name not in state:
            raise NotReadable(f"it was never given its {name}")
    if type(state.get("transforms")) not in (type(None), StandardTransform):
        raise NotReadable("its transforms= takes image and target together")
    if kind is DTSDataset or kind is DTSIterableDataset:
        return _read_dts(dataset, state, is_iterable=kind is DTSIterableDataset)
    if kind is DatasetFolder:
        return _read_folder(dataset, state)
    return _read_pixels(dataset, state, is_gray=kind is MNIST)


def _watch(dataset: Any, kind: type, contents: tuple[str, ...] = ()) -> Callable[[], bool]:
    """Whether `dataset` still is what it is now; of the attributes in `contents`, what they hold."""
    state = own_state(dataset)
    kept = {name: state[name] for name, owner in _OWNERS[kind].items() if owner is None and name in state}
    holds = {name: watch_values(kept.pop(name)) for name in contents}

    def is_current() -> bool:
        now = own_state(dataset)
        return (
            not changed_behaviour(dataset, _OWNERS[kind])
            and all(now.get(name) is value for name, value in kept.items())
            and all(name in now and is_same(now[name]) for name, is_same in holds.items())
        )

    return is_current


def _read_dts(dataset: Any, state: dict[str, Any], is_iterable: bool) -> Leaf:
    file: DTSFile = state["file"]
    if type(file) is not DTSFile:
        raise NotReadable(f"its file is a {type(file).__qualname__}")
    is_pixels = not file.header.has_blocks
    if not is_iterable:
        loader = state["loader"]
        if not (_is_own_loader(loader, file) if is_pixels else loader is default_loader(file)):
            raise NotReadable("its loader= is not the library's own")
    if is_pixels:
        return _read_pixel_file(dataset, state, file, is_iterable)
    handle = file.block_handle()
    labels = file.labels
    if is_iterable:
        labels = labels[file.positions_of(torch.arange(len(file), device="cpu"))]

    def position(sample: int) -> int:
        return int(file.positions_of(torch.tensor([sample], device="cpu"))[0])

    return Leaf(
        num_samples=len(file),
        samples=None if is_iterable else file.stored_index,
        labels=labels,
        transform=state["transform"],
        target_transform=state["target_transform"],
        channels=3,
        size=None,
        file=file,
        open_source=lambda keep: _native.source_dts(handle, keep),
        num_bytes=lambda: file.file_bytes,
        describe=lambda sample: file.describe_sample(position(sample)),
        read_bytes=lambda sample: bytes(as_image_file(file.read(position(sample)))),
        is_current=_watch(dataset, DTSIterableDataset if is_iterable else DTSDataset),
    )


def _is_own_loader(loader: Any, file: DTSFile) -> bool:
    header = file.header
    own = PixelLoader(header.image_height, header.image_width, header.num_channels)
    return type(loader) is PixelLoader and loader == own


def _read_pixel_file(dataset: Any, state: dict[str, Any], file: DTSFile, is_iterable: bool) -> Leaf:
    kind = DTSIterableDataset if is_iterable else DTSDataset
    return _pixel_leaf(file.pixels, file.labels, state, file.describe_sample, _watch(dataset, kind))


def _pixel_leaf(
    pixels: Tensor,
    labels: Tensor,
    state: dict[str, Any],
    describe: Callable[[int], str],
    is_current: Callable[[], bool],
) -> Leaf:
    """A Leaf over uint8 ``[n, H, W]`` or ``[n, H, W, C]``."""
    height, width = pixels.shape[1:3]
    channels = pixels.shape[3] if pixels.dim() == 4 else 1
    header = f"P{6 if channels == 3 else 5} {width} {height} 255\n".encode()
    return Leaf(
        num_samples=pixels.shape[0],
        samples=None,
        labels=labels,
        transform=state["transform"],
        target_transform=state["target_transform"],
        channels=channels,
        size=(height, width),
        file=None,
        open_source=lambda keep: _native.source_pixels(pixels, labels),
        num_bytes=lambda: 0,
        describe=describe,
        read_bytes=lambda sample: header + pixels[sample].numpy().tobytes(),
        is_current=is_current,
    )


def _read_folder(dataset: Any, state: dict[str, Any]) -> Leaf:
    _require_own_loader(state["loader"])
    samples = state["samples"]
    if type(samples) not in (list, tuple):
        raise NotReadable(f"its samples are a {type(samples).__name__}, not a list")
    if set(map(type, samples)) - {tuple, list} or set(map(len, samples)) - {2}:
        raise NotReadable("its samples are not all pairs of a path and a label")
    names, targets = zip(*samples, strict=True) if samples else ((), ())
    if set(map(type, names)) - {str}:
        raise NotReadable("its samples have paths that are no text")
    labels = label_tensor(targets, "its labels", state["target_transform"])
    # A later change of directory must not send a read to another file.
    here = os.getcwd() if not all(map(os.path.isabs, names)) else ""
    paths = [os.path.join(here, name) for name in names] if here else list(names)
    try:
        joined = join_paths(paths)
    except ValueError as error:
        raise NotReadable(f"its samples: {error}") from None
    return Leaf(
        num_samples=len(paths),
        samples=None,
        labels=labels,
        transform=state["transform"],
        target_transform=state["target_transform"],
        channels=3,
        size=None,
        file=None,
        open_source=lambda keep: _native.source_files(joined, labels, min(keep, 1)),
        num_bytes=lambda: _estimate_bytes(paths),
        describe=lambda sample: f"sample {sample} ({display(names[sample])})",
        read_bytes=lambda sample: _read_file(paths[sample]),
        is_current=_watch(dataset, DatasetFolder, ("samples",)),
    )


def _require_own_loader(loader: Any) -> None:
    if loader is not folder.default_loader and loader is not folder.pil_loader:
        raise NotReadable("its loader= is not torchvision's own")
    for name in ("default_loader", "pil_loader"):
        if not is_as_written(getattr(folder, name), folder.__name__, name):
            raise NotReadable(f"torchvision.datasets.folder.{name} was replaced")
    if loader is folder.default_loader and _image_backend() == "accimage":
        raise NotReadable("torchvision's image backend is accimage")


def _image_backend() -> str:
    import torchvision

    return str(torchvision.get_image_backend())


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _estimate_bytes(paths: list[str], num_asked: int = 1000) -> int:
    """The bytes of all files, from some of them where they are many."""
    step = -(-len(paths) // num_asked) or 1
    sizes = []
    for path in paths[::step]:
        try:
            sizes.append(os.stat(path).st_size)
        except OSError:
            sizes.append(0)
    return sum(sizes) * len(paths) // max(1, len(sizes))


def _read_pixels(dataset: Any, state: dict[str, Any], is_gray: bool) -> Leaf:
    pixels = _gray_tensor(state) if is_gray else _color_tensor(state)
    height, width = pixels.shape[1:3]
    if pixels.shape[0] and not height * width:
        raise NotReadable(f"its images have {height} x {width} pixels")
    read = int_tensor if is_gray else _cifar_labels(state["target_transform"])
    labels = read(state["targets"], "its targets")
    if labels.numel() != pixels.shape[0]:
        raise NotReadable(f"it has {pixels.shape[0]} images and {labels.numel()} targets")
    name = type(dataset).__qualname__
    is_current = _watch(dataset, MNIST if is_gray else CIFAR10, ("targets",))
    return _pixel_leaf(pixels, labels, state, lambda sample: f"sample {sample} of {name}", is_current)


def _cifar_labels(target_transform: Any) -> Callable[[Any, str], Tensor]:
    return lambda values, what: label_tensor(values, what, target_transform)


# What is not in the order of the images is replaced by equal values that are, so that the
# pixels are used in place and later changes are seen as before: torchvision keeps CIFAR by
# colour planes and hands out a view of them.


def _gray_tensor(state: dict[str, Any]) -> Tensor:
    data = state["data"]
    if type(data) is not Tensor:
        raise NotReadable(f"its data are a {type(data).__name__}, not a tensor")
    if data.dtype != torch.uint8 or data.dim() != 3 or data.device.type != "cpu":
        raise NotReadable(
            f"its data are {data.dtype} {list(data.shape)} on {data.device}, not torch.uint8 [n, H, W] on cpu"
        )
    if not data.is_contiguous():
        state["data"] = data.contiguous()
    pixels: Tensor = state["data"]
    return pixels


def _color_tensor(state: dict[str, Any]) -> Tensor:
    data = state["data"]
    if type(data) not in (np.ndarray, np.memmap):
        raise NotReadable(f"its data are a {type(data).__name__}, not a numpy array")
    is_image = data.ndim == 3 or (data.ndim == 4 and data.shape[3] == 3)
    if data.dtype != np.uint8 or not is_image:
        raise NotReadable(f"its data are {data.dtype} {list(data.shape)}, not uint8 [n, H, W, 3]")
    if not data.flags.c_contiguous:
        state["data"] = np.ascontiguousarray(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about arrays that can't be written: these are only read
        return torch.from_numpy(state["data"])
