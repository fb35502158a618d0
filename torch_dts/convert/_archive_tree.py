# SPDX-License-Identifier: Apache-2.0
"""The files of archives as the class folders that unpacking would make, in ImageFolder's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.convert._archive_list import Listing
from torch_dts.convert._folder import (
    SPLIT_NAMES,
    VAL_NAMES,
    image_extensions,
    refuse_empty_classes,
    some_names,
)

_PACKED_NAMES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".7z", ".rar")


@dataclass(frozen=True)
class Tree:
    """Images in source order.

    Attributes:
        numbers: Number in the listing of each image.
        names: Path of each image below the folder that holds the class folders.
        folder: That folder's path, "" for the archive's root.
        classes: Names of the class folders, with or without images.
        num_replaced: Images that a later one of the same path replaces.
    """

    numbers: list[int]
    names: list[str]
    folder: str
    classes: list[str]
    num_replaced: int = 0

    def labels(self) -> list[int]:
        """Class number of each image, by its folder."""
        number_of = {name: number for number, name in enumerate(self.classes)}
        return [number_of[name.partition("/")[0]] for name in self.names]


def arrange(listing: Listing, split: str | None, is_flat: bool) -> Tree:
    """The images of archives, sorted as ImageFolder sorts the unpacked folder.

    Folders that hold all else (such as the archive's own name) are passed through. An archive
    that holds one folder for each split gives the one that `split` names.

    Args:
        split: "train", "val" or None.
        is_flat: Images need no class folder: their labels come from elsewhere.

    Raises:
        ValueError: No image, no class folder, several splits of which none is chosen, or two
            archives with a file of one name.
    """
    numbers = _images(listing)
    folder = _common_folder([listing.names[i] for i in numbers], listing.inner, split)
    if folder:
        numbers = [i for i in numbers if listing.names[i].startswith(folder)]
    cut = len(folder)
    # What lies beside the class folders is no sample, as for ImageFolder.
    wanted = [i for i in numbers if is_flat or "/" in listing.names[i][cut:]]
    by_name = {listing.names[i][cut:]: i for i in wanted}
    if not numbers:
        raise ValueError(f"no image in {display(folder)!r} of the archive")
    if not by_name:
        first = display(listing.names[numbers[0]])
        raise ValueError(
            f"the archive has {num_of(len(numbers), 'image')} (such as {first!r}) and no class folder: pass "
            f"labels=, a file with a line '<file name>,<class>' for each, a mapping or a list"
        )
    _refuse_shared(listing, wanted, by_name, cut)
    names = sorted(by_name, key=sort_key)
    below = (
        name[cut:]
        for name in (*listing.names, *(f"{each}/" for each in listing.folders))
        if name.startswith(folder)
    )
    classes = sorted({name.partition("/")[0] for name in below if "/" in name} - {""})
    num_replaced = listing.num_replaced + len(wanted) - len(by_name)
    return Tree([by_name[name] for name in names], names, folder, classes, num_replaced)


def check_classes(tree: Tree, where: str) -> None:
    """Raises FileNotFoundError naming class folders without an image, as ImageFolder does."""
    used = SimpleNamespace(classes=tree.classes, samples=[("", label) for label in set(tree.labels())])
    refuse_empty_classes(where, used)


def says_val(names: Sequence[str]) -> bool:
    """True when every archive or folder is called a validation or test set, such as ILSVRC2012_img_val."""
    return all(VAL_NAMES & set(name.lower().replace("-", "_").replace(".", "_").split("_")) for name in names)


def _images(listing: Listing) -> list[int]:
    extensions = image_extensions()
    found = [i for i, name in enumerate(listing.names) if name.lower().endswith(extensions)]
    if found:
        return found
    packed = [name for name in listing.names if name.lower().endswith(_PACKED_NAMES)]
    if packed:
        raise ValueError(f"the archive holds {some_names(packed)}, which must be unpacked first")
    what = some_names(listing.names) if listing.names else "nothing"
    raise ValueError(f"no image in the archive: it holds {what}; images end in {', '.join(extensions)}")


def _common_folder(names: list[str], inner: list[str], split: str | None) -> str:
    """The folder in which the class folders lie, with a slash behind it; "" for the root.

    Args:
        inner: Archives inside, which are folders even where nothing lies in them.
    """
    folder = ""
    while True:
        below = [name[len(folder) :] for name in names if name.startswith(folder)]
        if not below or any(name.count("/") < 2 for name in below):
            return folder
        empty = [f"{name[len(folder) :]}/" for name in inner if name.startswith(folder)]
        tops = sorted({name.partition("/")[0] for name in (*below, *empty)})
        if len(tops) > 1 and not all(top.lower() in SPLIT_NAMES for top in tops):
            return folder
        if len(tops) > 1:
            tops = _chosen_split(tops, split)
        folder += f"{tops[0]}/"


def _chosen_split(tops: list[str], split: str | None) -> list[str]:
    chosen = [top for top in tops if split is not None and (top.lower() in VAL_NAMES) == (split == "val")]
    if len(chosen) == 1:
        return chosen
    raise ValueError(
        f"the archive holds {some_names(tops)}, each with class folders: "
        + (
            "pass split='train' or split='val'"
            if split is None
            else f"split={split!r} fits {len(chosen)} of them"
        )
        + ", or unpack it and pass one folder"
    )


def _refuse_shared(listing: Listing, numbers: list[int], by_name: dict[str, int], cut: int) -> None:
    """Of two members of one name the later counts, as in unpacking; two archives may not share one.

    Archives inside of an archive are such, too, and so is the outer one.
    """
    if len(by_name) == len(numbers):
        return
    owners = listing.owners.tolist()
    for i in numbers:
        other = by_name[listing.names[i][cut:]]
        if owners[i] != owners[other]:
            first, second = (display(listing.owner_names[owners[each]]) for each in (i, other))
            raise ValueError(
                f"{first!r} and {second!r} both have a file {display(listing.names[i])!r}; convert them one "
                f"by one, or unpack them and pass the folder"
            )


def sort_key(name: str) -> str:
    """Sorts paths as ImageFolder does: by class, then folder, then name, each as a whole.

    NUL is in no name and below all that is.
    """
    top, slash, rest = name.partition("/")
    if not slash:
        return f"\0\0{name}"
    folder, _, base = name.rpartition("/") if "/" in rest else (top, "", rest)
    return f"{top}\0{folder}\0{base}"
