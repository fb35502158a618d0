# SPDX-License-Identifier: Apache-2.0
"""The arguments that a loader has beyond torch's, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import torch
from torch.utils.data import DistributedSampler

from torch_dts.backends._choice import BACKENDS, Backend
from torch_dts.backends._dali_import import require_dali
from torch_dts.datasets._ranks import RankChoice
from torch_dts.datasets._shares import Uneven, check_uneven
from torch_dts.datasets._stream import ShuffleWindow, check_count, check_int, check_window
from torch_dts.file._arguments import Verify, check_bool, check_callable, check_verify
from torch_dts.loader._batch_plan import LastBatch, check_last_batch
from torch_dts.loader._cuda_device import check_device, check_padding
from torch_dts.loader._devices import Device, check_devices
from torch_dts.loader._elastic import OrderKind, check_order
from torch_dts.loader._memory import Mode
from torch_dts.loader._sampler import is_distributed_shuffle
from torch_dts.transforms._plan import Decoder, check_decoder
from torch_dts.transforms._views import MAX_VIEWS

OnError = Literal["raise", "replace"]
LoaderDecode = Literal["exact", "fast", "none"]
Choice = TypeVar("Choice")

_DTYPES = (torch.uint8, torch.float32, torch.float16, torch.bfloat16)
_FORMATS = (torch.contiguous_format, torch.channels_last)
_ITERABLE_ONLY = (
    "{name} is {value!r}, but a DTSIterableDataset decides it: give {name} to the dataset, not to the loader"
)
_OF_IMAGES = "which is about decoded images, but decode='none' hands samples out as they are stored"


@dataclass(frozen=True)
class Options:
    """The arguments beyond torch's; DataLoader's docstring says what they mean."""

    transform: Any = None
    seed: int | None = None
    mode: Mode = "auto"
    shuffle_window: ShuffleWindow | None = None
    reproducible: bool = True
    decode: LoaderDecode = "exact"
    dtype: torch.dtype | None = None
    memory_format: torch.memory_format | None = None
    return_index: bool = False
    on_error: OnError = "raise"
    verify: Verify = "blocks"
    num_replicas: int | None = None
    rank: int | None = None
    distributed: bool = False
    uneven: Uneven = "fill"
    last_batch: LastBatch = "partial"
    return_mask: bool | None = None
    devices: Sequence[Device] | None = None
    reader_threads: int | None = None
    pin_threads: bool = False
    order: OrderKind = "shuffled"
    views: int = 1
    repeat: int = 1
    backend: Backend = "auto"
    decoder: Decoder = "auto"
    device: Any = None
    pad_channels: int | None = None
    static_buffers: bool = False

    @property
    def window(self) -> int:
        """The shuffle window in blocks, 0 for "all", with its default."""
        if self.shuffle_window is None:
            return 0 if self.mode == "fully" else 16
        return check_window(self.shuffle_window)


def check_options(options: Options) -> None:
    """Checks types and values.

    Raises:
        ValueError: A value is none of those allowed, or two arguments exclude each other.
        TypeError: One has another type.
        ImportError: The backend is not installed.
    """
    check_callable("transform", options.transform)
    if options.seed is not None:
        check_int("seed", options.seed, "an int or None")
    _one_of("mode", options.mode, ("auto", "fully", "partial"))
    if options.shuffle_window is not None:
        check_window(options.shuffle_window)
    for name in ("reproducible", "return_index", "distributed", "pin_threads"):
        check_bool(name, getattr(options, name))
    _one_of("dtype", options.dtype, (None, *_DTYPES))
    _one_of("memory_format", options.memory_format, (None, *_FORMATS))
    _one_of("on_error", options.on_error, ("raise", "replace"))
    check_verify(options.verify)
    check_order(options.order)
    check_decoder(options.decoder)
    if _one_of("decode", options.decode, ("exact", "fast", "none")) == "none":
        refuse_for_bytes(options)
    if options.reader_threads is not None:
        threads = check_int("reader_threads", options.reader_threads, "an int or None")
        check_count("reader_threads", threads, " or None")
    if check_devices(options.devices) is not None and options.device is not None:
        raise ValueError(
            f"device is {options.device!r} and devices is {options.devices!r}: give one of the two"
        )
    is_on_cpu = options.devices is None and check_device(options.device) is None
    check_padding(options.pad_channels, is_on_cpu)
    check_bool("static_buffers", options.static_buffers)
    for name in ("views", "repeat"):
        check_count(name, check_int(name, getattr(options, name), "an int"), "")
    if options.views * options.repeat > MAX_VIEWS:
        raise ValueError(
            f"views is {options.views} and repeat is {options.repeat}: {options.views * options.repeat} "
            f"augmentations of an image, expected at most {MAX_VIEWS}"
        )
    if _one_of("backend", options.backend, BACKENDS) == "dali":
        require_dali()
    RankChoice(options.num_replicas, options.rank)
    if options.distributed and options.num_replicas is not None:
        raise ValueError(
            f"distributed=True takes the ranks from torch.distributed, but num_replicas is "
            f"{options.num_replicas} and rank is {options.rank}: give one of the two"
        )


def check_numbers(**numbers: Any) -> None:
    """Checks what torch takes in its constructor, and stumbles over when an epoch begins.

    Args:
        numbers: By the name of the argument; None: not given.

    Raises:
        TypeError: One is no integer.
    """
    for name, value in numbers.items():
        if value is not None and not hasattr(value, "__index__"):
            raise TypeError(f"{name} is {value!r}, expected an int or None")


def check_batches(
    options: Options, batch_size: int | None, drop_last: bool, sampler: Any, batch_sampler: Any
) -> None:
    """Checks what a loader says about ranks and batches that can't be equal.

    Args:
        options: `uneven`, `last_batch` and `return_mask` are looked at.
        batch_size, drop_last, sampler, batch_sampler: As the caller gave them.

    Raises:
        ValueError: A value is none of those allowed, or contradicts another argument.
    """
    uneven = check_uneven(options.uneven, drop_last)
    last_batch = check_last_batch(options.last_batch, drop_last, uneven)
    if options.return_mask is not None:
        check_bool("return_mask", options.return_mask)
    if batch_sampler is not None and options.devices is not None:
        raise ValueError(
            "batch_sampler option is mutually exclusive with devices, which shares out a data set itself"
        )
    if batch_sampler is not None and (uneven != "fill" or last_batch != "partial"):
        raise ValueError(
            "batch_sampler option is mutually exclusive with uneven and last_batch: it says what batches are"
        )
    if batch_size is None and batch_sampler is None and last_batch != "partial":
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with last_batch="
            f"{last_batch!r}"
        )
    if uneven == "exact" and isinstance(sampler, DistributedSampler) and sampler.num_replicas > 1:
        if not is_distributed_shuffle(sampler):
            raise ValueError(
                f"uneven='exact' can't tell which samples a {type(sampler).__name__} repeats to make ranks "
                "equal: leave it out and give num_replicas and rank, or distributed=True"
            )
        if sampler.drop_last:
            raise ValueError(
                "uneven='exact' delivers every sample once, and the DistributedSampler's drop_last=True "
                "leaves some out"
            )


def ranks_of(options: Options) -> tuple[int, int] | None:
    """``(num_replicas, rank)`` where sharding was asked for, else None.

    Raises:
        RuntimeError: As torch's DistributedSampler: torch has no distributed package.
        ValueError: torch.distributed is not initialised (torch's own error).
    """
    if options.num_replicas is not None:
        return RankChoice(options.num_replicas, options.rank).now()
    if not options.distributed:
        return None
    if not torch.distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return torch.distributed.get_world_size(), torch.distributed.get_rank()


def refuse_ranks(options: Options, sampler: Any) -> None:
    """Raises ValueError where ranks are given beside a sampler that does not have the same ones."""
    ranks = ranks_of(options)
    inner = getattr(sampler, "sampler", sampler)
    if ranks is not None and ranks != (getattr(inner, "num_replicas", None), getattr(inner, "rank", None)):
        raise ValueError(
            f"rank {ranks[1]} of {ranks[0]} can't be taken of what a {type(inner).__name__} delivers: leave "
            "out the sampler, or num_replicas, rank and distributed"
        )


def refuse_for_iterable(options: Options) -> None:
    """Raises ValueError for what a DTSIterableDataset decides itself."""
    if options.order == "elastic":
        raise ValueError(
            "order='elastic' reads samples singly, but a DTSIterableDataset reads blocks: give a DTSDataset"
        )
    defaults = Options()
    for name in ("seed", "shuffle_window", "num_replicas", "distributed"):
        if getattr(options, name) != getattr(defaults, name):
            raise ValueError(_ITERABLE_ONLY.format(name=name, value=getattr(options, name)))


def refuse_for_bytes(options: Options) -> None:
    """Raises ValueError for what can't be had of samples that are not decoded."""
    if options.transform is not None:
        raise ValueError(
            "transform is given, but decode='none' hands samples out as they are stored, without any: leave "
            "transform out, or decode"
        )
    defaults = Options()
    for name in ("dtype", "memory_format", "views", "repeat", "devices", "pad_channels", "static_buffers"):
        if getattr(options, name) != getattr(defaults, name):
            raise ValueError(f"{name} is {getattr(options, name)!r}, {_OF_IMAGES}")
    if options.device is not None and str(options.device) != "cpu":
        raise ValueError(f"device is {options.device!r}, {_OF_IMAGES}")
    if options.backend == "dali":
        raise ValueError(f"backend is 'dali', {_OF_IMAGES}")


def _one_of(name: str, value: Choice, allowed: Sequence[Choice]) -> Choice:
    # `in` compares by ==, and 1 == True.
    for choice in allowed:
        if type(value) is type(choice) and value == choice:
            return value
    listed = ", ".join(repr(choice) for choice in allowed[:-1])
    raise ValueError(f"{name} is {value!r}, expected {listed} or {cast(object, allowed[-1])!r}")
