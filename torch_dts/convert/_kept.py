# SPDX-License-Identifier: Apache-2.0
"""Check -> which samples go into the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from torch_dts.convert._check import Checked
from torch_dts.convert._report import BadSample, BadSamplesError, list_bad
from torch_dts.convert._room import Room
from torch_dts.convert._samples import Samples


class SampleBytes(Protocol):
    """Where stored bytes are read from: the source itself, or what a recoder made of it."""

    def read_into(self, numbers: Tensor, offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
        """Copies samples (by number in the source) to `offsets` in `arena` (uint8). Thread-safe."""


@dataclass(frozen=True)
class Kept:
    """The samples that go into the file: columns by rank among those kept."""

    samples: Samples
    numbers: Tensor
    """int64 [n] number in `samples`."""
    sizes: Tensor
    """int64 [n] bytes."""
    labels: Tensor
    """int64 [n] class numbers."""
    recoded: SampleBytes | None = None
    """Holds the stored bytes where they are not the source's."""

    def __len__(self) -> int:
        return self.numbers.numel()

    def select(self, ranks: Tensor) -> Kept:
        """The samples of these ranks (int64 [k])."""
        return Kept(self.samples, self.numbers[ranks], self.sizes[ranks], self.labels[ranks], self.recoded)

    def read_into(self, ranks: Tensor, offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
        """Copies the stored bytes of samples to `offsets` in `arena` (uint8). Thread-safe."""
        source: SampleBytes = self.samples if self.recoded is None else self.recoded
        source.read_into(self.numbers[ranks], offsets, sizes, arena)

    @property
    def num_encoded(self) -> int:
        """Samples that were PIL images and became PNG."""
        is_encoded = torch.zeros(len(self.samples), dtype=torch.bool)
        is_encoded[self.samples.encoded] = True
        return int(is_encoded[self.numbers].sum())


@dataclass(frozen=True)
class Choice:
    """What `choose` decided."""

    kept: Kept
    left_out: list[BadSample]
    kept_bad: list[BadSample]


def choose(samples: Samples, checked: Checked, on_error: str, room: Room | None = None) -> Choice:
    """Drops or keeps the bad samples.

    Args:
        room: Of a block, where samples are stored as they are: larger ones are bad, and can't be kept.

    Raises:
        BadSamplesError: There are bad ones and `on_error` allows neither.
        ValueError: No sample is left.
    """
    too_large = [] if room is None else room.too_large(checked.sizes)
    bad = {each.index: each for each in checked.bad}
    if room is not None:
        for i in too_large:
            bad[i] = BadSample(samples.path_of(i), i, room.reason(int(checked.sizes[i])))
    found = [bad[i] for i in sorted(bad)]
    _refuse(found, checked.sizes, on_error, room, too_large)
    left_out, kept_bad = (found, []) if on_error == "skip" else ([], found)
    return Choice(keep_all_but(samples, checked.sizes, left_out), left_out, kept_bad)


def merge_bad(choice: Choice, bad: list[BadSample], on_error: str) -> tuple[list[BadSample], list[BadSample]]:
    """Samples left out and bad ones kept, with those found bad behind the check, each once.

    A sample that the check found bad and `on_error` kept may have turned out bad again.
    """
    if on_error == "skip":
        return sorted([*choice.left_out, *bad], key=lambda each: each.index), choice.kept_bad
    known = {each.index: each for each in [*bad, *choice.kept_bad]}
    return choice.left_out, [known[index] for index in sorted(known)]


def keep_all_but(samples: Samples, sizes: Tensor, left_out: Sequence[BadSample]) -> Kept:
    """All samples but those left out; ValueError when none is left.

    Args:
        sizes: int64 [n] bytes of every sample of the source.
    """
    is_kept = torch.ones(len(samples), dtype=torch.bool)
    is_kept[[each.index for each in left_out]] = False
    numbers = is_kept.nonzero().flatten()
    if not numbers.numel():
        raise nothing_left(len(samples), left_out)
    return Kept(samples, numbers, sizes[numbers], samples.labels[numbers])


def nothing_left(num_samples: int, bad: Sequence[BadSample]) -> ValueError:
    """The error for a source whose samples are all bad; lists the first of them."""
    which = f"all {num_samples:,} of the source are" if num_samples > 1 else "the source's only one is"
    return ValueError("\n".join([f"no samples are left: {which} bad", *list_bad(bad)]))


def _refuse(
    bad: list[BadSample], sizes: Tensor, on_error: str, room: Room | None, too_large: list[int]
) -> None:
    """Raises BadSamplesError where bad samples can be neither left out nor kept."""
    unreadable = {each.index for each in bad if int(sizes[each.index]) < 0}
    hopeless = [each for each in bad if each.index in unreadable.union(too_large)]
    if on_error == "skip" or not bad or (on_error == "keep" and not hopeless):
        return
    found = hopeless if on_error == "keep" else bad
    if on_error == "raise":
        advice = _advice(len(found), len(unreadable), len(too_large))
    else:
        why = f"{_they(len(found))} no bytes to keep"
        if too_large:
            why = _why(len(found), len(unreadable), len(too_large)).capitalize()
        advice = f"Nothing was written. {why}; on_error='skip' leaves out every bad sample."
    if room is not None and too_large:
        advice += f" {room.advice([int(sizes[i]) for i in too_large])}"
    raise BadSamplesError(found, sizes.numel(), advice)


def _advice(num_bad: int, num_unreadable: int, num_too_large: int) -> str:
    """What on_error can do about bad samples, some of which can't be stored."""
    skip = f"Nothing was written. on_error='skip' leaves {'it' if num_bad == 1 else 'them'} out"
    if not num_unreadable and not num_too_large:
        return f"{skip}, on_error='keep' stores {'its' if num_bad == 1 else 'their'} bytes."
    if num_unreadable == num_bad:
        return f"{skip}; {_they(num_bad).lower()} no bytes that on_error='keep' could store."
    return f"{skip}; on_error='keep' does not help, as {_why(num_bad, num_unreadable, num_too_large)}."


def _why(num_bad: int, num_unreadable: int, num_too_large: int) -> str:
    """Why samples can't be stored."""
    if num_bad == 1:
        return "it is larger than a block" if num_too_large else "it can't be read"
    parts = [f"{num_unreadable:,} of them can't be read"] if num_unreadable else []
    if num_too_large:
        parts.append(f"{num_too_large:,} of them {'is' if num_too_large == 1 else 'are'} larger than a block")
    return " and ".join(parts)


def _they(count: int) -> str:
    return "It has" if count == 1 else "They have"
