# SPDX-License-Identifier: Apache-2.0
"""DataLoader: torch's DataLoader, its work done by native threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import IterableDataset, Sampler

from torch_dts._exit import the_exit
from torch_dts.backends._choice import Backend, chosen_backend
from torch_dts.datasets import DTSIterableDataset
from torch_dts.datasets._shares import Uneven
from torch_dts.datasets._stream import ShuffleWindow, check_int
from torch_dts.file._arguments import Verify
from torch_dts.loader._arguments import (
    LoaderDecode,
    OnError,
    Options,
    check_batches,
    check_numbers,
    check_options,
    refuse_for_iterable,
    refuse_ranks,
)
from torch_dts.loader._attributes import LoaderAttributes
from torch_dts.loader._batch_plan import PARTIAL_BY_DEFAULT, LastBatch, meant
from torch_dts.loader._datasets import open_path, with_transform
from torch_dts.loader._devices import Device
from torch_dts.loader._elastic import OrderKind
from torch_dts.loader._epoch import batching_of, check_order_is_known, num_batches_of
from torch_dts.loader._load_state import load_state
from torch_dts.loader._memory import Mode
from torch_dts.loader._native_run import NativeRun
from torch_dts.loader._own_sampler import complete_sampler, epochs_of
from torch_dts.loader._python_run import PythonRun
from torch_dts.loader._resume import Resume
from torch_dts.loader._sampler import stream_order
from torch_dts.loader._source import default_workers_for
from torch_dts.loader._stats import LoaderStats
from torch_dts.transforms._plan import Decoder


class DataLoader(LoaderAttributes, torch.utils.data.DataLoader[Any]):
    """torch's DataLoader with native threads in the place of worker processes.

    Takes DTSDataset and DTSIterableDataset (or the path of a ``.dts`` file or of a folder of
    images), torchvision's ImageFolder, DatasetFolder, MNIST, FashionMNIST, KMNIST, EMNIST, CIFAR10
    and CIFAR100, and Subset and ConcatDataset of them. Their transform is read and run natively,
    with the pixels that torchvision and Pillow give. Batches are what torch's DataLoader makes of
    the same dataset: ``[images, labels]``, float32 ``[B, C, H, W]`` (or what the transform gives)
    and int64 ``[B]``.

    Where a transform can't be read, or the dataset has code of its own, torch's worker
    processes do the work; one warning says why (torch_dts.transforms.explain shows more).

    The order of an epoch, and every random choice, is a function of the file, the seed, the
    epoch, the window and the rank (docs/format.md section 5), whatever the number of threads.
    Each ``iter()`` is a new epoch; ``loader.set_epoch(e)`` or ``loader.sampler.set_epoch(e)``
    says which. Images of a batch are memory of the loader that is used again when nobody
    holds it any more.

    Args:
        dataset: See above. A path needs `transform` where images are decoded; a folder's is read as
            ``ImageFolder(path, transform)``.
        batch_size, shuffle, sampler, batch_sampler, collate_fn, pin_memory, drop_last,
            generator, prefetch_factor, persistent_workers, pin_memory_device: As torch's.
            With ``shuffle=True`` the order is ours. A DistributedSampler with
            ``shuffle=True`` keeps its ranks, seed, drop_last and set_epoch, with our order;
            any other sampler's indices are read as they are. `prefetch_factor` counts
            batches of the loader, not of each worker. `generator` gives the seed where
            `seed` is None.
        num_workers: Threads that decode; 0: the caller's. None: the CPUs this process may
            use, by affinity and control groups, divided by torchrun's local ranks; over an
            iterable dataset that native threads don't read: 0, as torch's. More native threads than
            CPUs this process may use are not started: they would only take turns.
        timeout: Seconds to wait for a batch, then RuntimeError; 0: for ever. Needs threads.
        worker_init_fn, multiprocessing_context: For worker processes, where there are any.
        in_order: False: as ``reproducible=False``.
        transform: Takes the place of the dataset's.
        seed: Of the order and all random choices. None: drawn once, at the first ``iter()``;
            0 where ranks share the dataset.
        mode: Where the bytes are kept. "partial": two groups of `shuffle_window` blocks in
            memory, one being used and one being read. "fully": all of it, one copy for the
            processes of this machine. "auto": "fully" where it takes at most half of the
            memory available.
        shuffle_window: Blocks whose samples are mixed; "all": uniformly over the whole file.
            None: 16, with ``mode="fully"`` "all".
        reproducible: False: a free thread takes the next sample, so that the samples of a
            batch may come in another order.
        decode: "exact": images, with Pillow's pixels. "fast" decodes a JPEG whose crop is shrunk to half or
            less at 1/2, 1/4 or 1/8 of its size: the same crops, pixels that differ a little (docs/loader.md
            says how much). "none": samples come as they are stored, `[list of B uint8 tensors, labels]`: the
            bytes of the files, whatever they are, for a decoder of your own
            (``torchvision.io.decode_jpeg(images)``) or to measure reading. Samples stored as pixels are
            ``[H, W, C]`` (gray: ``[H, W]``), and of a pixel set there is one tensor ``[B, H, W, C]``
            (``[B, H, W]``). The dataset's transform is not used, its target_transform is; what is about
            images (`transform`, `dtype`, `views`, `device`, ...) is a ValueError.
        dtype: torch.uint8, float32, float16 or bfloat16; None: as the transform gives.
        memory_format: torch.channels_last or torch.contiguous_format (None).
        return_index: Each batch has the samples' indices in the dataset as a third element.
        on_error: What a sample that can't be read or decoded is: "raise" (an error that
            names it) or "replace" (zeros, label kept, counted, warned of once). Where the dataset
            is read in Python, its image is black before the transform.
        verify: "blocks": the CRC-32 of blocks read whole; "file": of the whole files, before
            the first batch; False: bounds only.
        num_replicas, rank: Deliver only this rank's part. `uneven` says how ranks become equal;
            with `drop_last` each gets ``n // num_replicas`` samples.
        distributed: True: ranks from torch.distributed.
        views: Augmentations of a sample, which is decoded once: a batch is
            ``[[images, images, ...], labels]``, as of a transform that returns a list. Other than
            the default it is not for a `torch_dts.transforms.Views`, which says itself how many.
        repeat: So many batches of the same samples follow one another, each with augmentations
            of its own of one decoding. ``len(loader)`` counts all of them.
        uneven: "fill": a short rank delivers its first sample once more, so that all deliver the
            same number. "exact", for evaluation: every sample once over all ranks. All make the
            same number of batches, a rank with none left one of a single filler, and a mask tells
            fillers from samples that count.
        last_batch: The last batch where it isn't full: "partial" (as it is), "drop", or "fill":
            filled up with the rank's first samples, so that all batches have one shape.
        return_mask: Each batch has as its last element a mask, bool ``[B]``, False for fillers;
            with a `collate_fn` each sample's tuple ends with its bool. None: with
            ``uneven="exact"`` only.
        order: "shuffled": each rank has a range of the epoch. "elastic": the ranks go through the
            epoch of one rank side by side, so that the batches of all ranks together are the same
            for any number of ranks with the same ``batch_size * num_replicas``. Samples are then
            read singly, with read-ahead.
        device: Where batches are put: None or "cpu", or a CUDA device ("cuda": torch's current one when
            an epoch begins). Pixels go there as bytes, one copy a batch beside what the device does, and
            become values there, with the bits of the CPU's (docs/gpu.md); no `pin_memory` is needed.
        pad_channels: 4: on a GPU images have a fourth channel, of zeros.
        static_buffers: All batches come in the same tensors, each overwriting the one before, as CUDA
            graphs need it; to keep a batch, clone it. A last batch that isn't full is filled
            (``last_batch="fill"``), or left out with `drop_last`.
        devices: Feed several devices from this process: each step yields a list with one batch for
            each. Device d of D in rank r of R gets the batches of rank ``r * D + d`` of ``R * D``.
            `batch_size` is of each device; worker w of `num_workers` works for device w % D (a
            device without workers: the caller's thread).
        backend: What decodes: "cpu" (this package's threads, with Pillow's pixels), "dali" (NVIDIA
            DALI, which must be installed: docs/gpu.md) or "auto": "cpu", but with ``decode="fast"``
            on a CUDA device "dali" where that is installed and can do all of it.
        reader_threads: Threads that read, of each device; None: chosen.
        pin_threads: Bind each worker to a CPU of its own, while there are enough for all local ranks.
        share_buffers_with: Another DataLoader, whose memory for blocks this one uses when the
            other doesn't (training and validation in turn).
        decoder: "auto" reads usual JPEGs with our own decoder, "libjpeg" none; the pixels are the same.

    Attributes: every argument, and torch's. Those that torch does not know can't be assigned.

    Raises:
        ValueError, TypeError: As torch's DataLoader; for the arguments beyond it with the
            value found and what was expected.
        OSError, CorruptFileError: The file of a path can't be opened.
        ImportError: ``backend="dali"`` without DALI.
        RuntimeError: `device` is a CUDA device, and CUDA does not run here.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        transform: Callable[[Any], Any] | None = None,
        seed: int | None = None,
        mode: Mode = "auto",
        shuffle_window: ShuffleWindow | None = None,
        reproducible: bool = True,
        decode: LoaderDecode = "exact",
        dtype: torch.dtype | None = None,
        memory_format: torch.memory_format | None = None,
        return_index: bool = False,
        on_error: OnError = "raise",
        verify: Verify = "blocks",
        num_replicas: int | None = None,
        rank: int | None = None,
        distributed: bool = False,
        uneven: Uneven = "fill",
        last_batch: LastBatch = PARTIAL_BY_DEFAULT,
        order: OrderKind = "shuffled",
        return_mask: bool | None = None,
        views: int = 1,
        repeat: int = 1,
        device: Device | None = None,
        devices: Sequence[Device] | None = None,
        pad_channels: int | None = None,
        static_buffers: bool = False,
        backend: Backend = "auto",
        reader_threads: int | None = None,
        pin_threads: bool = False,
        share_buffers_with: DataLoader | None = None,
        decoder: Decoder = "auto",
    ) -> None:
        seed = None if seed is None else check_int("seed", seed, "an int or None")
        makes_batches = batch_size is not None and batch_sampler is None and not drop_last
        last_batch = meant(last_batch, static_buffers is True and makes_batches)
        options = Options(
            transform=transform,
            seed=seed,
            mode=mode,
            shuffle_window=shuffle_window,
            reproducible=reproducible,
            decode=decode,
            dtype=dtype,
            memory_format=memory_format,
            return_index=return_index,
            on_error=on_error,
            verify=verify,
            num_replicas=num_replicas,
            rank=rank,
            distributed=distributed,
            views=views,
            repeat=repeat,
            uneven=uneven,
            last_batch=last_batch,
            order=order,
            return_mask=return_mask,
            devices=devices,
            device=device,
            pad_channels=pad_channels,
            static_buffers=static_buffers,
            backend=backend,
            reader_threads=reader_threads,
            pin_threads=pin_threads,
            decoder=decoder,
        )
        check_options(options)
        check_batches(options, batch_size, drop_last, sampler, batch_sampler)
        if share_buffers_with is not None and not isinstance(share_buffers_with, DataLoader):
            raise TypeError(f"share_buffers_with is {share_buffers_with!r}, expected a torch_dts.DataLoader")
        if isinstance(dataset, (str, os.PathLike)):
            dataset = open_path(dataset, transform, verify)
        elif transform is not None:
            with_transform(dataset, transform)  # says so where that is impossible
        if isinstance(dataset, DTSIterableDataset):
            refuse_for_iterable(options)
            stream_order(dataset, drop_last, uneven)  # says so where the two contradict each other
        if batch_sampler is None:
            drops = drop_last and batch_size is not None
            sampler, shuffle_left = complete_sampler(
                dataset, shuffle, sampler, drops, options, generator, batch_size
            )
        else:
            shuffle_left = shuffle
            refuse_ranks(options, batch_sampler)
        super().__init__(
            dataset,
            batch_size,
            shuffle_left,
            sampler,
            batch_sampler,
            default_workers_for(dataset, transform, decode) if num_workers is None else num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )
        check_numbers(num_workers=num_workers, prefetch_factor=prefetch_factor)
        self.shuffle = shuffle
        self._take(options)
        self.share_buffers_with = share_buffers_with
        self._window = options.window
        if last_batch == "drop" and batch_sampler is None:
            self.batch_sampler.drop_last = True  # type: ignore[union-attr]  # what it lists is what comes
        self._epochs = epochs_of(self, options)
        self._resume = Resume()
        check_order_is_known(self, self._window)
        self._run = NativeRun()
        self._python_run = PythonRun()
        if share_buffers_with is not None:
            self._run.share_buffers(share_buffers_with._run)
        if batch_sampler is None and hasattr(self.sampler, "set_epoch") and self.batch_sampler is not None:
            # torch's BatchSampler has none, and trainers call it on whichever has one
            self.batch_sampler.set_epoch = self.sampler.set_epoch  # type: ignore[attr-defined]
        self._is_complete = True

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # torch names its own class
        """Begins an epoch.

        Raises:
            ValueError: `dtype` or `memory_format` can't be had from the transform; `views` is
                given beside a `Views`; ranks have different seeds; `devices` beside a sampler or
                a data set that can't be shared out natively; ``decode="none"`` of a data set that
                only Python reads; the memory shared with another loader is in use.
            OSError, CorruptFileError: A file can't be read, or is damaged (``verify="file"``).
        """
        if not the_exit.enter():
            raise SystemExit
        try:
            begun = self._run.begin(self)
            if not isinstance(begun, str):
                return begun
            return self._python_run.begin(self, begun, self._run.staging.finisher(self))
        finally:
            the_exit.leave()
            the_exit.leave_thread()

    def __len__(self) -> int:
        """Batches of an epoch, the same number on each rank.

        Raises:
            TypeError: The dataset or sampler has no length (torch's own error).
        """
        num_batches = num_batches_of(batching_of(self, self._window))
        if num_batches is not None:
            return num_batches * self.repeat
        dataset: Any = self.dataset
        if self.last_batch == "drop" and self.batch_size and isinstance(dataset, IterableDataset):
            return len(dataset) // self.batch_size * self.repeat  # type: ignore[arg-type]
        return super().__len__() * self.repeat

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` is this epoch, each later one the next number.

        Raises:
            ValueError: It is outside of ``[0, 2^32)``.
        """
        self._epochs.set_next(epoch)
        set_epoch = getattr(self.sampler, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: what `load_state_dict` needs to go on from here, exactly.

        The place is that behind the last batch that the latest iterator has delivered; what was read
        ahead does not count. Behind the end of an epoch, and before the first, it is the beginning of
        the next one. It is the same on all ranks. With ``seed=None`` the seed is drawn now.

        Returns:
            Plain values that pickle and JSON take, but for what a sampler's own ``state_dict``
            puts in. The first call reads the names, sizes and times of a folder's files.

        Raises:
            OSError: A file of a folder is gone.
        """
        batching = batching_of(self, self._window)
        state = self._resume.state_dict(self.dataset, batching, self._epochs, self.seed)
        return {**state, "backend": chosen_backend(self), "decode": self.decode}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next ``iter()`` goes on where `state` was saved, each later one is the next epoch.

        Another process, other numbers of threads, another `mode` and another transform go on
        with the same samples. Another number of ranks shares the rest of the epoch anew. No
        image is decoded, and no block read, of what was delivered before. `set_epoch` with
        the state's epoch changes nothing; with another one that epoch begins.

        Args:
            state: From `state_dict`, of any rank.

        Raises:
            ValueError: It does not fit to this loader, with what was found and what was
                expected; nothing has changed.
        """
        load_state(self, state)

    def stats(self) -> LoaderStats:
        """Counts and times since the loader was made; of worker processes `num_replaced` only."""
        return self._run.stats() + self._python_run.stats()

    def close(self) -> None:
        """Ends all threads and lets go of the memory; a live iterator then raises RuntimeError.

        The loader can be iterated again. Without `close` this happens when it and its iterators are gone.
        """
        self._run.close()
        self._python_run.close()
