# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

import argparse


def add_work_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--num-workers`` and ``--progress / --no-progress``."""
    parser.add_argument(
        "--num-workers",
        type=positive_int,
        metavar="N",
        help="how many blocks to work on at a time (default: by the CPUs)",
    )
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show a progress bar (default: when stderr is a terminal)",
    )


def positive_int(text: str) -> int:
    """An argument type: an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number
