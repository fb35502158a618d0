# SPDX-License-Identifier: Apache-2.0
"""The entry point: arguments to a command, errors to a line and an exit code."""

from __future__ import annotations

import argparse
import os
import traceback
from collections.abc import Sequence

from torch_dts._errors import CorruptFileError
from torch_dts._version import __version__
from torch_dts.cli import _bench, _convert, _doctor, _extract, _info, _preview, _verify
from torch_dts.cli._option_words import as_options, option_names
from torch_dts.cli._output import emit_error, flush, make_printable

_COMMANDS = (_convert, _info, _verify, _extract, _preview, _bench, _doctor)

_DESCRIPTION = """\
Pack a folder of images into one .dts file once, then train PyTorch from it.

The folder has one sub-folder per class, as torchvision's ImageFolder wants it:
    photos/cat/1.jpg  photos/cat/2.jpg  photos/dog/1.jpg  ...
"""

_EXAMPLES = """\
a first round:
  torch-dts convert photos               pack the folder: writes photos.dts beside it
  torch-dts info photos.dts              look at what was made
  torch-dts verify photos.dts            check every byte of it
  torch-dts preview photos.dts -o sheet.png    draw some of its samples
  torch-dts bench photos.dts             how fast it loads here, and what would help
  torch-dts extract photos.dts copy      unpack it: copy is photos again
  torch-dts doctor                       versions, CPUs and limits, and what is in the way
and in Python:
  dataset = torch_dts.DTSDataset("photos.dts", transform=...)    in place of ImageFolder("photos", ...)

`torch-dts COMMAND --help` explains a command.
exit codes: 0 all right, 1 an error or a damaged file, 2 wrong usage, 130 interrupted.
TORCH_DTS_TRACEBACK=1 in the environment shows where in the program an error came from.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The arguments behind the program's name; None: those of the process.

    Returns:
        The exit code: 0 all right, 1 an error or a damaged file, 2 wrong usage,
        130 interrupted.
    """
    make_printable()
    parser = _build_parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as done:  # --help, --version or wrong usage, already printed
        return _finish(done.code if isinstance(done.code, int) else 2)
    if args.command is None:
        emit_error(parser.format_help().rstrip())
        return 2
    try:
        code = int(args.run(args))
        flush()
    except KeyboardInterrupt as stop:
        why = as_options(str(stop), option_names(args))
        emit_error(f"torch-dts: interrupted{f': {why}' if why else ''}")
        code = 130
    except Exception as error:
        if os.environ.get("TORCH_DTS_TRACEBACK") == "1":
            traceback.print_exc()
        emit_error(f"torch-dts: error: {describe_error(error, option_names(args))}")
        code = 1
    return _finish(code)


def _finish(code: int) -> int:
    """Writes out what is left; the exit code, which is 1 where that fails."""
    try:
        flush()
    except OSError as error:
        emit_error(f"torch-dts: error: {describe_error(error)}")
        return 1
    return code


def describe_error(error: Exception, options: Sequence[str] = ()) -> str:
    """What went wrong, for people. Errors that are no fault of the user name their type.

    Args:
        options: Arguments that the command has as options: they are called as the user writes them.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {as_options(str(error.strerror), options)}"
    if isinstance(error, (CorruptFileError, OSError, ValueError, IndexError, TypeError)) and str(error):
        return as_options(str(error), options)
    if isinstance(error, MemoryError):
        return f"not enough memory {error}".rstrip()
    return f"{type(error).__name__}: {error}"


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torch-dts",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"torch-dts {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for module in _COMMANDS:
        module.add_parser(commands)
    for name, module in zip(commands.choices, _COMMANDS, strict=True):
        commands.choices[name].set_defaults(run=module.run)
    return parser
