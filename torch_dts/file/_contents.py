# SPDX-License-Identifier: Apache-2.0
"""What the sections INFO, CLSS and PATH of an open file say, or what stands in for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts.file._header import Header
from torch_dts.file._names import StoredPaths, decode_classes

if TYPE_CHECKING:
    from torch_dts.file._volumes import Volume


def byte_view(tensor: Tensor) -> memoryview:
    """The memory of a uint8 tensor, which lives as long as the view."""
    # numpy's stubs name the buffer protocol only from Python 3.12 on.
    return memoryview(cast(Any, tensor.numpy()))


def load_info(handle: int, path: str, volume: int = 0) -> dict[str, Any]:
    """The JSON object of a volume's INFO; {} where there is none.

    Raises:
        CorruptFileError: It is no JSON object.
    """
    raw = _native.file_section(handle, "INFO", volume)
    if raw is None:
        return {}
    try:
        info = json.loads(bytes(byte_view(raw)).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(path, None, f"section 'INFO': no JSON text ({error})") from error
    if not isinstance(info, dict):
        problem = f"section 'INFO': a JSON {type(info).__name__}, expected an object"
        raise CorruptFileError(path, None, problem)
    return info


def load_classes(handle: int, header: Header, path: str) -> list[str]:
    """The names of CLSS; ``"0"``, ``"1"``, ... where there is none."""
    raw = _native.file_section(handle, "CLSS")
    if raw is None:
        return [str(number) for number in range(header.num_classes)]
    return decode_classes(byte_view(raw), header.num_classes, path)


def load_paths(handle: int, volume: Volume) -> Sequence[str] | None:
    """The paths of a volume's PATH; None where there is none."""
    raw = _native.file_section(handle, "PATH", volume.number)
    return None if raw is None else StoredPaths(byte_view(raw), volume.header.num_samples, volume.path)
