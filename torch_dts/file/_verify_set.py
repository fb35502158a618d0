# SPDX-License-Identifier: Apache-2.0
"""`verify`: checks a file, or each volume of a set and whether they belong together."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

from torch_dts._errors import CorruptFileError
from torch_dts._parallel import check_num_workers
from torch_dts._paths import display
from torch_dts.file._file import DTSFile
from torch_dts.file._find_files import ExactFiles, MissingVolumesError, read_claim
from torch_dts.file._given_path import GivenPath
from torch_dts.file._verify import Problem, VerifyReport, verify_file


def verify(
    path: str | os.PathLike[str], *, num_workers: int | None = None, progress: bool | None = None
) -> VerifyReport:
    """Reads a file from end to end and checks all that can be checked.

    That is: header, section table and sections, the tables against each other, the
    zeros between all parts, each block's CRC-32 and index, and the CRC-32 of the whole
    file; of a pixel file (CIFAR, MNIST) also the labels. It goes on after a fault, so that
    the report lists all of them.

    Of a set that was cut into volumes each volume is checked in this way, and then whether all
    are there and were made together.

    Args:
        path: The file, or a set as `DTSFile` takes it; ``~`` is the home directory. It is only
            read.
        num_workers: Blocks checked at a time; None: by the CPUs, 8 at most.
        progress: Show a bar on stderr; None: when that is a terminal.

    Returns:
        A report that is true when the file is all right.

    Raises:
        OSError: The file can't be opened.
        CorruptFileError: It is no ``.dts`` file or its header is damaged, so that
            nothing in it can be found.
        ValueError: `num_workers` is below 0, or the folder or glob has several data sets.
    """
    workers = check_num_workers(num_workers)
    name = GivenPath(path)
    missing: MissingVolumesError | None = None
    with name:
        try:
            files = name.find()
        except MissingVolumesError as error:
            missing, files = error, list(error.files)
        except CorruptFileError:
            files = [name.absolute]  # what is wrong with its header comes into the report
    if len(files) == 1 and missing is None:
        return verify_file(ExactFiles(files, name.given), workers, progress)
    return _verify_volumes(name, files, missing, workers, progress)


def _verify_volumes(
    name: GivenPath,
    files: list[str],
    missing: MissingVolumesError | None,
    workers: int,
    progress: bool | None,
) -> VerifyReport:
    start = time.perf_counter()
    problems: list[Problem] = []
    notes: list[str] = []
    num_blocks = num_samples = 0
    if missing is not None:
        where = name.shown(missing.filename or "")
        problems.append(Problem("set", f"{where}: {missing.strerror}"))
    are_open = missing is None
    for file in sorted(files, key=_volume_number):
        shown = display(name.shown(file))
        try:
            report = verify_file(ExactFiles((file,), name.shown(file)), workers, progress)
        except (OSError, CorruptFileError) as error:
            are_open = False
            text = error.problem if isinstance(error, CorruptFileError) else error.strerror or str(error)
            problems.append(Problem("file", f"{shown}: {text}"))
            continue
        problems += _in_the_set(report.problems, file, shown, num_blocks)
        notes += [f"{shown}: {note}" for note in report.notes]
        num_blocks += report.num_blocks
        num_samples += report.num_samples
    if are_open:
        problems += _check_together(name, files)
    return VerifyReport(
        path=name.given,
        num_blocks=num_blocks,
        num_samples=num_samples,
        problems=tuple(problems),
        notes=tuple(notes),
        seconds=time.perf_counter() - start,
    )


def _volume_number(file: str) -> int:
    claim = read_claim(file)
    return 0 if claim is None else claim.volume


def _in_the_set(problems: Sequence[Problem], file: str, shown: str, num_blocks: int) -> list[Problem]:
    """A volume's problems, with block and samples as the set counts them."""
    if not problems:
        return []
    source: list[int] | None = None
    if any(problem.samples for problem in problems):
        with DTSFile(ExactFiles((file,))) as alone:
            source = alone.source_index.sort().values.tolist()

    def samples(own: tuple[int, ...]) -> tuple[int, ...]:
        return own if source is None else tuple(source[sample] for sample in own)

    return [
        replace(
            problem,
            message=f"{shown}: {problem.message}",
            block=None if problem.block is None else num_blocks + problem.block,
            samples=samples(problem.samples),
            likely=samples(problem.likely),
        )
        for problem in problems
    ]


def _check_together(name: GivenPath, files: list[str]) -> list[Problem]:
    try:
        with name, DTSFile(ExactFiles(files, name.given)) as whole:
            whole.source_index  # noqa: B018  (together a permutation)
    except CorruptFileError as error:
        return [Problem("set", f"{display(error.path)}: {error.problem}")]
    return []
