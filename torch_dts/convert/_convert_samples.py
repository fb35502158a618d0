# SPDX-License-Identifier: Apache-2.0
"""The stages of a conversion to blocks, one after the other.

    samples -> check -> choice -> (recode) -> (division into volumes) -> packing -> writer -> report

Each stage is a function of its own module; what passes between them is `Samples`, `Checked`,
`Kept` (rows of samples with sizes, labels and where their bytes are read), `BlockPlan`.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Sequence
from typing import Any

from torch_dts._version import __version__
from torch_dts._words import num_of
from torch_dts.convert import _metadata
from torch_dts.convert._arguments import Options
from torch_dts.convert._check import Checked, check_samples
from torch_dts.convert._compat import plan_compat
from torch_dts.convert._journal import Journal, discard_journal
from torch_dts.convert._kept import Choice, Kept, choose, merge_bad, nothing_left
from torch_dts.convert._levels import EXPORT_MODES
from torch_dts.convert._pack_write import BlockPlan, plan_blocks
from torch_dts.convert._recode import Recoder, recode_samples
from torch_dts.convert._recoders import make_recoder
from torch_dts.convert._report import ConvertReport, RecodeFacts
from torch_dts.convert._resume import open_journal, open_spool, refuse_journal
from torch_dts.convert._room import room_of
from torch_dts.convert._samples import Samples
from torch_dts.convert._target import refuse_source
from torch_dts.convert._volumes import (
    Volume,
    add_gaps,
    divide,
    identify_set,
    own_ranks,
    refuse_gaps,
    refuse_other_sets,
)
from torch_dts.convert._write_file import FileFacts, is_val_split
from torch_dts.convert._write_volumes import Part, write_volumes


def convert_samples(
    volumes: Sequence[Volume], samples: Samples, options: Options, started: float
) -> ConvertReport:
    """Writes the samples as files of blocks.

    Args:
        volumes: The files to write, checked: one, all of a set, or one of them.
        samples: The caller's; open until the end.
        started: When the conversion began (time.perf_counter).
    """
    target = volumes[0].path
    with contextlib.ExitStack() as stack:
        recoder = make_recoder(options)
        if recoder is not None:
            stack.callback(recoder.close)
        is_val = is_val_split(options.split, samples)
        key = _parameters(options, is_val, recoder)
        journal = stack.enter_context(open_journal(target, samples, key, options.resume))
        for each in volumes[1:]:
            if options.resume:
                refuse_journal(each.path, each.number)
            else:
                discard_journal(each.path)
        checked = _check(samples, options, journal)
        for each in volumes:
            refuse_source(each.path, samples.files, checked.sizes)
        room = room_of(options)
        choice = choose(samples, checked, options.on_error, room if recoder is None else None)
        left_out, kept_bad = choice.left_out, choice.kept_bad
        if not options.level and options.encoding != "raw":
            _explain_png(_num_png(options, choice.kept), options.encoding)
        own = own_ranks(volumes, len(choice.kept), options.order, options.seed)
        kept = choice.kept if own is None else choice.kept.select(own)
        identity = _identify(volumes, choice, options, is_val, _known_area(checked, recoder, None), recoder)
        recoded = None
        if recoder is not None:
            spool = open_spool(target, journal)
            stack.callback(spool.close)
            recoded = recode_samples(
                kept,
                recoder,
                spool,
                journal,
                on_error=options.on_error,
                num_workers=options.num_workers,
                progress=options.progress,
                room=room,
            )
            if own is not None and options.on_error == "skip":
                refuse_gaps(recoder.name, recoded.bad, recoded.large, len(samples), options.check, room)
            kept = recoded.kept
            left_out, kept_bad = merge_bad(choice, recoded.bad, options.on_error)
            if not len(kept):
                raise nothing_left(len(samples), left_out)
            if volumes[0].count > 1 and options.on_error == "skip":
                identity = add_gaps(identity, recoded.bad)
        parts: list[Part] = []
        for volume, own_kept, ranks in divide(volumes, kept, own, options.order, options.seed):
            plan, packing_note = plan_samples(own_kept, options)
            facts = None if recoded is None else recoded.facts_of(own_kept)
            info = _encode_info(options, choice.kept, len(left_out), recoder, facts)
            file_facts = FileFacts(
                level=options.level,
                is_val=is_val,
                max_area=_known_area(checked, recoder, facts),
                source_bytes=int(checked.sizes[own_kept.numbers].sum()),
                info=_metadata.add_set(info, identity) if identity else info,
                has_raw=_has_raw(samples, recoder),
                compat=options.compat,
            )
            parts.append(Part(volume, own_kept, ranks, plan, file_facts))
        totals = write_volumes(
            parts,
            overwrite=options.overwrite,
            num_workers=options.num_workers,
            progress=options.progress,
            has_stats=options.stats,
            journal=journal,
        )
    return ConvertReport(
        path=target,
        num_samples=sum(len(part.kept) for part in parts),
        num_classes=len(samples.classes),
        num_blocks=sum(part.plan.num_blocks for part in parts),
        room_bytes=sum(part.room_bytes for part in parts),
        file_bytes=sum(os.stat(each.path).st_size for each in volumes),
        source_bytes=sum(part.facts.source_bytes for part in parts),
        seconds=time.perf_counter() - started,
        skipped=tuple(left_out),
        kept_bad=tuple(kept_bad),
        num_missing_eoi=totals.num_missing_eoi,
        num_encoded=sum(_num_png(options, part.kept) for part in parts),
        num_deep=checked.num_deep,
        num_replaced=samples.num_replaced,
        num_resumed_blocks=totals.num_resumed,
        stored_bytes=sum(int(part.kept.sizes.sum()) for part in parts),
        recoded=None if recoded is None else recoded.facts,
        packing_note=packing_note,
        num_volumes=options.num_volumes,
        paths=tuple(each.path for each in volumes),
    )


def _identify(
    volumes: Sequence[Volume],
    choice: Choice,
    options: Options,
    is_val: bool,
    max_area: int,
    recoder: Recoder | None,
) -> str:
    """INFO.set, "" for a file that is all; refuses one volume beside volumes of another set."""
    count = volumes[0].count
    if count == 1:
        return ""
    info = _encode_info(options, choice.kept, len(choice.left_out), recoder, None)
    shape = [count, options.block_size, is_val, options.level, max_area]
    identity = identify_set(choice.kept, info, shape)
    if len(volumes) < count:
        refuse_other_sets(volumes[0], identity)
    return identity


def plan_samples(kept: Kept, options: Options) -> tuple[BlockPlan, str]:
    """Which sample goes into which block; with compat=True, why that is not as it should be."""
    if options.compat:
        return plan_compat(kept, options.level, options.min_blocks)
    return plan_blocks(kept, options.block_size, options.order, options.seed, options.level), ""


def _check(samples: Samples, options: Options, journal: Journal | None) -> Checked:
    """The check, or what it found before the conversion was interrupted."""
    if journal is not None and journal.checked is not None:
        return journal.checked
    modes = EXPORT_MODES if options.level else None
    checked = check_samples(samples, options.check, options.num_workers, options.progress, modes)
    if journal is not None:
        journal.note_check(checked)
    return checked


def _parameters(options: Options, is_val: bool, recoder: Recoder | None) -> dict[str, Any]:
    """What the file depends on beside its samples, for the journal."""
    return {
        "torch_dts": __version__,
        "level": options.level,
        "restart_interval": options.restart_interval,
        "metadata": options.metadata,
        "split": "val" if is_val else "train",
        "order": options.order,
        "seed": options.seed,
        "check": options.check,
        "on_error": options.on_error,
        "encoding": options.encoding,
        "block_size": options.block_size,
        "raw": options.raw.info,
        "compat": options.compat,
        "min_blocks": options.min_blocks,
        "num_volumes": options.num_volumes,
        "volume": options.volume,
        "encoder": None,
        **({} if recoder is None else recoder.parameters),
    }


def _has_raw(samples: Samples, recoder: Recoder | None) -> bool:
    """Whether stored samples may be pixels: made so, or of a source file that has some."""
    return (
        recoder.has_raw or (recoder.takes_raw and samples.may_hold_raw) if recoder else samples.may_hold_raw
    )


def _known_area(checked: Checked, recoder: Recoder | None, facts: RecodeFacts | None) -> int:
    before = checked.max_area if recoder is None or recoder.keeps_area else 0
    return max(before, 0 if facts is None else facts.max_area)


def _num_png(options: Options, kept: Kept) -> int:
    """PIL images that are stored as PNG, so far as that is known before they are encoded."""
    return 0 if options.level or options.encoding == "raw" else kept.num_encoded


def _explain_png(num_encoded: int, encoding: str) -> None:
    """Refuses encoding="png" where nothing is a PIL image, warns of those that became PNG unasked."""
    if encoding == "png":
        if not num_encoded:
            raise ValueError(
                "encoding='png' is for images that are pixels (CIFAR10, MNIST, PIL images); all samples of "
                "this source have encoded bytes, which are kept: leave encoding out"
            )
    elif num_encoded:
        were = f"{num_of(num_encoded, 'PIL image')} {'was' if num_encoded == 1 else 'were'}"
        warnings.warn(
            f"{were} stored as PNG: the bytes of the original files are not known. "
            f"To keep them, let the data set give paths or encoded bytes",
            stacklevel=4,
        )


def _encode_info(
    options: Options, kept: Kept, num_skipped: int, recoder: Recoder | None, facts: RecodeFacts | None
) -> bytes:
    """INFO of a file; `kept`: the samples of the whole set, `facts`: of those in the file."""
    num_encoded = _num_png(options, kept)
    is_kept = facts is None or (facts.num_recoded == 0 and not options.level)
    return _metadata.encode_info(
        kind=kept.samples.kind,
        num_listed=len(kept.samples),
        num_skipped=num_skipped,
        num_encoded=num_encoded,
        bytes_kept=is_kept and num_encoded == 0 and kept.samples.are_original,
        order=options.order,
        seed=options.seed,
        check=options.check,
        encoding=options.encoding,
        level=options.level,
        restart_interval=options.restart_interval,
        metadata=options.metadata,
        encoder=None if recoder is None else recoder.parameters["encoder"],
        kept_original={} if facts is None else facts.kept_original,
        compat=options.compat,
        raw=options.raw.info,
    )
