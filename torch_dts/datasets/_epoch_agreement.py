# SPDX-License-Identifier: Apache-2.0
"""Ranks that are not at the same epoch are told so, when they begin it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from torch_dts.datasets._agreement import found_elsewhere
from torch_dts.datasets._shares import Part


class EpochAgreement:
    """Compares the epochs of one loader or dataset with those of the other ranks, as they begin.

    Looked at are its first epoch, and each whose number was said (`set_epoch`, `load_state_dict`).
    Epochs that merely follow each other can't be compared by their count: one rank may
    look at a few batches before all begin. Where no number is ever said, those
    are compared that came to their end. Each is one look into the store.
    """

    def __init__(self) -> None:
        self._has_begun = False
        self._was_ever_said = False

    def check(
        self,
        kind: str,
        epoch: int,
        was_said: bool,
        num_replicas: int,
        rank: int,
        *,
        parts: Sequence[Part] = (),
        completed: int | None = None,
    ) -> None:
        """Compares an epoch that begins.

        Args:
            kind: The data that the ranks share, in words.
            epoch: Its number.
            was_said: The number was set.
            num_replicas, rank: Who shares it.
            parts: What was done of it before.
            completed: Number of the epoch before, if it came to its end.

        Raises:
            ValueError: Ranks were told different epochs to begin with. Later it is a warning.
        """
        done = [list(part) for part in parts if part.consumed]
        mine = f"epoch {epoch}" + (f", of which {done} are done," if done else "")
        is_first, self._has_begun = not self._has_begun, True
        apart = None
        if was_said:
            apart = _apart(f"{kind}/said", "begins", mine, num_replicas, rank)
            if apart is not None and not self._was_ever_said:
                raise ValueError(apart)
            self._was_ever_said = True
        elif completed is not None and not self._was_ever_said:
            apart = _apart(f"{kind}/completed", "has ended", f"epoch {completed}", num_replicas, rank)
        if is_first and apart is None:
            apart = _apart(f"{kind}/first", "begins", mine, num_replicas, rank)
        if apart is not None:
            warnings.warn(apart, stacklevel=5)


def _apart(kind: str, verb: str, mine: str, num_replicas: int, rank: int) -> str | None:
    other = found_elsewhere(kind, mine, num_replicas, rank)
    if other is None:
        return None
    return (
        f"rank {rank} {verb} {mine} but another rank {other}: ranks that share a data set go through the "
        "same epochs, or some samples come twice and others never; call set_epoch, or load_state_dict with "
        "the same state, on every rank"
    )
