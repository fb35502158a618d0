# SPDX-License-Identifier: Apache-2.0
"""Messages name options as the command line has them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from torch_dts.cli._main import main
from torch_dts.cli._option_words import as_options

NAMES = ["overwrite", "on_error", "block_size", "restart_interval", "class_to_idx", "level", "split", "path"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exists; overwrite=True replaces it", "exists; --overwrite replaces it"),
        ("on_error='skip' leaves it, on_error='keep'.", "--on-error skip leaves it, --on-error keep."),
        ("pass block_size=32 * 2**20 or more", "pass --block-size 32MiB or more"),
        ("leave block_size=33554432 out", "leave --block-size 32MiB out"),
        ("leave restart_interval='auto' out", "leave --restart-interval auto out"),
        ("restart_interval=None, level=3: x", "--restart-interval none, --level 3: x"),
        ("or pass class_to_idx=", "or pass --class-to-idx"),
        ("with class_to_idx= they are", "with --class-to-idx they are"),
        ("needs split='train' or 'val'", "needs --split train or 'val'"),
        ("overwrite=False", "no --overwrite"),
        ("say path='....dts' for it", "say --output ....dts for it"),
        # no arguments of the command
        ("loader=True, targets=3, my_level=3", "loader=True, targets=3, my_level=3"),
        ("'level=3/x.jpg', data/split=train/1.jpg", "'level=3/x.jpg', data/split=train/1.jpg"),
        ("level=3/x.jpg (sample 0): bad", "level=3/x.jpg (sample 0): bad"),
        ("level=three", "level=three"),
    ],
)  # fmt: skip
def test_words(text: str, expected: str) -> None:
    assert as_options(text, NAMES) == expected
    assert as_options(text, []) == text


def test_on_the_command_line(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = image_folder(classes={"a": 2})
    (root / "a" / "1.jpg").write_bytes(b"")
    target = tmp_path / "x.dts"
    convert = ["convert", str(root), "-o", str(target), "--no-progress"]
    assert main(convert) == 1
    assert (
        "Nothing was written. --on-error skip leaves it out, --on-error keep stores"
        in capsys.readouterr().err
    )
    assert main([*convert, "--compat", "--restart-interval", "auto"]) == 1
    error = capsys.readouterr().err
    assert error == "torch-dts: error: --compat fixes order and bytes: leave --restart-interval auto out\n"
    (root / "a" / "1.jpg").unlink()
    assert main(convert) == 0
    assert main(convert) == 1
    assert capsys.readouterr().err == f"torch-dts: error: {target}: exists; --overwrite replaces it\n"
    with (root / "a" / "0.jpg").open("ab") as file:
        file.truncate(17 << 20)
    assert main([*convert, "--overwrite"]) == 1
    assert " --block-size 32MiB or more" in capsys.readouterr().err
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "a" / "0.jpg").write_bytes(b"")
    assert main(["extract", str(target), str(tmp_path / "out")]) == 1
    assert "--overwrite replaces" in capsys.readouterr().err
