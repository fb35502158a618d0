# SPDX-License-Identifier: Apache-2.0
"""The epoch of an iteration, known to all worker processes of a DataLoader.

torch iterates an IterableDataset in its workers and never tells the process that made
it. So the count lives on a board in shared memory: the first worker to begin an
iteration takes the next epoch, the others find it (csrc/core/order/epoch_board.h).
"""

from __future__ import annotations

import operator
import os
import weakref
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from torch_dts import _native

# Words of the board (csrc/core/order/epoch_board.cpp).
_NEXT_EPOCH_WORD = 1
_SEED_SET_WORD = 2  # nonzero once it holds a seed
_SEED_WORD = 3
_BY_WORKERS_WORD = 4  # epochs that workers began
# Words that it leaves to us.
_ALONE_WORD = 5  # nonzero once an epoch began that no ranks share
_RANKS_WORD = 6  # number of ranks * 2^32 + rank, once the process that made the workers has some
_MAX_EPOCH = 2**32 - 1


class EpochClock:
    """Counts the epochs of a dataset. Thread-safe.

    The board belongs to one process and the DataLoader workers below it. Any other
    process that gets the clock, by fork or pickle, goes on from a copy of its own:
    ranks started by one launcher must each count for themselves, or they would take
    turns instead of agreeing.
    """

    def __init__(self) -> None:
        self._board = _share(torch.zeros(_native.EPOCH_BOARD_WORDS, dtype=torch.int64, device="cpu"))
        self._start()

    def claim(self, seed: int | None, first_seed: int | None = None) -> tuple[int, int]:
        """Begins an iteration.

        Args:
            seed: The seed in force; None: the one on the board.
            first_seed: Goes on the board if it has none. None: in a worker derived from the
                DataLoader's, else one draw from torch's default generator.

        Returns:
            The epoch and the seed.
        """
        info = get_worker_info()
        if info is None:
            self._take_over()
            if first_seed is None:
                first_seed = 0 if seed is not None or self._has_seed() else _draw_seed()
            epoch, board_seed = _native.claim_epoch(self._board, -1, 0, 0, first_seed)
        else:
            base_seed = info.seed - info.id  # one number for all workers of a DataLoader iterator
            begun = self._begun.get((base_seed, info.id), 0)  # persistent workers iterate again
            self._begun[base_seed, info.id] = begun + 1
            if first_seed is None:
                first_seed = base_seed
            instance = base_seed & (2**62 - 1)
            epoch, board_seed = _native.claim_epoch(self._board, instance, begun, info.id, first_seed)
        return epoch, board_seed if seed is None else seed

    def set_next(self, epoch: int) -> None:
        """The next iteration to begin has this epoch, each later one the next number.

        Raises:
            ValueError: It is outside of ``[0, 2^32)``.
        """
        epoch = operator.index(epoch)
        if not 0 <= epoch <= _MAX_EPOCH:
            raise ValueError(f"epoch is {epoch}, expected 0 to {_MAX_EPOCH}")
        if get_worker_info() is None:
            self._take_over()
        _native.set_next_epoch(self._board, epoch)
        self._was_said = True

    def take_was_said(self) -> bool:
        """Whether `set_next` was called, in this process, since this was last asked."""
        was_said, self._was_said = self._was_said, False
        return was_said

    @property
    def next_epoch(self) -> int:
        """The epoch of the next iteration to begin."""
        return int(self._board[_NEXT_EPOCH_WORD]) % (_MAX_EPOCH + 1)

    @property
    def num_by_workers(self) -> int:
        """Epochs that worker processes began."""
        return int(self._board[_BY_WORKERS_WORD])

    @property
    def was_alone(self) -> bool:
        """Whether an epoch began, here or in a worker, that no ranks share."""
        return bool(self._board[_ALONE_WORD])

    def note_alone(self) -> None:
        """An epoch begins that no ranks share."""
        self._board[_ALONE_WORD] = 1

    @property
    def ranks(self) -> tuple[int, int] | None:
        """Number of ranks, and the rank, of the process that made the workers; None: it has not said."""
        word = int(self._board[_RANKS_WORD])
        return (word >> 32, word % 2**32) if word else None

    def tell_ranks(self, num_replicas: int, rank: int) -> None:
        """Tells workers that began before the process group was made."""
        self._take_over()
        self._board[_RANKS_WORD] = num_replicas * 2**32 + rank

    def drawn_seed(self) -> int:
        """The seed on the board; drawn now from torch's default generator if there is none."""
        if get_worker_info() is None:
            self._take_over()
        if not self._has_seed():
            self.adopt(_draw_seed())
        return int(self._board[_SEED_WORD])

    def adopt(self, seed: int) -> None:
        """Puts a seed on the board, in the place of any that is there.

        Args:
            seed: Any int, taken modulo 2^64.
        """
        if get_worker_info() is None:
            self._take_over()
        self._board[_SEED_WORD] = (seed + 2**63) % 2**64 - 2**63
        self._board[_SEED_SET_WORD] = 1

    def __getstate__(self) -> dict[str, Any]:
        if get_worker_info() is None:
            self._take_over()
        return {"board": self._board, "owner": self._owner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        board: Any = state["board"]
        was_shared = board.is_shared()  # it came through multiprocessing, perhaps to a worker
        self._board = board if was_shared else _share(board)
        self._start()
        if was_shared:
            self._owner = state["owner"]

    def _start(self) -> None:
        self._owner = os.getpid()
        self._was_said = False
        self._begun: dict[tuple[int, int], int] = {}
        _clocks.add(self)

    def _take_over(self) -> None:
        if self._owner != os.getpid():
            self._board = _share(self._board.clone())
            self._owner = os.getpid()

    def _has_seed(self) -> bool:
        return bool(self._board[_SEED_SET_WORD])


_clocks: weakref.WeakSet[EpochClock] = weakref.WeakSet()


def _take_over_all() -> None:
    # Workers forked by a rank must get the rank's board, not the one of its launcher; the
    # rank itself never touches the clock when all iterating is done in workers.
    if get_worker_info() is None:
        for clock in list(_clocks):
            clock._take_over()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_over_all)


def _share(board: Any) -> Tensor:  # torch leaves share_memory_ without types
    shared: Tensor = board.share_memory_()
    return shared


def _draw_seed() -> int:
    return int(torch.empty((), dtype=torch.int64, device="cpu").random_().item())
