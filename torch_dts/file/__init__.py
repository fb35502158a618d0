# SPDX-License-Identifier: Apache-2.0
"""Files that exist: reading, checking and unpacking them."""

from __future__ import annotations

import os

from torch_dts.file._arguments import Verify
from torch_dts.file._extract import ExtractReport, extract
from torch_dts.file._file import DTSFile
from torch_dts.file._header import BlockTable, Header, Section
from torch_dts.file._verify import Problem, VerifyReport
from torch_dts.file._verify_set import verify

__all__ = [
    "BlockTable",
    "DTSFile",
    "ExtractReport",
    "Header",
    "Problem",
    "Section",
    "VerifyReport",
    "extract",
    "open",
    "verify",
]


def open(
    path: str | os.PathLike[str], *, verify: Verify = "blocks", ignore_sections: bool = False
) -> DTSFile:
    """Opens a ``.dts`` file for reading; arguments, result and errors are those of `DTSFile`."""
    return DTSFile(path, verify=verify, ignore_sections=ignore_sections)
