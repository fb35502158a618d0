# SPDX-License-Identifier: Apache-2.0
"""Image folders on disk: opened as torchvision does, wrong roots explained."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_dts._paths import display
from torch_dts._words import num_of

LAYOUT = "expected one folder per class: {root}/<class>/<image>.jpg"
SPLIT_NAMES = frozenset({"train", "training", "val", "valid", "validation", "test", "testing"})
VAL_NAMES = frozenset({"val", "valid", "validation", "test"})


@dataclass(frozen=True, eq=False)
class GivenPath:
    """A source that was named by a path and is no folder of class folders, opened.

    Attributes:
        kind: What it is listed like, for the file's INFO.
        beside: What the output is called after where no path is given; None: nothing.
        reads: The files that are read: the output must be none of them.
    """

    kind: str
    beside: str | None
    reads: Sequence[str]


def is_path(source: object) -> bool:
    """True for what names a folder: str, bytes or os.PathLike."""
    return isinstance(source, (str, bytes, os.PathLike))


def folder_root(source: object) -> str | None:
    """Root of a source that is one folder (a path, an ImageFolder, a DatasetFolder)."""
    if is_path(source):
        return os.path.expanduser(os.fsdecode(source))  # type: ignore[arg-type]
    if is_dataset_folder(source):
        root = getattr(source, "root", None)
        return os.path.expanduser(os.fsdecode(root)) if is_path(root) else None  # type: ignore[arg-type]
    return None


def is_dataset_folder(source: object) -> bool:
    """True for torchvision's DatasetFolder and its subclasses (ImageFolder is one)."""
    from torchvision.datasets import DatasetFolder

    return isinstance(source, DatasetFolder)


def is_file_list(source: object) -> bool:
    """True for a DatasetFolder whose items are the files of its `samples`, the first len() of them.

    A subclass with a `__getitem__` of its own may give other images or labels: its items count.
    """
    from torchvision.datasets import DatasetFolder

    if not isinstance(source, DatasetFolder) or type(source).__getitem__ is not DatasetFolder.__getitem__:
        return False
    return len(source) <= len(source.samples)


def is_val_name(root: str) -> bool:
    """True when a folder's name says that it holds a validation or test set."""
    return os.path.basename(os.path.abspath(root)).lower() in VAL_NAMES


def check_root(root: str) -> None:
    """Raises when `root` is no folder: FileNotFoundError or NotADirectoryError."""
    layout = LAYOUT.format(root=display(root))
    if not os.path.lexists(root):
        raise FileNotFoundError(errno.ENOENT, f"no such folder; {layout}", root)
    if not os.path.exists(root):
        raise FileNotFoundError(errno.ENOENT, f"a symlink to something that does not exist; {layout}", root)
    if not os.path.isdir(root):
        raise NotADirectoryError(errno.ENOTDIR, f"a file, not a folder; {layout}", root)


def open_folder(root: str, allow_empty: bool) -> Any:
    """torchvision's ImageFolder over `root`, after a look at its layout.

    Raises:
        FileNotFoundError: No class folder, no image, a class without images (unless
            `allow_empty`), or class folders that look like splits or a level too many.
        NotADirectoryError: `root` is a file.
        OSError: A folder below `root` can't be listed.
    """
    from torchvision.datasets import ImageFolder

    check_root(root)
    with os.scandir(root) as entries:
        has_folder = any(entry.is_dir() for entry in entries)
    if not has_folder:
        raise _wrong_layout(root, _what_lies_in(root))
    check_listable(root)
    folder = ImageFolder(root, allow_empty=True)
    if not folder.samples:
        found = f"{some_names(folder.classes)} without any image ({', '.join(image_extensions())})"
        raise _wrong_layout(root, found)
    _refuse_extra_level(root, folder)
    if not allow_empty:
        refuse_empty_classes(root, folder)
    return folder


def check_listable(root: str) -> None:
    """Raises OSError naming the first folder below `root` that can't be listed.

    torchvision passes such a folder over in silence: its images would be missing. It follows a link
    to a folder above as often as the system lets it, which gets a warning.
    """

    def refuse(error: OSError) -> None:
        text = f"{error.strerror}: the folder can't be listed, its images would be left out"
        raise OSError(error.errno, text, error.filename) from error

    places: dict[str, tuple[tuple[int, int], ...]] = {}  # of each folder and those above it
    loops = []
    for folder, names, _ in os.walk(root, followlinks=True, onerror=refuse):
        place = os.stat(folder)
        above = places.get(os.path.dirname(folder), ())
        if (place.st_dev, place.st_ino) in above:
            loops.append(folder)
            names.clear()  # no deeper here: one warning tells all
            continue
        if names:
            places[os.path.dirname(os.path.join(folder, "x"))] = (*above, (place.st_dev, place.st_ino))
    if loops:
        more = f" ({len(loops)} such links)" if len(loops) > 1 else ""
        warnings.warn(
            f"{display(min(loops))!r} is a link to a folder above it{more}: the images below are taken again "
            "and again, about 40 times, as torchvision's ImageFolder takes them. Without the link they are "
            "taken once",
            stacklevel=2,
        )


def lists_its_root(source: object) -> bool:
    """True for a DatasetFolder that found its files below its root as torchvision does."""
    from torchvision.datasets import DatasetFolder

    return (
        isinstance(source, DatasetFolder)
        and type(source).make_dataset is DatasetFolder.make_dataset
        and type(source).find_classes is DatasetFolder.find_classes
    )


def refuse_empty_classes(root: str, folder: Any) -> None:
    """Raises FileNotFoundError naming the classes without an image, as ImageFolder does."""
    used = {label for _, label in folder.samples}
    empty = [name for number, name in enumerate(folder.classes) if number not in used]
    if empty:
        raise FileNotFoundError(
            errno.ENOENT,
            f"no image in {some_names(empty)}; allow_empty=True keeps such classes without samples. "
            f"Images end in {', '.join(image_extensions())}",
            root,
        )


def _refuse_extra_level(root: str, folder: Any) -> None:
    """One level too many (root/train/cat/x.jpg) would silently make 'train' a class."""
    classes: list[str] = folder.classes
    if len(classes) > 1 and not all(name.lower() in SPLIT_NAMES for name in classes):
        return
    # Number of separators in <root>/<class>/<image>.
    direct = os.path.join(root, "x", "y").count(os.sep)
    if any(path.count(os.sep) <= direct for path, _ in folder.samples):
        return
    inner = os.path.join(root, classes[0])
    raise FileNotFoundError(
        errno.ENOENT,
        f"found {some_names(classes)} with the images one level deeper; "
        f"expected one folder per class. Pass {display(inner)!r}; or, if these are the classes, "
        f"pass torchvision.datasets.ImageFolder(...) instead of the path",
        root,
    )


def _what_lies_in(root: str) -> str:
    names = sorted(os.listdir(root))
    images = [name for name in names if name.lower().endswith(image_extensions())]
    if images:
        count = num_of(len(images), "image")
        return f"{count} directly in it (such as {display(images[0])!r}) and no class folder"
    if names:
        return f"no class folder and no image, but {some_names(names)}"
    return "nothing in it"


def _wrong_layout(root: str, found: str) -> FileNotFoundError:
    text = f"found {found}; {LAYOUT.format(root=display(root))}"
    return FileNotFoundError(errno.ENOENT, text.replace("found nothing", "nothing"), root)


def some_names(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    shown = ", ".join(repr(display(name)) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def image_extensions() -> tuple[str, ...]:
    """Endings of the files that are images, as torchvision's ImageFolder has them."""
    from torchvision.datasets.folder import IMG_EXTENSIONS

    return tuple(IMG_EXTENSIONS)
