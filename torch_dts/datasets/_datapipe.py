# SPDX-License-Identifier: Apache-2.0
"""The functional DataPipe ``read_dts``: from paths of ``.dts`` files to their samples."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import IterDataPipe, functional_datapipe
from torch.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES

from torch_dts.datasets._chunks import EpochOrder, Share
from torch_dts.datasets._decode import Transform
from torch_dts.datasets._epochs import EpochClock
from torch_dts.datasets._stream import ShuffleWindow, check_int, check_window, stream_items
from torch_dts.file import DTSFile
from torch_dts.file._arguments import Verify, check_bool, check_callable
from torch_dts.file._find_files import ExactFiles
from torch_dts.file._given_path import expand_home


@functional_datapipe("read_dts")
class DTSReader(IterDataPipe[tuple[Any, Any]]):
    """Yields ``(image, class index)`` of every sample of each file (functional name: ``read_dts``).

    Takes sharding itself: torch's DataLoader deals the samples to its workers and ranks,
    each comes once. A ``sharding_filter`` in the same pipeline is torch's "sharding
    twice" error. Files are shuffled one by one; each iteration is a new epoch.

    Args:
        source_datapipe: Paths of ``.dts`` files. Each file is read by itself, volumes of a set
            too; a folder or a glob is read as the set it names.
        shuffle: Shuffle each file, as DTSIterableDataset does. The DataLoader's
            ``shuffle=`` overrides it.
        seed: None: the DataLoader's shared seed, else one draw of torch's default generator.
        shuffle_window: Blocks whose samples are mixed, or ``"all"``.
        transform: Takes the PIL image in mode RGB, returns the sample.
        target_transform: Takes the class index, returns the target.
        verify: As for `torch_dts.DTSFile`.

    Example:
        >>> pipe = IterableWrapper(["a.dts", "b.dts"]).read_dts(shuffle=True, seed=0)
        >>> loader = DataLoader(pipe.map(augment), batch_size=32, num_workers=4)
    """

    def __init__(
        self,
        source_datapipe: Iterable[str | os.PathLike[str]],
        shuffle: bool = False,
        seed: int | None = None,
        shuffle_window: ShuffleWindow = 16,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        verify: Verify = "blocks",
    ) -> None:
        super().__init__()
        self.source_datapipe = source_datapipe
        self.shuffle_blocks = check_bool("shuffle", shuffle)
        self.seed = None if seed is None else check_int("seed", seed, "an int or None")
        self.window = check_window(shuffle_window)
        self.transform = check_callable("transform", transform)
        self.target_transform = check_callable("target_transform", target_transform)
        self.verify = verify
        self._clock = EpochClock()
        self._loader_seed: int | None = None
        self._shards: dict[int, tuple[int, int]] = {}

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._items(*self._clock.claim(self.seed, self._loader_seed))

    def is_shardable(self) -> bool:
        """True: no ``sharding_filter`` is needed."""
        return True

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: int = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Leaves samples ``instance_id``, ``instance_id + num_of_instances``, ... of the stream.

        Groups of higher priority number are the finer division, as in torch's ``sharding_filter``.

        Raises:
            ValueError: `instance_id` is outside of ``[0, num_of_instances)``.
            RuntimeError: The default group and other groups are mixed.
        """
        if not 0 <= instance_id < num_of_instances:
            raise ValueError(f"instance_id is {instance_id}, expected 0 to {num_of_instances - 1}")
        default = int(SHARDING_PRIORITIES.DEFAULT)
        if any((group == default) != (sharding_group == default) for group in self._shards):
            raise RuntimeError("read_dts can't mix the default sharding group with others")
        self._shards[int(sharding_group)] = (num_of_instances, instance_id)

    def set_shuffle(self, shuffle: bool) -> DTSReader:
        """Turns shuffling on or off (the DataLoader's ``shuffle=`` comes here)."""
        self.shuffle_blocks = check_bool("shuffle", shuffle)
        return self

    def set_seed(self, seed: int) -> DTSReader:
        """The DataLoader's shared seed: used where no `seed` was given."""
        self._loader_seed = seed
        return self

    def _items(self, epoch: int, seed: int) -> Iterator[tuple[Any, Any]]:
        order = EpochOrder(self.shuffle_blocks, self.window, seed, epoch)
        num_instances, instance = self._instance()
        num_before = 0
        for path in self.source_datapipe:
            # A pipe that lists the volumes of a set lists the first one too: each is read by itself.
            exact = ExactFiles((os.fsdecode(path),)) if os.path.isfile(expand_home(path)) else path
            with DTSFile(exact, verify=self.verify) as file:
                share = Share(instance, num_instances, first_position=num_before)
                yield from stream_items(file, order, share, self.transform, self.target_transform)
                num_before += len(file)

    def _instance(self) -> tuple[int, int]:
        num_instances, instance = 1, 0
        for group in sorted(self._shards, reverse=True):
            number, number_of_this = self._shards[group]
            instance += num_instances * number_of_this
            num_instances *= number
        return num_instances, instance
