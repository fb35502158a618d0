# SPDX-License-Identifier: Apache-2.0
"""One conversion at a time writes a file."""

from __future__ import annotations

import errno
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

import torch_dts
from torch_dts.convert import _convert
from torch_dts.convert._lock import locked_targets, open_locked

Make = Callable[..., pathlib.Path]
MEANWHILE = r"another conversion is writing this file now: '.*{}'"


def names(folder: pathlib.Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if ".dts" in name)


def test_a_lock_is_held_and_leaves_nothing(tmp_path: pathlib.Path) -> None:
    one, two, three = (str(tmp_path / f"{name}.dts") for name in "123")
    with locked_targets([one, two]):
        assert names(tmp_path) == ["1.dts.lock", "2.dts.lock"]
        with pytest.raises(BlockingIOError, match=MEANWHILE.format(r"2\.dts")), locked_targets([three, two]):
            raise AssertionError
        with locked_targets([three]):
            pass
        assert names(tmp_path) == ["1.dts.lock", "2.dts.lock"]
    assert names(tmp_path) == []
    with pytest.raises(KeyboardInterrupt, match="now"), locked_targets([one]):
        raise KeyboardInterrupt("now")
    assert names(tmp_path) == []


def test_leftovers_are_taken_over_but_files_of_others_stay(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.dts.lock"
    for content in (b"", b"mine"):
        path.write_bytes(content)
        with locked_targets([str(tmp_path / "x.dts")]):
            assert path.read_bytes() == content
        assert path.exists() == bool(content)
    path.unlink()
    with locked_targets([str(tmp_path / "x.dts")]):
        path.rename(tmp_path / "away")
        path.write_bytes(b"")
    assert path.exists()
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"x\.dts\.lock"), locked_targets([str(tmp_path / "x.dts")]):
        raise AssertionError
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_deleted_by_its_owner_is_made_anew(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flock, calls = tmp_path / "x.lock", fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            path.unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with open_locked(str(path), "x") as file:
        assert os.path.samestat(os.fstat(file.fileno()), path.stat())
    assert len(calls) == 2


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_file_systems_without_locks(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked_targets([str(tmp_path / "x.dts")]):
        assert names(tmp_path) == ["x.dts.lock"]
    assert names(tmp_path) == []


def test_a_forked_child_leaves_the_lock_alone(tmp_path: pathlib.Path) -> None:
    target = str(tmp_path / "x.dts")
    lock = locked_targets([target])
    with lock:
        if not (child := os.fork()):
            lock.__exit__(None, None, None)
            os._exit(0)
        os.waitpid(child, 0)
        assert names(tmp_path) == ["x.dts.lock"]
        with pytest.raises(BlockingIOError, match=MEANWHILE.format(r"x\.dts")), locked_targets([target]):
            raise AssertionError


def test_the_lock_of_a_killed_process_is_gone(tmp_path: pathlib.Path) -> None:
    target = str(tmp_path / "x.dts")
    code = (
        "import sys, time; from torch_dts.convert._lock import locked_targets\n"
        f"with locked_targets([{target!r}]): print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(BlockingIOError, match=MEANWHILE.format(r"x\.dts")), locked_targets([target]):
            raise AssertionError
        process.send_signal(signal.SIGKILL)
    assert names(tmp_path) == ["x.dts.lock"]
    with locked_targets([target]):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_second_conversion_is_refused_before_it_looks_at_the_source(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    root, path, listed = image_folder(), tmp_path / "x.dts", _convert.list_samples
    if overwrite:
        path.write_bytes(b"old")

    def meanwhile(*args: object, **kwargs: object) -> object:
        monkeypatch.setattr(_convert, "list_samples", listed)
        for resume in (False, True):
            with pytest.raises(BlockingIOError, match=MEANWHILE.format(r"x\.dts")):
                torch_dts.convert(root, path, overwrite=overwrite, resume=resume)
        return listed(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(_convert, "list_samples", meanwhile)
    assert torch_dts.verify(torch_dts.convert(root, path, overwrite=overwrite)).ok
    assert names(tmp_path) == ["x.dts"]


def test_an_existing_target_is_named_before_a_lock_is_made(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.dts"
    path.write_bytes(b"old")

    def read_only(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(_convert, "locked_targets", read_only)
    with pytest.raises(FileExistsError, match="exists; overwrite=True replaces it"):
        torch_dts.convert(image_folder(), path)


def test_volumes_of_a_set_at_the_same_time(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, path, listed = image_folder(), tmp_path / "x.dts", _convert.list_samples

    def meanwhile(*args: object, **kwargs: object) -> object:
        monkeypatch.setattr(_convert, "list_samples", listed)
        for volume in (0, None):
            with pytest.raises(BlockingIOError, match=MEANWHILE.format(r"x-00000-of-00002\.dts")):
                torch_dts.convert(root, path, num_volumes=2, volume=volume, overwrite=True)
        torch_dts.convert(root, path, num_volumes=2, volume=1)
        return listed(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(_convert, "list_samples", meanwhile)
    torch_dts.convert(root, path, num_volumes=2, volume=0)
    assert names(tmp_path) == ["x-00000-of-00002.dts", "x-00001-of-00002.dts"]
    assert torch_dts.verify(tmp_path / "x-00000-of-00002.dts").ok
