# SPDX-License-Identifier: Apache-2.0
"""DTSIterableDataset: a ``.dts`` file read block by block, shuffled and sharded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch.distributed as dist
from torch.utils.data import IterableDataset, get_worker_info

from torch_dts._paths import display
from torch_dts.datasets._agreement import require_same
from torch_dts.datasets._chunks import EpochOrder, Share
from torch_dts.datasets._decode import Transform, default_loader
from torch_dts.datasets._epoch_agreement import EpochAgreement
from torch_dts.datasets._epochs import EpochClock
from torch_dts.datasets._group_watch import GroupWatch
from torch_dts.datasets._iterable_state import Place, Position, StreamIterator, StreamResume
from torch_dts.datasets._pixels import load_pixels
from torch_dts.datasets._ranks import RankChoice
from torch_dts.datasets._shares import Part, RankShare, Uneven, check_uneven
from torch_dts.datasets._stream import ShuffleWindow, check_count, check_int, check_window, stream_items
from torch_dts.file import DTSFile
from torch_dts.file._arguments import Verify, check_bool, check_callable


class DTSIterableDataset(IterableDataset[tuple[Any, Any]]):
    """The samples of a ``.dts`` file as a stream, read in large pieces.

    Blocks are shuffled, then the samples within each group of `shuffle_window` blocks.
    The order is a function of the file, seed, epoch, window and rank alone
    (docs/format.md section 5). Each ``iter()`` is a new epoch with a new order, in worker
    processes too, persistent or not; `set_epoch` says which.

    With torch's DataLoader each sample comes once, whatever ``num_workers`` is. With
    `batch_size` equal to the DataLoader's, worker w of W makes batches w, w + W, ... of the
    order, so 0, 1 or 3 workers give the same batches in the same order and
    ``len(loader)`` holds. Without it samples are dealt one by one, and ``num_workers``
    changes which samples meet in a batch; each worker may end with a batch that is not
    full, so that up to ``num_workers - 1`` more batches than ``len(loader)`` come.

    Without worker processes one group of blocks is in memory while the next one is read:
    ``2 * shuffle_window * block_size`` bytes (512 MiB with the defaults). Workers that
    take a part of each group read their own samples only, about 64 MiB at a time, twice.
    With ``verify="blocks"`` they also share out the blocks of the group to check them, so
    that each block is read once more in all, as a rule from the page cache.

    A pixel file (MNIST, CIFAR) is read now and stays in memory; its images have mode L or RGB.
    It has no blocks, so it is shuffled uniformly, whatever the window.

    Args:
        path: The file: str, PathLike or the report that `torch_dts.convert` returned. A set of
            volumes: its first file, its folder or a glob.
        transform: Takes the PIL image in mode RGB, returns the sample.
        target_transform: Takes the class index, returns the target.
        shuffle: False: stored order, the same in each epoch.
        seed: None: 0 where there are several ranks; else drawn once from torch's default
            generator when the first epoch begins. Then it depends on ``num_workers``.
        shuffle_window: Blocks whose samples are mixed, or ``"all"``: uniform over the
            whole file, at the price of reading each sample singly.
        batch_size: The DataLoader's batch size, see above.
        num_replicas: Number of ranks, each of which gets an equal part of every epoch. None:
            torch.distributed's where it is initialised, else 1.
        rank: Of this process, from 0; given with `num_replicas` or not at all.
        drop_last: Each rank delivers ``n // num_replicas`` samples.
        uneven: Where ranks can't be equal. "fill": a short one delivers its first sample once
            more, so that all deliver the same number. "exact": each delivers its own range, so
            that every sample comes once; lengths differ by one at most.
        verify: What is checked on reading. ``"blocks"``: each block's CRC-32 once an epoch,
            by the worker that reads it or, where several share it, by one of them. Damage is
            an error in that epoch, but samples of the block may be delivered before. Not with
            the window ``"all"``, and not of a block that two ranks share, of which each reads
            its samples only: there only bounds are checked. Of a pixel file: the CRC-32 of
            everything behind the header, now.
            ``"file"``: the CRC-32 of the whole file now, so that worker
            processes need not; ``False``: bounds only.

    Attributes:
        file: The open file.

    Raises:
        OSError: The file can't be opened.
        CorruptFileError: It is no ``.dts`` file, or damaged.
        ValueError: An argument is out of its range, a pixel file has neither 1 nor 3 channels, or
            ranks of a process group have different seeds or windows (where the group is made
            later, ``iter()`` and `set_epoch` say so).
        TypeError: `seed`, `shuffle_window` or `batch_size` is no integer, `shuffle` no bool,
            or a transform can't be called.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        *,
        shuffle: bool = True,
        seed: int | None = None,
        shuffle_window: ShuffleWindow = 16,
        batch_size: int | None = None,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
        uneven: Uneven = "fill",
        verify: Verify = "blocks",
    ) -> None:
        super().__init__()
        self.transform = check_callable("transform", transform)
        self.target_transform = check_callable("target_transform", target_transform)
        self.shuffle = check_bool("shuffle", shuffle)
        self.seed = None if seed is None else check_int("seed", seed, "an int or None")
        self._window = check_window(shuffle_window)
        self.shuffle_window: ShuffleWindow = self._window or "all"
        self.batch_size = None if batch_size is None else _check_batch_size(batch_size)
        self._ranks = RankChoice(num_replicas, rank)
        self.drop_last = check_bool("drop_last", drop_last)
        self.uneven = check_uneven(uneven, drop_last)
        self.file = DTSFile(path, verify=verify)
        self.file.ensure_verified()
        default_loader(self.file)  # refuses what it has no image for
        load_pixels(self.file)
        self._clock = EpochClock()
        self._group = GroupWatch(self._ranks, self._clock)
        self._agreement = EpochAgreement()
        self._resume = StreamResume()
        self._is_compared = False
        self._has_begun = False
        self._compare_seeds()

    @property
    def num_replicas(self) -> int:
        """The number of ranks, as of now."""
        return self._ranks.now()[0]

    @property
    def rank(self) -> int:
        """The rank of this process, as of now."""
        return self._ranks.now()[1]

    @property
    def classes(self) -> list[str]:
        """The class names; a class index is a position in this list."""
        return self.file.classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The class index of each class name."""
        return self.file.class_to_idx

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` is this epoch, each later one the next number.

        Reaches the workers of a DataLoader over this dataset, persistent ones too.

        Raises:
            ValueError: It is outside of ``[0, 2^32)``, or ranks have different seeds.
        """
        self._compare_seeds()
        self._clock.set_next(epoch)
        if self._is_comparable():  # here, since worker processes begin epochs without us
            self._agreement.check(f"set/{self._kind}", epoch, True, *self._ranks.now())

    def __len__(self) -> int:
        """Samples this rank delivers in an epoch, over all workers."""
        self._compare_seeds()
        return self._order(0, 0).share_of(len(self.file)).num_samples

    def _order(self, seed: int, epoch: int) -> EpochOrder:
        ranks = self._ranks.now()
        return EpochOrder(self.shuffle, self._window, seed, epoch, *ranks, self.drop_last, self.uneven)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Begins an epoch; in a DataLoader's worker, that worker's share of it.

        Raises (when samples are asked for):
            CorruptFileError: A block does not match its CRC-32 or index, or the file changed.
            OSError: The disk can't be read.
            Exception: Pillow's own for a sample it refuses, with the sample in its text.
        """
        info = get_worker_info()
        worker, num_workers = (0, 1) if info is None else (info.id, info.num_workers)
        return self._begin(Share(worker, num_workers, self.batch_size or 1))

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: what `load_state_dict` needs to go on from here, exactly.

        That of the latest iteration in this process; behind its end, and before the first, the
        beginning of the next epoch. In a DataLoader's worker (torchdata's StatefulDataLoader asks
        there) it is what this worker has delivered. With ``seed=None`` the seed is drawn now.

        Returns:
            Plain values that pickle and JSON take.

        Raises:
            RuntimeError: Worker processes or a torch_dts.DataLoader iterate over the dataset;
                the DataLoader has the state then.
        """
        return self._resume.state_dict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state` was saved, each later one is the next epoch.

        Of what was delivered before nothing is decoded and no block is read. Another number of
        ranks shares the rest of the epoch anew; worker processes (of torch's DataLoader) share it
        as they share an epoch. `set_epoch` with another epoch begins that one.

        Args:
            state: From `state_dict`, of any rank.

        Raises:
            ValueError: It does not fit to this dataset, with what was found and what was
                expected; nothing has changed.
        """
        self._resume.load(self, state)

    def _begin(
        self, share: Share, plan: Callable[[int], tuple[tuple[Part, ...], RankShare]] | None = None
    ) -> StreamIterator:
        """Begins an epoch.

        Args:
            share: What this process takes.
            plan: Takes the epoch; what was done of it before, and what the rank delivers.
        """
        if plan is not None:
            self._resume.leave()
        # No generator: the epoch is claimed here and now, before set_epoch is called for the next.
        self._compare_seeds()
        self._group.begin()
        epoch, seed = self._clock.claim(0 if self.seed is None and self.num_replicas > 1 else self.seed)
        if plan is None:
            position = self._resume.begin(self, epoch, seed, share)
            self._compare_first(position.place)
            return StreamIterator(self, position)
        parts, rank_share = plan(epoch)
        return StreamIterator(self, Position(Place(epoch, seed, parts), share), rank_share)

    def _items(
        self, order: EpochOrder, share: Share, rank_share: RankShare | None
    ) -> Iterator[tuple[Any, Any]]:
        return stream_items(self.file, order, share, self.transform, self.target_transform, rank_share)

    def _compare_seeds(self) -> None:
        """Once, as soon as there is a process group. Worker processes have none that they could use."""
        self._group.look()
        if self._is_compared or not self._is_comparable():
            return
        self._is_compared = True
        mine = f"seed {(self.seed or 0) % 2**64}, shuffle_window {self.shuffle_window}"
        require_same(f"stream/{self._kind}", mine, *self._ranks.now())

    def _compare_first(self, place: Place) -> None:
        if self._is_comparable() and not self._has_begun:
            self._has_begun = True
            kind = f"begin/{self._kind}"
            EpochAgreement().check(kind, place.epoch, False, *self._ranks.now(), parts=place.parts)

    def _is_comparable(self) -> bool:
        has_group = dist.is_available() and dist.is_initialized()
        return self.shuffle and has_group and self.num_replicas > 1 and get_worker_info() is None

    @property
    def _kind(self) -> str:
        return f"{len(self.file)}/{self.file.fingerprint}"

    def __repr__(self) -> str:
        window = f"window {self.shuffle_window}" if self.file.header.has_blocks else "uniform"
        shuffled = f"shuffled, seed {self.seed}, {window}"
        lines = [
            f"Number of datapoints: {len(self)}",
            f"File: {display(self.file.path)}",
            f"Order: {shuffled if self.shuffle else 'as stored'}",
            self._describe_ranks(),
            f"Batch size: {self.batch_size}" if self.batch_size else "",
            f"Transform: {self.transform!r}" if self.transform is not None else "",
            f"Target transform: {self.target_transform!r}" if self.target_transform is not None else "",
        ]
        indented = [f"    {line}" for text in lines for line in text.splitlines()]
        return "\n".join([f"Dataset {type(self).__name__}", *indented])

    def _describe_ranks(self) -> str:
        ranks = self._ranks.describe()
        rule = ", the rest dropped" if self.drop_last else ", each sample once"
        return ranks + rule if ranks and (self.drop_last or self.uneven == "exact") else ranks


def _check_batch_size(batch_size: int) -> int:
    batch_size = check_int("batch_size", batch_size, "an int or None")
    return check_count("batch_size", batch_size, ", or None,")
