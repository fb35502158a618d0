# SPDX-License-Identifier: Apache-2.0
"""``torch-dts verify``: is a file all right, and if not, which samples are hurt."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.cli._options import FILE_HELP, add_work_options
from torch_dts.cli._output import emit
from torch_dts.file import Problem, VerifyReport, verify

_SAMPLES_SHOWN = 10


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "verify",
        help="check every byte of a .dts file",
        description="Read a .dts file from end to end and check it: header, tables, blocks and the whole. "
        "For a damaged block it lists the samples in it. The exit code is 1 when something is wrong.",
    )
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"list all samples of a damaged block, not {_SAMPLES_SHOWN} at most",
    )
    add_work_options(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    report = verify(args.file, num_workers=args.num_workers, progress=args.progress)
    emit("\n".join(describe(report, None if args.all else _SAMPLES_SHOWN)))
    return 0 if report.ok else 1


def describe(report: VerifyReport, num_shown: int | None) -> Iterator[str]:
    """The lines of a report, with at most `num_shown` samples a problem (None: all)."""
    size = f"{num_of(report.num_samples, 'sample')} in {num_of(report.num_blocks, 'block')}"
    what = f"{display(report.path)}: {size}"
    if report.ok:
        yield f"{what}, all right ({report.seconds:.1f} s)"
    else:
        yield f"{what}, {num_of(len(report.problems), 'problem')}"
    for problem in report.problems:
        yield f"{problem}"
        yield from _describe_samples(problem, num_shown)
    for note in report.notes:
        yield f"note: {note}"


def _describe_samples(problem: Problem, num_shown: int | None) -> Iterator[str]:
    if not problem.samples:
        return
    num_samples = num_of(len(problem.samples), "sample")
    looks = "looks" if len(problem.likely) == 1 else "look"
    yield f"  {num_samples} in doubt, {len(problem.likely)} of them {looks} damaged:"
    paths = dict(zip(problem.samples, problem.paths, strict=False))
    likely = set(problem.likely)
    # Those that look damaged come first.
    ordered = sorted(problem.samples, key=lambda sample: (sample not in likely, sample))
    for sample in ordered[:num_shown]:
        mark = "  (looks damaged)" if sample in likely else ""
        yield f"    sample {sample}  {display(paths.get(sample, '(path not known)'))}{mark}"
    if num_shown is not None and len(ordered) > num_shown:
        yield f"    and {len(ordered) - num_shown} more (--all lists them)"
