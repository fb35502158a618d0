# SPDX-License-Identifier: Apache-2.0
"""convert() stopped half-way: nothing is left under the name, sources are as they were."""

from __future__ import annotations

import errno
import os
import pathlib
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import torch_dts
from torch_dts import CorruptFileError, _native

Make = Callable[..., pathlib.Path]


@pytest.fixture
def big_folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Three blocks' worth of files that are no images (for check="none")."""
    folder = tmp_path / "big" / "a"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"{number}.jpg").write_bytes(bytes([number]) * (6 << 20))
    return folder.parent


def outputs(folder: pathlib.Path) -> list[str]:
    return [name for name in os.listdir(folder) if ".dts" in name]


def state(folder: pathlib.Path) -> dict[str, tuple[int, int, int]]:
    """Size, mtime and mode of everything below a folder."""
    found = [folder, *folder.rglob("*")]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_mode) for path in found}


def stop_at_block(monkeypatch: pytest.MonkeyPatch, stop: Callable[[], None], block: int = 1) -> None:
    """Calls `stop` instead of writing a block."""
    write = _native.writer_write_block

    def stopping(writer: int, block_id: int, *rest: object) -> None:
        if block_id == block:
            stop()
        write(writer, block_id, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(_native, "writer_write_block", stopping)


def test_sources_are_only_read(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    for path in root.rglob("*.jpg"):
        path.chmod(0o444)
    before, contents = state(root), {path: path.read_bytes() for path in root.rglob("*.jpg")}
    torch_dts.convert(root, tmp_path / "x.dts", check="decode")
    assert state(root) == before
    assert {path: path.read_bytes() for path in root.rglob("*.jpg")} == contents


def test_an_error_half_way_leaves_nothing(
    big_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "x.dts")

    with monkeypatch.context() as patch:
        stop_at_block(patch, fail)
        with pytest.raises(OSError, match="No space left on device"):
            torch_dts.convert(big_folder, tmp_path / "x.dts", check="none")
    assert outputs(tmp_path) == []
    assert torch_dts.verify(torch_dts.convert(big_folder, tmp_path / "x.dts", check="none")).ok


def test_an_error_half_way_leaves_the_old_file(
    big_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.dts").write_bytes(b"old")

    def fail() -> None:
        raise MemoryError("no more")

    stop_at_block(monkeypatch, fail)
    with pytest.raises(MemoryError, match="no more"):
        torch_dts.convert(big_folder, tmp_path / "x.dts", check="none", overwrite=True)
    assert outputs(tmp_path) == ["x.dts"]
    assert (tmp_path / "x.dts").read_bytes() == b"old"


def test_ctrl_c_leaves_nothing(
    big_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at_block(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT), block=0)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        torch_dts.convert(big_folder, tmp_path / "x.dts", check="none", num_workers=2)
    assert outputs(tmp_path) == []


def test_a_file_that_changes_meanwhile(
    big_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = _native.read_files_into

    def change_first(paths: list[str], *rest: object) -> None:
        with open(paths[-1], "ab") as file:
            file.write(b"more")
        read(paths, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(_native, "read_files_into", change_first)
    with pytest.raises(CorruptFileError, match=r"big/a/\d\.jpg.*changed"):
        torch_dts.convert(big_folder, tmp_path / "x.dts", check="none")
    assert outputs(tmp_path) == []


def test_a_file_that_goes_meanwhile(
    big_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at_block(monkeypatch, lambda: None)
    read = _native.read_files_into

    def remove_first(paths: list[str], *rest: object) -> None:
        os.unlink(paths[0])
        read(paths, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(_native, "read_files_into", remove_first)
    with pytest.raises(FileNotFoundError, match=r"big/a/\d\.jpg"):
        torch_dts.convert(big_folder, tmp_path / "x.dts", check="none")
    assert outputs(tmp_path) == []


@pytest.fixture
def file_size_limit() -> Iterator[None]:
    """No file may grow beyond 24 MiB: the second block can't be written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (24 << 20, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("file_size_limit")
def test_a_disk_that_takes_no_more(big_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError, match=r"x\.dts") as caught:
        torch_dts.convert(big_folder, tmp_path / "x.dts", check="none")
    assert caught.value.errno == errno.EFBIG
    assert outputs(tmp_path) == []


_KILLED = """
import os, sys, time, torch_dts
from torch_dts import _native
write = _native.writer_write_block
def slow(writer, block_id, *rest):
    write(writer, block_id, *rest)
    if block_id == 1:
        print("half-way", flush=True)
        time.sleep(60)
_native.writer_write_block = slow
torch_dts.convert(sys.argv[1], sys.argv[2], check="none", num_workers=1)
"""


def test_kill_9_leaves_no_file_and_the_next_run_works(
    big_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    target = tmp_path / "x.dts"
    command = [sys.executable, "-c", _KILLED, str(big_folder), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half-way\n"
        # A second writer of the same file is told so, and does not disturb the first.
        with pytest.raises(OSError, match=r"x\.dts"):
            torch_dts.convert(big_folder, target, check="none")
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not target.exists()
    report = torch_dts.convert(big_folder, target, check="none")
    assert torch_dts.verify(report).ok
    assert outputs(tmp_path) == ["x.dts"]
