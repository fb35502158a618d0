# SPDX-License-Identifier: Apache-2.0
"""``torch-dts convert --targets``."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

import torch_dts
from torch_dts.cli import _target_lines, main
from torch_dts.cli._target_lines import read_target_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"3\n0\n 12 \n", [3, 0, 12]),
        (b"\xef\xbb\xbf3\r\n-1\r\n\r\n", [3, -1]),
        (b"a cat\n7\n\xe2\x80\xa8dog,x\n", ["a cat", "7", "dog,x"]),
        ("1\n\u0663\n".encode(), ["1", "\u0663"]),
        (b"\xff\n", ["\udcff"]),
    ],
)
def test_lines(tmp_path: pathlib.Path, text: bytes, expected: list[int] | list[str]) -> None:
    (tmp_path / "t.txt").write_bytes(text)
    assert read_target_lines(str(tmp_path / "t.txt")) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b" \n\n", "is empty$"),
        (b"1\n\n2\n", "line 2 is empty: there must be one class number or class name a line"),
        (b"1\n\0", "holds a NUL byte"),
        (b"1\n" * 9, "has 18 bytes, at most"),
    ],
)
def test_odd_files(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, text: bytes, message: str
) -> None:
    monkeypatch.setattr(_target_lines, "_MAX_FILE_BYTES", 17)
    (tmp_path / "t.txt").write_bytes(text)
    with pytest.raises(ValueError, match=rf"the file of targets '.*t\.txt'.*{message}"):
        read_target_lines(str(tmp_path / "t.txt"))


def test_on_the_command_line(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, file, target = image_folder(), tmp_path / "t.txt", tmp_path / "x.dts"
    file.write_text("soft\nsharp\nsoft\nsoft\nsharp\n")
    options = ["convert", str(root), "-o", str(target), "--targets", str(file)]
    assert main([*options, "--estimate"]) == 0
    assert main(options) == 0
    with torch_dts.open(target) as made:
        assert (made.classes, made.labels.tolist()) == (["sharp", "soft"], [1, 0, 1, 1, 0])
    # Another time, over what is in the .dts file by now.
    file.write_text("1\n1\n0\n1\n1\n")
    again = str(tmp_path / "y.dts")
    assert main(["convert", str(target), "-o", again, "--targets", str(file)]) == 0
    with torch_dts.open(again) as made:
        assert (made.classes, made.labels.tolist()) == (["sharp", "soft"], [1, 1, 0, 1, 1])
    file.write_text("1\n0\n")
    capsys.readouterr()
    assert main([*options, "--overwrite"]) == 1
    assert "targets has 2 of them, but the source has 5 samples" in capsys.readouterr().err
