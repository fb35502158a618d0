# SPDX-License-Identifier: Apache-2.0
"""An epoch of a loader: which samples in which batches, from its samplers and its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor
from torch.utils.data import BatchSampler, IterableDataset

from torch_dts.datasets import DTSIterableDataset
from torch_dts.loader._batch_plan import BatchRule, IndexBatch, filled_batches, plan_share
from torch_dts.loader._datasets import whole_file
from torch_dts.loader._order import Order, Reading, Stream
from torch_dts.loader._pieces import Piece, planned_pieces, sampled_pieces
from torch_dts.loader._resume import Begun, Delivered, Resume
from torch_dts.loader._sampler import (
    Epochs,
    PlainSampler,
    ShuffledSampler,
    distributed_order,
    is_distributed_shuffle,
    stream_order,
)
from torch_dts.loader._seed_agreement import kind_of, processes_of, require_same_seed
from torch_dts.loader._source import LoaderSource, reason_for_python
from torch_dts.loader._state import Place

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader

NO_DEVICES = "devices= needs a data set and a transform that native code reads: {reason}"


@dataclass(frozen=True)
class Batching:
    """How a loader makes batches.

    Attributes:
        order: The order, where it is known; None: `batches` says.
        batches: The indices of each batch, for each epoch anew.
        rule: How they are cut; of a batch sampler of the user's: not known, batches of 1.
        is_batched: False (``batch_size=None``): samples come one by one.
        returns_mask: Each batch ends with a mask that is False for fillers.
        sampler: Where the order isn't known: what `batches` come from; None: a dataset that
            says its order itself.
        num_skipped: So many of `batches` were delivered before.
        num_devices: So many devices of this process, each of which is a rank of `order`; that
            is the rank of the first one.
        repeat: Batches of the same samples that come of each.
    """

    order: Order | None
    batches: Iterable[Any]
    rule: BatchRule
    is_batched: bool
    returns_mask: bool = False
    sampler: Any = None
    num_skipped: int = 0
    num_devices: int = 1
    repeat: int = 1


@dataclass(frozen=True)
class Epoch:
    """An epoch that has begun.

    Attributes:
        seed: Of the random choices about samples.
        epoch: Its number.
        pieces: What goes to the native loader.
        reads_blocks: Blocks are among it.
        delivered: Counts.
        num_repeated: So many of the first batches with the same samples were delivered before.
    """

    seed: int
    epoch: int
    pieces: Iterator[Piece]
    reads_blocks: bool = False
    delivered: Delivered = field(default_factory=Delivered)
    num_repeated: int = 0


def batching_of(loader: DataLoader, window: int) -> Batching:
    """Reads the samplers of a loader.

    Args:
        loader: Its dataset, samplers and what it says about batches are looked at.
        window: The shuffle window in blocks, for a sampler whose place our order takes.

    Raises:
        ValueError: It has several devices, and can't share out what they get.
    """
    batching = _of_process(loader, window)
    return batching if loader.devices is None else _shared_out(batching, len(loader.devices))


def check_order_is_known(loader: DataLoader, window: int) -> None:
    """Raises ValueError where a loader needs an order of its own, or native threads, and there are none."""
    if loader.order == "elastic" and _of_process(loader, window).order is None:
        raise ValueError(
            "order='elastic' is an order of the loader's own, but a sampler or the dataset says another: "
            "give shuffle= instead, or a DistributedSampler with shuffle=True"
        )
    if loader.devices is not None:
        batching_of(loader, window)
        reason = reason_for_python(loader.dataset, loader.transform, loader.views)
        if reason is not None:
            raise ValueError(NO_DEVICES.format(reason=reason))


def _shared_out(batching: Batching, num_devices: int) -> Batching:
    order = batching.order
    if order is None:
        raise ValueError(
            "devices= shares out a data set by an order of the loader's, but a sampler or the data set says "
            "which samples come: leave the sampler out, or use a DistributedSampler with shuffle=True"
        )
    ranks = replace(order, num_replicas=order.num_replicas * num_devices, rank=order.rank * num_devices)
    return replace(batching, order=ranks, num_devices=num_devices)


def _of_process(loader: DataLoader, window: int) -> Batching:
    dataset: Any = loader.dataset
    repeat = loader.repeat
    batch_sampler: Any = loader.batch_sampler
    is_batched = batch_sampler is not None
    if isinstance(dataset, DTSIterableDataset):
        order: Order | None = stream_order(dataset, loader.drop_last, loader.uneven)
        rule = BatchRule(loader.batch_size or 1, "drop" if loader.drop_last else loader.last_batch)
        return Batching(order, (), rule, is_batched, returns_mask(loader, order), repeat=repeat)
    if isinstance(dataset, IterableDataset):
        rule = BatchRule(loader.batch_size or 1, "drop" if loader.drop_last else "partial")
        return Batching(None, (), rule, is_batched, returns_mask(loader, None), repeat=repeat)
    if is_batched and type(batch_sampler) is not BatchSampler:
        mask = returns_mask(loader, None)
        return Batching(None, batch_sampler, BatchRule(1), True, mask, batch_sampler, repeat=repeat)
    sampler: Any = batch_sampler.sampler if is_batched else loader.sampler
    rule = BatchRule(1)
    if is_batched:
        rule = BatchRule(batch_sampler.batch_size, "drop" if batch_sampler.drop_last else loader.last_batch)
    elastic_batch = rule.batch_size if loader.order == "elastic" else 0
    order = known_order(sampler, dataset, window, elastic_batch)
    if order is not None and loader.uneven == "exact":
        order = replace(order, uneven="exact")
    batches = batch_sampler if is_batched else _Singly(sampler)
    source = batch_sampler if is_batched else sampler
    mask = returns_mask(loader, order)
    return Batching(order, batches, rule, is_batched, mask, source, repeat=repeat)


def returns_mask(loader: DataLoader, order: Order | None) -> bool:
    """Whether a loader's batches end with a mask: as it says, else where ranks may be uneven."""
    if loader.return_mask is not None:
        return loader.return_mask
    return (loader.uneven if order is None else order.uneven) == "exact"


def num_batches_of(batching: Batching) -> int | None:
    """The batches of an epoch of a known order; None: it isn't known."""
    if batching.order is None:
        return None
    share = plan_share(batching.order, batching.rule)
    return -(-max(0, share.num_samples - batching.order.num_skipped) // batching.rule.batch_size)


def known_order(sampler: Any, dataset: Any, window: int, elastic_batch: int = 0) -> Order | None:
    """The order that a sampler stands for; None: its indices have to be asked for."""
    file = whole_file(dataset)
    if type(sampler) in (ShuffledSampler, PlainSampler):
        order: Order = replace(sampler.order, elastic_batch=elastic_batch)
        return order if order.num_samples == len(dataset) and order.file is file else None
    if is_distributed_shuffle(sampler) and len(sampler.dataset) == len(dataset):
        return distributed_order(
            sampler, Order(len(dataset), file=file, shuffle_window=window, elastic_batch=elastic_batch)
        )
    return None


class Claim(NamedTuple):
    """An epoch that was claimed.

    Attributes:
        order_seed: Of the order.
        seed: Of the random choices about samples.
        epoch: Its number.
        batching: How its batches are made, without those that were delivered before.
        delivered: Counts.
        num_repeated: As in `Epoch`.
    """

    order_seed: int
    seed: int
    epoch: int
    batching: Batching
    delivered: Delivered
    num_repeated: int


def claim_epoch(
    batching: Batching, epochs: Epochs, seed: int | None, is_first: bool, resume: Resume | None = None
) -> Claim:
    """Claims the next epoch of a process, whatever number of devices it has.

    Args:
        batching: From `batching_of`.
        epochs: Counts them.
        seed: The loader's own; where ranks are those of a DistributedSampler it decides the
            choices about samples, and the sampler's seed the order.
        is_first: Compare seeds with other ranks.
        resume: Knows what of the epoch was delivered before.

    Raises:
        ValueError: Another rank has another seed, or was told another epoch.
    """
    order_seed, epoch = epochs.claim()
    choice_seed = order_seed if seed is None else seed
    order = batching.order
    if order is not None and is_first and order.num_replicas > batching.num_devices:
        require_same_seed(order, order_seed, batching.num_devices)
    resume = resume or Resume()
    completed = resume.completed
    place, batching, delivered = resume.begin(batching, order_seed, choice_seed, epoch)
    if order is not None:
        _compare_epoch(resume, order, batching.num_devices, place, epochs.take_was_said(), completed)
    return Claim(order_seed, choice_seed, epoch, batching, delivered, place.num_repeated)


def _compare_epoch(
    resume: Resume, order: Order, num_devices: int, place: Place, was_said: bool, completed: int | None
) -> None:
    if order.num_replicas > num_devices:
        if not order.shuffle:  # whichever epoch it is, the samples are the same
            was_said, completed = False, None
        resume.agreement.check(
            f"epoch/{kind_of(order)}",
            place.epoch if order.shuffle else 0,
            was_said,
            *processes_of(order, num_devices),
            parts=place.parts,
            completed=completed,
        )


def epoch_of(claim: Claim, source: LoaderSource, device: int = 0, whole_batches: bool = False) -> Epoch:
    """A claimed epoch as pieces.

    Args:
        claim: From `claim_epoch`.
        source: What is read.
        device: For which device of the process. Of several, none counts for the loader.
        whole_batches: As of `Reading`.
    """
    batching = claim.batching
    delivered = claim.delivered if batching.num_devices == 1 else Delivered()
    order = batching.order
    if order is None:
        batches = filled_batches(batching.batches, batching.rule)
        pieces = sampled_pieces(
            batches,
            source.sample_map,
            source.mean_bytes,
            batching.num_skipped,
            whole_batches,
            _name_of(batching.sampler),
        )
        return Epoch(claim.seed, claim.epoch, pieces, False, delivered, claim.num_repeated)
    order = replace(order, rank=order.rank + device)
    share = plan_share(order, batching.rule)
    stream = order.stream(claim.order_seed, claim.epoch, share)
    earlier = order.delivered(claim.order_seed, claim.epoch, share)
    reading = _reading(order, source)._replace(whole_batches=whole_batches)
    pieces = planned_pieces(order, stream, source.sample_map, batching.rule, reading, earlier)
    return Epoch(claim.seed, claim.epoch, pieces, order.has_groups, delivered, claim.num_repeated)


def _reading(order: Order, source: LoaderSource) -> Reading:
    most_single_bytes = None
    if order.file is not None and order.num_replicas > 1:
        # A rank reads no more than one block beside those of its share, what it reads twice included.
        most_single_bytes = order.file.block_size // 4 * 3
    return Reading(source.mean_bytes, source.keeps_bytes, most_single_bytes)


class PythonEpoch(NamedTuple):
    """An epoch of a map-style dataset for a loader that works in Python.

    Attributes:
        seed, epoch: Of the random choices about samples.
        batches: `IndexBatch` of dataset indices, with ``batch_size=None`` of one each. What
            a sampler of the user's gives is passed on as it is, but for a batch that was filled.
        delivered: Counts.
        num_skipped: So many of `batches` were delivered before.
        earlier: Dataset indices that were delivered before and aren't in `batches`.
        counted_in: Dataset indices of the epoch of all ranks, where occurrences count in it.
        num_repeated: As in `Epoch`.
    """

    seed: int
    epoch: int
    batches: Iterator[Any]
    delivered: Delivered
    num_skipped: int = 0
    earlier: tuple[Tensor, ...] = ()
    counted_in: Tensor | None = None
    num_repeated: int = 0


def begin_python_epoch(
    loader: DataLoader, epochs: Epochs, seed: int | None, window: int, resume: Resume | None = None
) -> PythonEpoch:
    """Claims an epoch for Python: the same order, the same batches, the same seeds as of `epoch_of`."""
    batching = batching_of(loader, window)
    if batching.order is None:
        given: Any = loader.batch_sampler if batching.is_batched else loader.sampler
        batching = replace(batching, batches=given)
    claim = claim_epoch(batching, epochs, seed, True, resume)
    order_seed, choice_seed, epoch, batching, delivered, num_repeated = claim
    order, rule = batching.order, batching.rule
    if order is None:
        batches: Iterator[Any] = iter(batching.batches)
        if rule.last_batch == "fill":
            batches = filled_batches(batches, rule)
        skipped = batching.num_skipped
        return PythonEpoch(choice_seed, epoch, batches, delivered, skipped, num_repeated=num_repeated)
    share = plan_share(order, rule)
    stream = order.stream(order_seed, epoch, share)
    planned = _index_batches(order.to_dataset(stream.all_ids), stream, rule)
    earlier = tuple(map(order.to_dataset, order.delivered(order_seed, epoch, share)))
    counted_in = None if stream.whole is None else order.to_dataset(stream.whole)
    return PythonEpoch(choice_seed, epoch, planned, delivered, 0, earlier, counted_in, num_repeated)


def begin_iterable_epoch(loader: DataLoader, epochs: Epochs, window: int, resume: Resume) -> Begun:
    """Begins an epoch of a dataset that says its order itself.

    A DTSIterableDataset claims it when its iteration begins, perhaps in worker processes.
    """
    epoch = epochs.next_epoch
    if not isinstance(loader.dataset, DTSIterableDataset):
        epochs.set_next((epoch + 1) % (1 << 32))
    batching, completed = batching_of(loader, window), resume.completed
    begun = resume.begin(batching, None, None, epoch)
    if batching.order is not None:
        _compare_epoch(resume, batching.order, 1, begun.place, epochs.take_was_said(), completed)
    return begun


def _index_batches(indices: Tensor, stream: Stream, rule: BatchRule) -> Iterator[IndexBatch]:
    num_own = stream.ids.numel()
    for first in range(0, indices.numel(), rule.batch_size):
        end = first + rule.batch_size
        part = indices[first:end].tolist()
        num_fillers = min(len(part), max(0, first + len(part) - num_own))
        if stream.places is None:
            yield IndexBatch(part, num_fillers, int(stream.are_lent))
        else:
            occurrences = stream.filler_occurrences[max(0, first - num_own) : max(0, end - num_own)]
            yield IndexBatch(part, num_fillers, 0, stream.places[first:end], occurrences)


class _Singly:
    """A sampler's indices as batches of one."""

    def __init__(self, sampler: Iterable[int]) -> None:
        self._sampler = sampler

    def __iter__(self) -> Iterator[list[int]]:
        return ([index] for index in self._sampler)


def _name_of(sampler: Any) -> str:
    """What errors call a sampler."""
    inner = sampler.sampler if type(sampler) is BatchSampler else sampler
    return f"the {'batch ' if inner is sampler else ''}sampler ({type(inner).__name__})"
