# SPDX-License-Identifier: Apache-2.0
"""targets=: a class for each sample of the source, in place of what the source says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.convert._classes import check_names, settle_classes
from torch_dts.convert._folder import is_path, some_names
from torch_dts.convert._items import class_number


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets as given: all numbers, or all names.

    Attributes:
        numbers: int64 ``[n]`` class numbers; None: there are names.
        names: Class names, one a sample; empty: there are numbers.
    """

    numbers: Tensor | None
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names) if self.numbers is None else self.numbers.numel()

    def settle(
        self, num_samples: int, classes: list[str] | None, class_to_idx: Mapping[str, int] | None
    ) -> tuple[Tensor, list[str]]:
        """Labels and class names that belong together.

        Numbers are those of `class_to_idx`, else of `classes`. Names have the numbers of
        `class_to_idx`, else of `classes` where it has them all, else they are sorted for their numbers.

        Args:
            num_samples: Of the source.
            classes: The class names of the source by number; None: it has none.

        Returns:
            int64 ``[n]`` class numbers, and the class names by number.

        Raises:
            ValueError: Another number of targets, or classes that don't fit.
        """
        if len(self) != num_samples:
            raise ValueError(
                f"targets has {len(self):,} of them, but the source has {num_of(num_samples, 'sample')}: "
                "there must be one for each, in the order of the source, bad samples too"
            )
        if self.numbers is not None:
            if class_to_idx is not None:
                return settle_classes(self.numbers, None, class_to_idx)
            return settle_classes(self.numbers, classes, None)
        used = set(self.names)
        if class_to_idx is not None:
            number_of = dict(class_to_idx)
            missing = sorted(used - set(number_of))
            if missing:
                raise ValueError(
                    f"class_to_idx lacks {num_of(len(missing), 'class', 'classes')} of targets: "
                    f"{some_names(missing)}"
                )
            classes = sorted(number_of, key=lambda name: number_of[name])
        elif classes is None or not used <= set(classes):
            classes = sorted(used)
        check_names(classes)
        number_of = {name: number for number, name in enumerate(classes)}
        return torch.tensor([number_of[name] for name in self.names], dtype=torch.int64), classes


def read_targets(targets: Any) -> Targets:
    """What targets= of convert() holds.

    Args:
        targets: A sequence, tensor or array of class numbers, or of class names.

    Raises:
        TypeError: Something else.
        ValueError: Names and numbers, or a number that is none of a class.
    """
    if hasattr(targets, "tolist"):
        targets = targets.tolist()
    if is_path(targets) or isinstance(targets, (bytearray, Mapping)) or not isinstance(targets, Sequence):
        raise TypeError(
            "targets must be a sequence of class numbers or class names, one for each sample of the source, "
            f"not {type(targets).__name__}; labels= takes files and mappings"
        )
    is_name = [isinstance(each, (str, os.PathLike)) for each in targets]
    if all(is_name) and is_name:
        return Targets(None, tuple(os.fspath(each) for each in targets))
    if any(is_name):
        first, second = is_name.index(True), is_name.index(False)
        raise ValueError(
            f"targets[{first}] is the name {display(str(targets[first]))!r}, targets[{second}] is no name: "
            "they are all class names or all class numbers"
        )
    numbers = [class_number(each, f"targets[{i}]") for i, each in enumerate(targets)]
    for i, number in enumerate(numbers):
        if not 0 <= number < 1 << 31:
            raise ValueError(f"targets[{i}] is {number}; class numbers go from 0 on")
    return Targets(torch.tensor(numbers, dtype=torch.int64))
