# SPDX-License-Identifier: Apache-2.0
"""``torch-dts extract``: the samples of a file back into a folder."""

from __future__ import annotations

import argparse

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.cli._options import FILE_HELP, add_work_options
from torch_dts.cli._output import emit, human_bytes
from torch_dts.file import extract


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "extract",
        help="unpack a .dts file into a folder",
        description="Write the samples of a .dts file into a folder, under the names they came from. "
        "At export level 0 these are the original files, byte for byte.",
    )
    parser.add_argument("file", metavar="FILE", help=f"{FILE_HELP}; it is only read")
    parser.add_argument("directory", metavar="DIRECTORY", help="where to write; made when missing")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    add_work_options(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    report = extract(
        args.file,
        args.directory,
        overwrite=args.overwrite,
        num_workers=args.num_workers,
        progress=args.progress,
    )
    emit(
        f"{num_of(report.num_files, 'file')}, {human_bytes(report.num_bytes)}, "
        f"written to {display(report.directory)} in {report.seconds:.1f} s"
        + ("" if report.bytes_kept else "; images as they are stored, not the bytes of the original files")
    )
    return 0
