# SPDX-License-Identifier: Apache-2.0
"""What a conversion tells its caller: the report, and the error that lists bad samples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_dts._paths import display
from torch_dts._words import num_of

MAX_LISTED = 20


@dataclass(frozen=True)
class BadSample:
    """One sample that failed its check."""

    path: str
    """The source file; for samples without a file their path inside the .dts file."""
    index: int
    """Number of the sample in the source, counted before anything was left out."""
    reason: str
    """What was wrong, in a sentence."""

    def __str__(self) -> str:
        return f"{display(self.path)} (sample {self.index}): {self.reason}"


class BadSamplesError(ValueError):
    """Some samples failed their check. Nothing was written.

    Attributes:
        bad: All of them, a tuple of `BadSample` in source order.
    """

    def __init__(self, bad: Sequence[BadSample], num_samples: int, advice: str) -> None:
        self.bad = tuple(bad)
        self.num_samples = num_samples
        self.advice = advice
        super().__init__(self._text())

    def _text(self) -> str:
        head = f"{len(self.bad)} of {num_of(self.num_samples, 'sample')} can't be used. {self.advice}"
        return "\n".join([head, *list_bad(self.bad)])

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.bad, self.num_samples, self.advice)


@dataclass
class RecodeFacts:
    """How stored bytes came to differ from the source's."""

    name: str
    """What was done: "level 3", "restart markers"."""
    num_recoded: int = 0
    """Samples that were encoded anew."""
    kept_original: dict[str, int] = field(default_factory=dict)
    """Samples that kept their bytes, by reason."""
    dropped_segments: int = 0
    """Segments of metadata that were left out or cut down."""
    dropped_bytes: int = 0
    """Bytes that this made fewer."""
    num_resumed: int = 0
    """Samples taken over from an interrupted run."""
    max_area: int = 0
    """Largest width * height of stored samples that are no JPEGs, as far as known."""

    def lines(self) -> list[str]:
        """For the report."""
        lines = [f"  {'encoded':<9} {num_of(self.num_recoded, 'sample')} anew ({self.name})"]
        lines += [
            f"  as it was {num_of(count, 'sample')}: {reason}" for reason, count in self.kept_original.items()
        ]
        if self.dropped_segments:
            lines.append(
                f"  metadata  {num_of(self.dropped_segments, 'segment')} dropped "
                f"({num_of(self.dropped_bytes, 'byte')}); metadata='keep' keeps all"
            )
        if self.num_resumed:
            lines.append(f"  resumed   {num_of(self.num_resumed, 'sample')} of an interrupted run")
        return lines


@dataclass(frozen=True)
class ConvertReport(os.PathLike[str]):
    """What was written. Usable as the path of the new file: `DTSDataset(convert(folder))`."""

    path: str
    """The .dts file; of a set the first volume written."""
    num_samples: int
    """Samples in the file."""
    num_classes: int
    """Classes, those without samples included."""
    num_blocks: int
    """Blocks in the file."""
    room_bytes: int
    """Bytes of the blocks that hold neither index nor sample."""
    file_bytes: int
    """Size of the .dts file."""
    source_bytes: int
    """Size that the samples of the file have in the source."""
    seconds: float
    """Time from call to return."""
    skipped: tuple[BadSample, ...] = ()
    """Samples left out (on_error="skip")."""
    kept_bad: tuple[BadSample, ...] = ()
    """Samples that failed their check and are in the file all the same (on_error="keep")."""
    num_missing_eoi: int = 0
    """JPEGs in the file that end without an end marker; PIL refuses or accepts each by its data."""

    num_encoded: int = 0
    """PIL images in the file that were stored as PNG: their files' bytes were not known."""
    num_deep: int = 0
    """Images of more than 8 bits a value (16-bit gray PNG), as the check saw them: Pillow's RGB, and so the
    datasets, show what is above 255 as 255."""
    num_replaced: int = 0
    """Files of tar archives that are left out: later ones of the same name replace them, as in unpacking."""
    num_resumed_blocks: int = 0
    """Blocks taken over from an interrupted run (resume=True)."""
    stored_bytes: int | None = None
    """Size of the samples as they are stored. None: that of the source."""
    recoded: RecodeFacts | None = None
    """How stored bytes came to differ from the source's. None: they don't."""
    packing_note: str = ""
    """compat=True: why the packing is ours and not that of the format's first exporter ("": it is that)."""
    sample_shape: tuple[int, int, int] | None = None
    """Of a pixel file: height, width and channels of every image. None: a file of blocks."""
    num_volumes: int = 1
    """Files that the set was cut into."""
    paths: tuple[str, ...] = ()
    """The files that were written: one, all volumes of the set, or the one asked for."""

    @property
    def images_per_second(self) -> float:
        """Samples written per second of the whole conversion."""
        return self.num_samples / self.seconds if self.seconds > 0 else 0.0

    @property
    def megabytes_per_second(self) -> float:
        """Source bytes written per second, in units of 10**6 bytes."""
        return self.source_bytes / 1e6 / self.seconds if self.seconds > 0 else 0.0

    def __fspath__(self) -> str:
        return self.path

    def __hash__(self) -> int:
        return hash(self.path)  # as a path it may be a key

    def _wrote(self) -> str:
        if self.num_volumes == 1:
            return f"wrote {display(self.path)}"
        if len(self.paths) < self.num_volumes:
            return f"wrote {display(self.path)}, one of {self.num_volumes} volumes"
        return f"wrote {display(self.path)} and the other {num_of(self.num_volumes - 1, 'volume')} of the set"

    def __str__(self) -> str:
        more = ""
        # A small set is mostly header area: a percentage would say nothing.
        if self.file_bytes < 2 * self.source_bytes:
            more = f" ({100.0 * (self.file_bytes / self.source_bytes - 1.0):+.2f} %)"
        lines = [
            self._wrote(),
            f"  samples   {self.num_samples:,} in {num_of(self.num_classes, 'class', 'classes')}",
            f"  file      {num_of(self.file_bytes, 'byte')} for "
            f"{num_of(self.source_bytes, 'byte')} of images{more}",
            f"  blocks    {self.num_blocks:,}, free room {num_of(self.room_bytes, 'byte')}"
            if self.sample_shape is None
            else f"  pixels    {' x '.join(map(str, self.sample_shape))} (height, width, channels)",
            f"  time      {self.seconds:.1f} s, {self.images_per_second:,.0f} images/s, "
            f"{self.megabytes_per_second:,.1f} MB/s",
        ]
        if self.recoded is not None:
            stored = self.source_bytes if self.stored_bytes is None else self.stored_bytes
            ratio = f", {stored / self.source_bytes:.3f} of the source" if self.source_bytes else ""
            lines.append(f"  stored    {num_of(stored, 'byte')} of images{ratio}")
            lines += self.recoded.lines()
        if self.packing_note:
            lines.append(f"  packing   ours: {self.packing_note}")
        if self.num_resumed_blocks:
            lines.append(f"  resumed   {num_of(self.num_resumed_blocks, 'block')} of an interrupted run")
        if self.num_missing_eoi:
            lines.append(f"  no end    {num_of(self.num_missing_eoi, 'JPEG')} without an end marker (EOI)")
        if self.num_encoded:
            lines.append(f"  as PNG    {num_of(self.num_encoded, 'PIL image')}")
        if self.num_deep:
            lines.append(
                f"  16 bits   {num_of(self.num_deep, 'image')}, values above 255 are read as 255 (white)"
            )
        if self.num_replaced:
            count = num_of(self.num_replaced, "file")
            lines.append(f"  replaced  {count} of the archive by later ones of the same name")
        if self.skipped:
            lines.append(f"  skipped   {num_of(len(self.skipped), 'sample')}:")
            lines += list_bad(self.skipped, indent="    ")
        if self.kept_bad:
            lines.append(f"  kept bad  {num_of(len(self.kept_bad), 'sample')}:")
            lines += list_bad(self.kept_bad, indent="    ")
        return "\n".join(lines)


def list_bad(bad: Sequence[BadSample], indent: str = "  ") -> list[str]:
    """One line for each of the first bad samples, and one for the rest."""
    lines = [f"{indent}{each}" for each in bad[:MAX_LISTED]]
    if len(bad) > MAX_LISTED:
        lines.append(f"{indent}... and {len(bad) - MAX_LISTED:,} more")
    return lines
