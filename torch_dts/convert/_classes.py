# SPDX-License-Identifier: Apache-2.0
"""Class names and numbers: what a data set says of them, and class_to_idx=."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torchvision.datasets import SEMEION, SVHN, USPS

from torch_dts._words import num_of

MAX_UNNAMED_CLASSES = 1 << 20
MAX_CLASS_NAME_BYTES = 0xFFFF


def dataset_classes(dataset: object) -> list[str] | None:
    """Class names by number as a data set states them, None where it states none.

    Reads `classes` and `class_to_idx`, as torchvision's data sets have them. Its sets of digits have
    ten classes, though they don't say so and a part of them may hold fewer.

    Raises:
        ValueError: Two classes of one name, or a name too long for the file.
    """
    if isinstance(dataset, (SVHN, USPS, SEMEION)) and not hasattr(dataset, "classes"):
        return [str(number) for number in range(10)]
    classes: Any = getattr(dataset, "classes", None)
    if hasattr(classes, "tolist"):  # an array of names
        classes = classes.tolist()
    # torchvision.datasets.ImageNet: `classes` are tuples of words, two of them equal.
    wnids: Any = getattr(dataset, "wnids", None)
    if _is_list(wnids) and _is_list(classes) and len(wnids) == len(classes):
        classes = wnids
    numbers = getattr(dataset, "class_to_idx", None)
    if not _is_list(classes):
        if not isinstance(numbers, Mapping) or not numbers:
            return None
        return check_names(_by_number(list(numbers), numbers))
    names = [_as_name(each) for each in classes]
    if isinstance(numbers, Mapping) and all(name in numbers for name in names):
        return check_names(_by_number(names, numbers))
    return check_names(names)


def number_classes(labels: Tensor) -> list[str]:
    """Names "0", "1", ... for labels of a data set that names no classes."""
    if bool((labels < 0).any()):
        at = int((labels < 0).nonzero()[0])
        raise ValueError(
            f"sample {at} has label {int(labels[at])}; labels are numbers from 0 on: leave out "
            f"samples without a class, or renumber"
        )
    most = int(labels.max()) if labels.numel() else -1
    if most >= MAX_UNNAMED_CLASSES:
        at = int(labels.argmax())
        raise ValueError(
            f"sample {at} has label {most}; a data set without `classes` may have labels up to "
            f"{MAX_UNNAMED_CLASSES - 1}. Give the data set a `classes` list, or pass class_to_idx="
        )
    return [str(number) for number in range(most + 1)]


def check_labels(labels: Tensor, num_classes: int) -> None:
    """Raises ValueError naming the first sample whose label is not in [0, num_classes)."""
    wrong = (labels < 0) | (labels >= num_classes)
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0])
        raise ValueError(
            f"sample {at} has label {int(labels[at])}; with {num_of(num_classes, 'class', 'classes')} "
            + (f"labels are 0 to {num_classes - 1}" if num_classes > 1 else "every label is 0")
        )


def apply_class_to_idx(
    labels: Tensor, classes: list[str] | None, class_to_idx: Mapping[str, int]
) -> tuple[Tensor, list[str]]:
    """Renumbers the classes as `class_to_idx` says (a bijection onto 0..C-1).

    Args:
        labels: int64 [n].
        classes: The source's class names by number; None: it has numbers only, which
            then are the numbers of class_to_idx.

    Returns:
        New labels and the class names by new number. Classes the source lacks stay,
        without samples.

    Raises:
        ValueError: A class of the source is missing from class_to_idx.
    """
    names = check_names(sorted(class_to_idx, key=lambda name: class_to_idx[name]))
    if classes is None:
        check_labels(labels, len(names))
        return labels, names
    missing = [name for name in classes if name not in class_to_idx]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise ValueError(
            f"class_to_idx lacks the source's class {', '.join(map(repr, missing[:5]))}{more}; "
            f"it has {num_of(len(names), 'class', 'classes')}, {names[0]!r} to {names[-1]!r}"
        )
    check_labels(labels, len(classes))
    new_numbers = torch.tensor([class_to_idx[name] for name in classes], dtype=torch.int64)
    return new_numbers[labels], names


def settle_classes(
    labels: Tensor, classes: list[str] | None, class_to_idx: Mapping[str, int] | None
) -> tuple[Tensor, list[str]]:
    """Labels and class names that belong together.

    Args:
        labels: int64 [n].
        classes: The source's class names by number; None: it has numbers only.
        class_to_idx: As `apply_class_to_idx`; None: the source's own numbers.

    Raises:
        ValueError: They don't fit.
    """
    if class_to_idx is not None:
        labels, classes = apply_class_to_idx(labels, classes, class_to_idx)
    elif classes is None:
        classes = number_classes(labels)
    check_labels(labels, len(classes))
    return labels, check_names(classes)


def check_names(names: list[str]) -> list[str]:
    """Returns `names`; ValueError for a name that comes twice or does not fit the file."""
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if name in first:
            raise ValueError(f"classes {first[name]} and {number} are both called {name!r}")
        first[name] = number
        if "\0" in name or len(os.fsencode(name)) > MAX_CLASS_NAME_BYTES:
            raise ValueError(
                f"class {number}: a name has at most {MAX_CLASS_NAME_BYTES} bytes and no NUL, "
                f"found {name[:40]!r}{'...' if len(name) > 40 else ''}"
            )
    return names


def _by_number(names: list[str], numbers: Mapping[str, int]) -> list[str]:
    """Names in the order of their numbers. Names that share a number are joined."""
    groups: dict[int, list[str]] = {}
    for name in names:
        groups.setdefault(int(numbers[name]), []).append(name)
    most = max(groups, default=-1)
    if min(groups, default=0) < 0 or most >= max(len(names), MAX_UNNAMED_CLASSES):
        raise ValueError(f"class_to_idx of the data set has numbers from {min(groups)} to {most}")
    return [", ".join(groups.get(number, [str(number)])) for number in range(most + 1)]


def _as_name(each: object) -> str:
    if isinstance(each, str):
        return each
    if isinstance(each, (tuple, list)):
        return ", ".join(str(part) for part in each)
    return str(each)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value) > 0
