# SPDX-License-Identifier: Apache-2.0
"""One line about an open file, or about a sample in it, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.file._names import check_position

if TYPE_CHECKING:
    from torch_dts.file._file import DTSFile


def describe_file(file: DTSFile) -> str:
    """``DTSFile(train.dts: 3 samples, 2 classes, level 0, 1 block)``."""
    header = file.header
    parts = [num_of(len(file), "sample"), num_of(header.num_classes, "class", "classes")]
    if header.has_blocks:
        parts += [f"level {header.compress_level}", num_of(header.num_blocks, "block")]
    else:
        parts.append(f"pixels {header.image_height} x {header.image_width} x {header.num_channels}")
    if len(file.volumes) > 1:
        parts.append(f"{len(file.volumes)} volumes")
    elif file.is_lone_volume:
        parts.append(f"volume {header.volume_id} of {header.num_volumes}")
    if file.closed:
        parts.append("closed")
    return f"DTSFile({display(file.path)}: {', '.join(parts)})"


def describe_sample(file: DTSFile, index: int) -> str:
    """``sample 5 (cat/x.jpg, block 3) of train.dts``, without a block in a pixel file. Never raises."""
    where = display(file.path)
    try:
        position = check_position(index, len(file))
        what = display(file.paths[position])
        if file.header.has_blocks:
            what += f", block {int(file.block_of(file.stored_index[position : position + 1])[0])}"
        return f"sample {position} ({what}) of {where}"
    except Exception:  # the file may be damaged or closed: say what is known
        return f"sample {index} of {where}"
