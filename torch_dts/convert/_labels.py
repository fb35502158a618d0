# SPDX-License-Identifier: Apache-2.0
"""labels=: class names or numbers that come from beside the images.

CSV or text file | mapping | sequence -> LabelTable -> match(names) -> labels, classes
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.convert._devkit import GROUND_TRUTH, class_names
from torch_dts.convert._folder import image_extensions, is_path, some_names
from torch_dts.convert._items import class_number

Label = int | str

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_BEGINNING = re.compile(r"[\s,;:|=]")  # what follows a file's name
_MAX_FILE_BYTES = 1 << 30
_LIMIT = 1 << 31
# What the columns of a CSV are called in its header.
_FILE_WORDS = re.compile(r"(file|image|img|f)?[ _]?(name|path|id)|file|image|img")
_LABEL_WORDS = re.compile(r"labels?|class([ _]?(name|id))?|target|category")
_KAGGLE = ["imageid", "predictionstring"]  # of ImageNet's LOC_*_solution.csv: class, then boxes


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Labels as given.

    Attributes:
        where: What to call them in a message.
        labels: Class names or numbers.
        files: File name of each label; None: they are in the order of the sorted files.
    """

    where: str
    labels: list[Label]
    files: list[str] | None = None

    def match(
        self, names: Sequence[str], class_to_idx: Mapping[str, int] | None
    ) -> tuple[Tensor, list[str] | None]:
        """Gives each file its label.

        Args:
            names: Relative paths, in source order. A row may name the whole path, or the
                file's name alone, with or without its ending, where that fits one file.
            class_to_idx: Tells class names from numbers where both are possible.

        Returns:
            int64 ``[n]`` class numbers, and the sorted class names; None: the labels are numbers.

        Raises:
            ValueError: Files without a label, labels without a file, and the like; says which.
        """
        chosen = self.labels if self.files is None else self._by_name(names)
        if len(chosen) != len(names):
            raise ValueError(
                f"{self.where} has {num_of(len(chosen), 'label')} and no file names, but the source has "
                f"{num_of(len(names), 'image')}: there must be one for each, in the order of the sorted names"
            )
        return as_classes(chosen, names, self.where, class_to_idx)

    def _by_name(self, names: Sequence[str]) -> list[Label]:
        files = self.files or []
        found: dict[int, Label] = {}
        rows: dict[int, str] = {}
        unknown = []
        finder = _Finder(names)
        for file, label in zip(files, self.labels, strict=True):
            number = finder.find(file)
            if number is None:
                unknown.append(file)
            elif number in found:
                raise ValueError(
                    f"{self.where} has two labels for {display(names[number])!r} "
                    f"(rows {display(rows[number])!r} and {display(file)!r})"
                )
            else:
                found[number], rows[number] = label, file
        missing = [names[number] for number in range(len(names)) if number not in found]
        if unknown or missing:
            problems = []
            if missing:
                problems.append(
                    f"no label for {num_of(len(missing), 'file')} of the source: {some_names(missing)}"
                )
            if unknown:
                problems.append(
                    f"{num_of(len(unknown), 'label')} for files that the source does not have, or has twice: "
                    f"{some_names(unknown)}"
                )
            raise ValueError(f"{self.where} does not fit the source: {'; '.join(problems)}")
        return [found[number] for number in range(len(names))]


def read_labels(labels: Any) -> LabelTable:
    """What labels= of convert() holds.

    Args:
        labels: Path of a file; a mapping of file names to labels; or a sequence of labels in the
            order of the sorted files. A file has rows "<file name>,<label>" (a CSV, with or
            without a header; tabs and semicolons separate, too) or "<file name> <label>", or one
            label a line.

    Raises:
        TypeError: Something else.
        ValueError: An empty or odd file, an empty label.
        OSError: The file can't be read.
    """
    if is_path(labels):
        return _read_file(os.path.expanduser(os.fsdecode(labels)))
    if isinstance(labels, Mapping):
        for file in labels:
            if not is_path(file):
                raise TypeError(f"labels must map file names to labels, found {file!r} among the names")
        names = [os.fsdecode(file) for file in labels]
        places = (f"labels[{display(name)!r}]" for name in names)
        found = [_label(each, place) for each, place in zip(labels.values(), places, strict=True)]
        return LabelTable("labels", found, names)
    if hasattr(labels, "tolist"):
        labels = labels.tolist()
    if isinstance(labels, Sequence):
        return LabelTable("labels", [_label(each, f"labels[{i}]") for i, each in enumerate(labels)])
    raise TypeError(
        f"labels must be the path of a CSV or text file, a mapping of file names to labels, or a sequence "
        f"of labels in the order of the sorted files, not {type(labels).__name__}"
    )


def as_classes(
    labels: Iterable[Label], names: Sequence[str], where: str, class_to_idx: Mapping[str, int] | None
) -> tuple[Tensor, list[str] | None]:
    """Class numbers, and class names where the labels are such; `names` are the files' for messages.

    Raises:
        ValueError: Names and numbers among the labels, or a number that is none of a class.
    """
    labels = list(labels)
    if class_to_idx is not None and all(str(label) in class_to_idx for label in set(labels)):
        numbers: list[Any] = [str(label) for label in labels]
    else:
        numbers = [_as_number(label) for label in labels]
    words = [i for i, label in enumerate(numbers) if isinstance(label, str)]
    if not words:
        for i, number in enumerate(numbers):
            if not 0 <= number < _LIMIT:
                raise ValueError(
                    f"{where}: {display(names[i])!r} has label {number}; class numbers go from 0 on"
                )
        return torch.tensor(numbers, dtype=torch.int64), None
    if len(words) < len(numbers):
        other = next(i for i, label in enumerate(numbers) if not isinstance(label, str))
        first, second = display(names[words[0]]), display(names[other])
        raise ValueError(
            f"{where}: {first!r} has label {numbers[words[0]]!r} and {second!r} has label {numbers[other]}: "
            f"labels are all class names or all class numbers; with class_to_idx= they are names where it "
            f"has all of them"
        )
    classes = sorted(set(numbers))
    number_of = {name: number for number, name in enumerate(classes)}
    return torch.tensor([number_of[label] for label in numbers], dtype=torch.int64), classes


class _Finder:
    """Finds files by their path, by their name, or by their name without ending."""

    def __init__(self, names: Sequence[str]) -> None:
        self._by_path = {name: number for number, name in enumerate(names)}
        self._by_base: dict[str, int | None] | None = None
        self._by_stem: dict[str, int | None] = {}
        self._names = names

    def find(self, file: str) -> int | None:
        """Number of the file; None: there is none, or more than one."""
        number = self._by_path.get(file.removeprefix("./"))
        if number is not None or "/" in file:
            return number
        if self._by_base is None:
            self._by_base = {}
            for i, name in enumerate(self._names):
                base = name.rpartition("/")[2]
                stem = os.path.splitext(base)[0]
                self._by_base[base] = None if base in self._by_base else i
                self._by_stem[stem] = None if stem in self._by_stem else i
        return self._by_base[file] if file in self._by_base else self._by_stem.get(file)


def _read_file(path: str) -> LabelTable:
    where = f"the label file {display(path)!r}"
    if os.path.getsize(path) > _MAX_FILE_BYTES:
        raise ValueError(f"{where} has {os.path.getsize(path):,} bytes, at most 2**30 are read")
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = list(_lines(file, where))
    rows = _rows(lines, where)
    if not rows:
        raise ValueError(f"{where} is empty")
    if len(rows[0].fields) == 1:
        return _read_column(path, where, rows)
    if _is_header(rows[0].fields):
        head, rows = rows[0].fields, rows[1:]
        if [field.lower() for field in head] == _KAGGLE:
            rows = [_Row(row.line, [row.fields[0], row.fields[1].partition(" ")[0]]) for row in rows]
    return _table(where, rows)


class _Row(NamedTuple):
    """One row of a file.

    Attributes:
        line: Its number in the file, from 1.
        fields: What it holds, without spaces around.
    """

    line: int
    fields: list[str]


def _rows(lines: list[str], where: str) -> list[_Row]:
    """The rows that are not empty; all have one field, or all two.

    Raises:
        ValueError: They don't.
    """
    first = next((line for line in lines if line.strip()), "")
    # The one that is there; a comma before others, which names may hold, but a tab before all.
    rows = _split_rows(lines, "\t" if "\t" in first.strip() else ",", where)
    if rows and "\t" not in first.strip() and all(len(row.fields) == 1 for row in rows):
        other = _split_rows(lines, ";", where)
        if len({len(row.fields) for row in other}) == 1:
            rows = other
    for row in rows:
        if len(row.fields) != len(rows[0].fields) or len(row.fields) > 2:
            raise ValueError(
                f"{where}, row {row.line} has {num_of(len(row.fields), 'field')}: expected "
                f"'<file name>,<label>' (or a tab or semicolon between them) in every row, or one label a "
                f"line"
            )
    return rows


def _split_rows(lines: list[str], delimiter: str, where: str) -> list[_Row]:
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    rows = (_Row(reader.line_num, [field.strip() for field in row]) for row in reader)
    try:
        return [row for row in rows if any(row.fields)]
    except csv.Error as error:
        raise ValueError(f"{where}, row {reader.line_num}: {error}") from error


def _read_column(path: str, where: str, rows: list[_Row]) -> LabelTable:
    """Rows of one field: a label, or a file name and a label with a space between."""
    texts = [row.fields[0] for row in rows]
    if os.path.basename(path) == GROUND_TRUTH:
        return LabelTable(where, list(class_names(path, texts)))
    pairs = [text.rpartition(" ") for text in texts]
    endings = image_extensions()
    if all(file.rstrip().lower().endswith(endings) for file, _, _ in pairs):
        split = zip(rows, pairs, strict=True)
        return _table(where, [_Row(row.line, [file.rstrip(), label]) for row, (file, _, label) in split])
    if all(_BEGINNING.split(text, maxsplit=1)[0].lower().endswith(endings) for text in texts):
        raise ValueError(
            f"{where}: every row begins with the name of an image, as {texts[0][:80]!r}; expected "
            f"'<file name>,<label>', with a comma, semicolon, tab or space between them"
        )
    return LabelTable(where, list(texts))


def _table(where: str, rows: list[_Row]) -> LabelTable:
    """Rows of a file name and a label."""
    for row in rows:
        if not all(row.fields):
            what = "label" if row.fields[0] else "file name"
            shown = f" ({display(row.fields[0])!r})" if row.fields[0] else ""
            raise ValueError(f"{where}, row {row.line}{shown} has no {what}")
    return LabelTable(where, [row.fields[1] for row in rows], [row.fields[0] for row in rows])


def _lines(file: Iterable[str], where: str) -> Iterable[str]:
    for line in file:
        if "\0" in line:
            raise ValueError(f"{where} holds a NUL byte: it is no text")
        yield line


def _is_header(row: list[str]) -> bool:
    """A header's first field names no image: it has no image's ending, and is one of the usual words."""
    first, second = (field.lower() for field in row)
    is_word = _FILE_WORDS.fullmatch(first) or _LABEL_WORDS.fullmatch(second)
    return bool(is_word) and not first.endswith(image_extensions())


def _as_number(label: Label) -> Label:
    return int(label) if isinstance(label, int) or _WHOLE.fullmatch(label) else label


def _label(label: Any, where: str) -> Label:
    if isinstance(label, (str, os.PathLike)):
        text: str = os.fspath(label)
        if not text.strip():
            raise ValueError(f"{where} is {text!r}: a label is a class name or a class number, not empty")
        return text
    try:
        return class_number(label, where)
    except TypeError:
        raise TypeError(f"{where}: a label is a class name or a class number, found {label!r}") from None
