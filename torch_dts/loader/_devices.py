# SPDX-License-Identifier: Apache-2.0
"""``devices=[...]``: one process feeds several devices, each as a rank of its own.

Device d of D in a process that is rank r of R gets what rank r * D + d of R * D would get.
Each has an engine; the workers of the process are dealt to them in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from torch_dts._exit import the_exit
from torch_dts.loader._batch_tree import map_tensors

if TYPE_CHECKING:
    from torch_dts.loader._iterator import LoaderIterator
    from torch_dts.loader._resume import Delivered

Device = torch.device | str | int

_NUM_INDICES = 128  # of a torch.device


def check_devices(devices: Any) -> list[Device] | None:
    """`devices`, checked, as a list.

    Raises:
        TypeError: It is no list or tuple of devices.
        ValueError: It is empty, or torch knows no such device, by name or number.
    """
    if devices is None:
        return None
    if not isinstance(devices, (list, tuple)):
        raise TypeError(f"devices is {devices!r}, expected a list of devices or None")
    if not devices:
        raise ValueError("devices is empty, expected at least one device, or None")
    for device in devices:
        if isinstance(device, bool) or not isinstance(device, Device):
            raise TypeError(f"devices holds {device!r}, expected a torch.device, its name or its number")
        number = str(device).rpartition(":")[2]
        if number.isdecimal() and int(number) >= _NUM_INDICES:  # torch takes it modulo 256 or so
            raise ValueError(f"devices holds {device!r}, expected a device number below {_NUM_INDICES}")
        try:
            torch.device(device)
        except RuntimeError as error:  # torch's words don't say where it came from
            raise ValueError(
                f"devices holds {device!r}, which torch does not know: {_first_line(error)}"
            ) from None
    return list(devices)


def _first_line(error: RuntimeError) -> str:
    return (str(error).splitlines() or [""])[0]


def split_workers(num_workers: int, num_devices: int) -> list[int]:
    """How many workers each device has: worker w of the process is of device ``w % num_devices``."""
    return [len(range(device, num_workers, num_devices)) for device in range(num_devices)]


class DevicesIterator:
    """Yields a list of batches, one for each device, until the epoch ends for all at once.

    As a LoaderIterator: an error about one sample, or of the caller's own functions, loses the
    batches of that step only; any other error ends all.

    Args:
        iterators: Of each device.
        devices: Where their batches go.
        delivered: Counts the steps.
        add_consumer_time: Gets the seconds between two calls, where no engine has workers.
    """

    def __init__(
        self,
        iterators: Sequence[LoaderIterator],
        devices: Sequence[Device],
        delivered: Delivered,
        add_consumer_time: Callable[[float], None] | None,
    ) -> None:
        self._iterators = list(iterators)
        self._devices = [torch.device(device) for device in devices]
        self._delivered = delivered
        self._add_consumer_time = add_consumer_time
        self._left_at: float | None = None
        self._step = self._iterators[0].num_delivered
        self._taken: list[Any] = []  # of this step, where a timeout came in between

    def __iter__(self) -> DevicesIterator:
        return self

    def __len__(self) -> int:
        """The batches of each device.

        Raises:
            TypeError: The dataset does not say how many samples it has.
        """
        return len(self._iterators[0])

    def __next__(self) -> list[Any]:
        """The next batch of each device.

        Raises: as ``next`` of a LoaderIterator.
        """
        if not the_exit.enter():
            raise SystemExit
        try:
            return self._next()
        finally:
            the_exit.leave()
            the_exit.leave_thread()

    def _next(self) -> list[Any]:
        if self._add_consumer_time is not None and self._left_at is not None:
            self._add_consumer_time(time.monotonic() - self._left_at)
        try:
            for iterator in self._iterators:  # all work while the first one is waited for
                iterator.feed()
            for number in range(len(self._taken), len(self._iterators)):
                self._taken.append(self._take(number))
        except StopIteration:
            self._delivered.is_all = True
            self.close()
            raise
        except BaseException as error:
            self._after_error(error)
            raise
        finally:
            self._left_at = time.monotonic()
        return self._end_step(self._step + 1)

    def close(self) -> None:
        """Ends the epoch. Closing twice is fine."""
        for iterator in self._iterators:
            iterator.close()

    def _take(self, number: int) -> Any:
        iterator = self._iterators[number]
        while iterator.num_delivered < self._step:  # an error took the step from this device
            iterator.skip()
        return to_device(next(iterator), self._devices[number])

    def _end_step(self, next_step: int) -> list[Any]:
        taken, self._taken = self._taken, []
        self._step = next_step
        repeat = self._iterators[0].repeat
        self._delivered.num_batches = -(-next_step // repeat)
        self._delivered.num_repeated = next_step % repeat
        return taken

    def _after_error(self, error: BaseException) -> None:
        number = len(self._taken)  # the device it came from
        is_fatal = not isinstance(error, Exception)  # Ctrl-C: the state stays before this step
        if is_fatal or not all(iterator.is_open for iterator in self._iterators):
            self._taken = []
            self.close()
        elif number < len(self._iterators) and self._iterators[number].num_delivered > self._step:
            self._end_step(self._iterators[number].num_delivered)


def to_device(data: Any, device: torch.device) -> Any:
    """What a loader yields with its tensors on a device; all else stays as it is."""
    if device.type == "cpu":
        return data
    return map_tensors(data, lambda tensor: tensor.to(device, non_blocking=True))
