# SPDX-License-Identifier: Apache-2.0
"""DTSDataset: a ``.dts`` file in the place of torchvision's ImageFolder."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from torchvision.datasets import ImageFolder, VisionDataset

from torch_dts._paths import display
from torch_dts.datasets._decode import Loader, Transform, default_loader, load_sample, make_item
from torch_dts.datasets._pixels import load_pixels, read_sample, read_samples
from torch_dts.file import DTSFile
from torch_dts.file._arguments import Verify, check_callable

# Lists a caller may see and change, made from the file when first asked for.
_FROM_FILE: dict[str, Callable[[DTSFile], Any]] = {
    "classes": lambda file: list(file.classes),
    "class_to_idx": lambda file: dict(file.class_to_idx),
    "targets": lambda file: file.labels.tolist(),
}

_NOT_REPLACED = (
    "{} can't be replaced, the items are those of the file: choose some with "
    "torch.utils.data.Subset, relabel them with target_transform="
)


class DTSDataset(VisionDataset):  # type: ignore[misc]  # torchvision has no types
    """A map-style dataset over a ``.dts`` file that stands in for ``ImageFolder``.

    ``dataset[i]`` is ``(sample, class_index)`` of the i-th sample of the folder the file
    was made from; without `loader` the sample is the same PIL image in mode RGB. Works
    with every sampler, with Subset, ConcatDataset and random_split, and in fork and
    spawn worker processes. Batches are read with few calls, in the order of the file.

    Over a pixel file ``dataset[i]`` is what torchvision's MNIST, CIFAR10 and the like give: a
    PIL image in mode L or RGB. All pixels are read now and stay in memory, where forked worker
    processes share them.

    A sample that Pillow refuses raises Pillow's own exception; its text also says which
    sample it was.

    Args:
        path: The file: str, PathLike or the report that `torch_dts.convert` returned. A set of
            volumes: its first file, its folder or a glob.
        transform: Takes the sample, returns a transformed one.
        target_transform: Takes the class index, returns the target.
        loader: Takes the encoded bytes of a sample as a memoryview (uint8, writable; it
            may be kept, and then keeps the bytes of its batch in memory) and returns the
            sample. None: the PIL image in mode RGB. Of a pixel file it gets the raw pixels,
            height * width * channels bytes. For OpenCV's arrays::

                def load(data):
                    return cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)

        root: Put in front of the paths in `samples`; None: they are relative.
        verify: What is checked on reading. ``"file"``: the CRC-32 of the whole file, now,
            so that worker processes need not; ``"blocks"`` and ``False``: samples are read
            singly and bounds-checked only. Of a pixel file ``"blocks"`` checks the CRC-32 of
            everything behind the header.

    Attributes:
        classes: The class names; sorted, where `torch_dts.convert` was not given others.
        class_to_idx: The class index of each name.
        targets: The class index of each sample.
        file: The open file.

    Raises:
        OSError: The file can't be opened.
        CorruptFileError: It is no ``.dts`` file, or damaged.
        ValueError: `verify` is none of the above, or a pixel file has neither 1 nor 3 channels.
        TypeError: A transform or `loader` can't be called.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        *,
        loader: Loader | None = None,
        root: str | os.PathLike[str] | None = None,
        verify: Verify = "blocks",
    ) -> None:
        check_callable("loader", loader)
        super().__init__(
            None if root is None else os.fsdecode(root),
            transform=check_callable("transform", transform),
            target_transform=check_callable("target_transform", target_transform),
        )
        self.file = DTSFile(path, verify=verify)
        self.file.ensure_verified()
        self.loader: Loader = default_loader(self.file) if loader is None else loader
        load_pixels(self.file)

    @cached_property
    def classes(self) -> list[str]:
        """The class names; a class index is a position in this list."""
        classes: list[str] = _FROM_FILE["classes"](self.file)
        return classes

    @cached_property
    def class_to_idx(self) -> dict[str, int]:
        """The class index of each class name."""
        class_to_idx: dict[str, int] = _FROM_FILE["class_to_idx"](self.file)
        return class_to_idx

    @cached_property
    def targets(self) -> list[int]:
        """The class index of each sample. As in ImageFolder, changing it changes no item."""
        targets: list[int] = _FROM_FILE["targets"](self.file)
        return targets

    @property
    def samples(self) -> list[tuple[str, int]]:
        """``(path, class index)`` of each sample, the path below `root`; built on first use.

        Unlike ImageFolder's it can't be replaced, and changing it changes no item.
        """
        return self._samples

    @samples.setter
    def samples(self, samples: Any) -> None:
        raise AttributeError(_NOT_REPLACED.format("samples"))

    @property
    def imgs(self) -> list[tuple[str, int]]:
        """The same list as `samples`."""
        return self._samples

    @imgs.setter
    def imgs(self, imgs: Any) -> None:
        raise AttributeError(_NOT_REPLACED.format("imgs"))

    def __len__(self) -> int:
        return len(self.file)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """``(sample, target)``; negative indices count from the end.

        Raises:
            IndexError: There is no such sample.
            CorruptFileError: The file changed, or its tables are damaged.
        """
        return self._item(operator.index(index), read_sample(self.file, index))

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, Any]]:
        """The items of a batch, in the order of `indices` (torch's DataLoader calls this)."""
        if type(self).__getitem__ is not DTSDataset.__getitem__:  # a subclass has items of its own
            return [self[index] for index in indices]
        indices = [operator.index(index) for index in indices]
        found = read_samples(self.file, indices)
        return [self._item(i, data) for i, data in zip(indices, found, strict=True)]

    def extra_repr(self) -> str:
        """The line about the file in ``repr(dataset)``."""
        return f"File: {display(self.file.path)}"

    def __getstate__(self) -> dict[str, Any]:
        # What the other side can read from the file stays here; what the caller changed goes along.
        state = {name: value for name, value in self.__dict__.items() if name != "_samples"}
        for name, build in _FROM_FILE.items():
            if isinstance(state.get(name), (list, dict)) and state[name] == build(self.file):
                del state[name]
        return state

    def _item(self, index: int, data: memoryview) -> tuple[Any, Any]:
        sample = load_sample(self.loader, data, self.file, index)
        return make_item(sample, int(self.file.labels[index]), self.transform, self.target_transform)

    @cached_property
    def _samples(self) -> list[tuple[str, int]]:
        paths: Sequence[str] = self.file.paths
        if self.root is not None:
            root = os.fspath(self.root)
            paths = [os.path.join(root, path) for path in paths]
        return list(zip(paths, self.targets, strict=True))


def _register_for_transforms_v2() -> None:
    """Lets torchvision's `wrap_dataset_for_transforms_v2` take a DTSDataset as it takes an ImageFolder.

    The table is torchvision's own affair, so a version without it is no error.
    """
    try:
        from torchvision.tv_tensors._dataset_wrapper import WRAPPER_FACTORIES

        WRAPPER_FACTORIES.setdefault(DTSDataset, WRAPPER_FACTORIES[ImageFolder])
    except (ImportError, AttributeError, KeyError, TypeError):
        return


_register_for_transforms_v2()
