# SPDX-License-Identifier: Apache-2.0
import io
import os
import subprocess
import sys

import pytest

from torch_dts.cli import main
from torch_dts.cli._output import emit, emit_error, flush, human_bytes, make_printable, two_columns


def test_streams(capsys):
    emit("to stdout")
    emit_error("to stderr")
    assert capsys.readouterr() == ("to stdout\n", "to stderr\n")


def test_characters_the_terminal_does_not_know(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    make_printable()
    emit("猫 ü \udcff")
    flush()
    assert raw.getvalue() == b"\\u732b \\xfc \\udcff\n"


def test_a_closed_pipe_is_no_error(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        emit("x" * (1 << 20))
        emit("more")
        flush()
        emit("goes nowhere")


def test_a_pipe_that_closes_at_the_end(monkeypatch):
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        emit("still in the buffer")
        os.close(reader)
        flush()


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (16 << 20, "16.0 MiB"),
        (147 * 10**9, "136.9 GiB"),
        (3 << 50, "3072.0 TiB"),
        (114700.4, "112.0 KiB"),
    ],
)
def test_human_bytes(num_bytes, text):
    assert human_bytes(num_bytes) == text


def test_two_columns():
    assert two_columns([("a", "1"), ("long name", "2")]) == "a          1\nlong name  2"


def test_streams_that_are_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    emit("nobody hears it")
    emit_error("nor this")
    flush()


def test_info_without_streams(dts_file):
    command = f'"{sys.executable}" -m torch_dts info "{dts_file()}" >&- 2>&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def redirected(arguments: list[str], stdout: str | None, stderr: str) -> None:
    """In another process: the command line with other streams, as a shell's redirections make them."""
    for number, path in ((1, stdout), (2, stderr)):
        if path is None:
            os.close(number)
        else:
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout = None if stdout is None else open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    sys.exit(main(arguments))


def run_redirected(fresh, arguments, stdout, tmp_path):
    """The exit code and what came to stderr."""
    process = fresh.Process(target=redirected, args=(arguments, stdout, str(tmp_path / "errors")))
    process.start()
    process.join()
    return process.exitcode, (tmp_path / "errors").read_bytes()


def test_info_without_stdout(dts_file, fresh, tmp_path):
    assert run_redirected(fresh, ["info", str(dts_file())], None, tmp_path) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the platform has no /dev/full")
def test_a_full_disk_behind_stdout(dts_file, fresh, tmp_path):
    code, errors = run_redirected(fresh, ["info", str(dts_file())], "/dev/full", tmp_path)
    assert code == 1
    assert errors.startswith(b"torch-dts: error: ")
    assert b"No space left" in errors
    assert b"Traceback" not in errors
