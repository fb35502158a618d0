# SPDX-License-Identifier: Apache-2.0
"""What the largest sample of a file may have, and what is said of larger ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from torch_dts._words import num_of
from torch_dts.convert._arguments import Options

# In front of a block's samples, by level; more where samples are small and many.
MIN_BLOCK_HEADER_BYTES = (4096, 16384, 16384, 16384)
_STEP_BYTES = 16 << 20
_MOST_MIB = 4096


@dataclass(frozen=True)
class Room:
    """The room of a block.

    Attributes:
        block_size: Its bytes.
        header_bytes: Bytes in front of its samples, at least.
        is_fixed: No other block size can be asked for (compat=True).
        can_shrink: `max_size` can be asked for.
    """

    block_size: int
    header_bytes: int
    is_fixed: bool = False
    can_shrink: bool = False

    @property
    def most(self) -> int:
        """Bytes of the largest sample that fits."""
        return self.block_size - self.header_bytes

    def too_large(self, sizes: Tensor) -> list[int]:
        """The positions in `sizes` (int64 [n]) of samples that do not fit."""
        found: list[int] = (sizes > self.most).nonzero().flatten().tolist()
        return found

    def reason(self, size: int) -> str:
        """What is wrong with a sample of so many bytes."""
        return f"{num_of(size, 'byte')}, but a block of {self.block_size} bytes holds at most {self.most}"

    def advice(self, sizes: Sequence[int]) -> str:
        """A sentence: which arguments make room for samples of these sizes."""
        it = "it" if len(sizes) == 1 else "all of them"
        if self.is_fixed:
            what = "the image" if len(sizes) == 1 else "the images"
            return f"compat=True has blocks of 16 MiB, which can't hold {it}: make {what} smaller."
        mib = -(-(max(sizes) + self.header_bytes) // _STEP_BYTES) * 16
        ways = []
        if mib < _MOST_MIB:
            ways.append(f"block_size={mib} * 2**20 or more (a multiple of 16 MiB under 4 GiB) holds {it}")
        else:
            ways.append(f"no block_size (under 4 GiB) can hold {it}")
        if self.can_shrink:
            ways.append("max_size= makes images smaller")
        return f"{', '.join(ways)}."


def room_of(options: Options) -> Room:
    """The room of the blocks that a conversion writes."""
    return Room(
        options.block_size,
        MIN_BLOCK_HEADER_BYTES[options.level],
        is_fixed=options.compat,
        can_shrink=not options.compat and options.encoding != "png",
    )
