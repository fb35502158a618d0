# SPDX-License-Identifier: Apache-2.0
import errno
import os
import runpy
import sys

import pytest
from building import build, samples_of

import torch_dts
from torch_dts import CorruptFileError
from torch_dts.cli import _info, main
from torch_dts.cli._main import describe_error


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"a": 3, "b": 2}), [b"a", b"b"])


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"torch-dts {torch_dts.__version__}\n"


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in ("convert", "info", "verify", "extract", "preview", "bench", "doctor"):
        assert f"torch-dts {command} " in shown
        assert main([command, "--help"]) == 0
        assert f"usage: torch-dts {command} " in capsys.readouterr().out
    assert "exit codes: 0 all right, 1 an error or a damaged file, 2 wrong usage, 130 interrupted" in shown


def test_no_command(capsys):
    assert main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usage: torch-dts" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pack"], "invalid choice: 'pack'"),
        (["info"], "the following arguments are required: FILE"),
        (["info", "a", "--yaml"], "unrecognized arguments: --yaml"),
        (["extract", "a"], "the following arguments are required: DIRECTORY"),
        (["verify", "a", "--num-workers", "-1"], "-1 is below 0"),
        (["verify", "a", "--num-workers", "x"], "'x' is not a whole number"),
    ],
)
def test_wrong_usage(capsys, arguments, message):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err


def test_an_error_is_one_line(capsys, tmp_path):
    for command in (["info"], ["verify"], ["extract"]):
        arguments = [*command, str(tmp_path / "missing.dts")]
        if command == ["extract"]:
            arguments.append(str(tmp_path / "out"))
        assert main(arguments) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith(f"torch-dts: error: {tmp_path}/missing.dts: No such file or directory")
        assert shown.err.count("\n") == 1


def test_a_damaged_file(capsys, path):
    path.write_bytes(b"not really")
    assert main(["info", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"torch-dts: error: {path} at byte 0: not a .dts file: it starts with 'not ', expected '.DTS'\n"
    )


def test_the_traceback_is_shown_on_demand(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_DTS_TRACEBACK", "1")
    assert main(["info", str(tmp_path)]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert "FileNotFoundError" in shown
    assert shown.splitlines()[-1] == f"torch-dts: error: {tmp_path}: the folder has no .dts file"


def test_interrupted(capsys, path, monkeypatch):
    def interrupt(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(_info, "collect", interrupt)
    assert main(["info", str(path)]) == 130
    assert capsys.readouterr() == ("", "torch-dts: interrupted\n")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "a"), "a: No such file"),
        (OSError(errno.EXDEV, "Cross-device", "a", None, "b"), "a: Cross-device"),
        (OSError("odd"), "odd"),
        (CorruptFileError("a\n.dts", 7, "bad"), "a\\n.dts at byte 7: bad"),
        (ValueError("level is 9"), "level is 9"),
        (ValueError(), "ValueError: "),
        (MemoryError(), "not enough memory"),
        (KeyError("a"), "KeyError: 'a'"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_describe_error(error, text):
    assert describe_error(error) == text


def run_as_a_module(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["torch-dts", *map(str, arguments)])
    with pytest.raises(SystemExit, match=r"\d") as done:
        runpy.run_module("torch_dts", run_name="__main__")
    return done.value.code


def test_as_a_module(monkeypatch, capsys, path, tmp_path):
    assert run_as_a_module(monkeypatch, "info", path) == 0
    assert "samples       5," in capsys.readouterr().out
    assert run_as_a_module(monkeypatch, "info", tmp_path / "missing") == 1
    assert run_as_a_module(monkeypatch, "info") == 2


@pytest.mark.parametrize("arguments", [["info"], ["info", "--json"], ["verify"]])
def test_a_reader_that_leaves(monkeypatch, capsys, path, arguments):
    """`torch-dts info FILE | head -1`, and names that the terminal can't show."""
    odd = path.rename(path.with_name("猫.dts"))
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main([*arguments, str(odd)]) == 0
        assert main(["--help"]) == 0
    assert capsys.readouterr().err == ""
