# SPDX-License-Identifier: Apache-2.0
"""The header of a ``.dts`` file and its list of sections, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class Header:
    """The first 144 bytes of a file, field by field (docs/format.md section 1).

    ``*_bytes`` and ``block_size`` are in bytes, ``image_*`` and ``max_pic_area`` in
    pixels (0: varies or unknown). Strings come without their padding. Values are those
    of the file: files of the original exporter hold ``num_classes`` 1000 whatever the set.
    """

    version: tuple[int, ...]
    dataset_type: str
    is_training: int
    compress_level: int
    val_set_prep: int
    num_classes: int
    image_width: int
    image_height: int
    num_channels: int
    color_type: str
    num_samples: int
    num_volumes: int
    volume_id: int
    total_blocks: int
    num_blocks: int
    total_bytes: int
    header_bytes: int
    block_bytes: int
    block_size: int
    block_header_size: int
    pic_alignment: int
    max_pic_area: int
    max_pic_per_block: int
    compression_ratio: float
    normalize_mean: tuple[float, ...]
    normalize_std: tuple[float, ...]
    crc_code: int

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Header:
        """Builds a header from a mapping of field names.

        Lists become tuples, None becomes NaN (JSON has no word for it).
        """
        return cls(**{field.name: _as_field(values[field.name]) for field in fields(cls)})

    @property
    def has_blocks(self) -> bool:
        """True for files of encoded images in blocks, False for pixel files (CIFAR, MNIST)."""
        return self.dataset_type == "IMAGENET"

    @property
    def may_hold_raw_samples(self) -> bool:
        """True for files of blocks of version 3.1: samples may be pixels ("DTSR", docs/format.md)."""
        return self.has_blocks and self.version[1] >= 1

    @property
    def payload_bytes(self) -> int:
        """The bytes of all blocks, or of labels and pixels (old pixel files have other numbers wrong)."""
        if self.has_blocks:
            return self.block_bytes
        return self.num_samples * (1 + self.image_height * self.image_width * self.num_channels)


@dataclass(frozen=True)
class Section:
    """A named section beside the blocks: its place in the file, sizes in bytes, CRC-32 as stored."""

    tag: str
    flags: int
    offset: int
    stored_bytes: int
    raw_bytes: int
    crc: int


class BlockTable(NamedTuple):
    """What the file says about each block.

    Attributes:
        num_samples: int64 ``[num_blocks]``.
        crc32: int64 ``[num_blocks]``, CRC-32 of the whole block, -1 where unknown.
    """

    num_samples: Tensor
    crc32: Tensor


def _as_field(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_as_field, value))
    return math.nan if value is None else value
