# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable

# Of the commands that read: what a set of volumes is named by.
FILE_HELP = "a .dts file; or a set of volumes, by its first file, its folder or a quoted glob"


def add_work_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--num-workers`` and ``--progress / --no-progress``."""
    parser.add_argument(
        "--num-workers",
        type=worker_count,
        metavar="N",
        help="how many blocks to work on at a time (0 counts as 1; default: by the CPUs)",
    )
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show a progress bar (default: when stderr is a terminal)",
    )


def worker_count(text: str) -> int:
    """An argument type: an integer of at least 0."""
    return number_of(0)(text)


def number_of(least: int) -> Callable[[str], int]:
    """An argument type: an integer of at least `least`."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is below {least}")
        return number

    return parse
