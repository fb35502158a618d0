# SPDX-License-Identifier: Apache-2.0
import io
import os
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-"])
def test_info_without_stdout(dts_file, redirection):
    command = f'"{sys.executable}" -m torch_dts info "{dts_file()}" {redirection}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the platform has no /dev/full")
def test_a_full_disk_behind_stdout(dts_file):
    command = f'"{sys.executable}" -m torch_dts info "{dts_file()}" > /dev/full'
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"torch-dts: error: ")
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
