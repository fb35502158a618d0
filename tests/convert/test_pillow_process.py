# SPDX-License-Identifier: Apache-2.0
"""Pillow's worker processes."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator

import pytest
from PIL import Image, ImageFile

from torch_dts.convert._levels import export_image
from torch_dts.convert._pillow_process import ExportRule, PillowPool, PillowProcess, export_here


def jpeg(width: int = 500, height: int = 450) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).save(out, "JPEG")
    return out.getvalue()


@pytest.fixture
def process() -> Iterator[PillowProcess]:
    started = PillowProcess()
    yield started
    started.close()


def test_results_are_those_of_this_process(process: PillowProcess) -> None:
    images = [jpeg(), b"no image", memoryview(jpeg(900, 700)), b""]
    for level in (1, 3):
        expected = [export_image(images[0], level), None, export_image(images[2], level), None]
        assert process.export(images, ExportRule(level)) == expected
    assert process.export([], ExportRule(2)) == []


def test_limits_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    half = jpeg()[:-800]
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    lenient = PillowProcess()
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", False)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    strict = PillowProcess()
    assert lenient.export([half], ExportRule(1))[0] is not None
    assert strict.export([half, jpeg()], ExportRule(1)) == [None, None]
    lenient.close()
    strict.close()


def test_a_killed_process_is_an_error(process: PillowProcess) -> None:
    os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(
        RuntimeError, match="worker process of Pillow ended by signal 9; is there enough memory"
    ):
        process.export([jpeg()] * 3, ExportRule(1))


def test_closed(process: PillowProcess) -> None:
    process.close()
    process.close()
    assert process._process.returncode == 0
    with pytest.raises(ValueError, match="the worker process is closed"):
        process.export([jpeg()], ExportRule(1))


@pytest.mark.parametrize("has_processes", [False, True])
def test_pool_gives_reasons(has_processes: bool) -> None:
    pool = PillowPool(has_processes)
    good, (data, reason), (_, deep) = pool.export([jpeg(), b"no image", _deep()], ExportRule(1))
    assert good == (export_image(jpeg(), 1), "")
    assert data == b""
    assert reason == "not an image that PIL knows; starts with b'no image'"
    assert pool.export([b""], ExportRule(3)) == [(b"", "empty (0 bytes)")]
    assert deep == "an image of mode I;16, which a JPEG can't hold"
    assert len(pool._started) == has_processes
    pool.close()
    pool.close()


def test_each_thread_has_its_process() -> None:
    pool = PillowPool(has_processes=True)
    found: list[tuple[bytes, str]] = []
    threads = [
        threading.Thread(target=lambda: found.extend(pool.export([jpeg()], ExportRule(2)))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(export_image(jpeg(), 2), "")] * 2
    processes = [each._process for each in pool._started]
    assert len(processes) == 2
    pool.close()
    assert [each.returncode for each in processes] == [0, 0]


def test_what_only_this_process_can_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin registered here and not there."""
    Image.init()
    monkeypatch.setattr(Image, "ID", [*Image.ID, "ODD"])
    monkeypatch.setitem(Image.OPEN, "ODD", (_open_odd, lambda prefix: prefix.startswith(b"ODD!")))
    pool = PillowPool(has_processes=True)
    (data, reason), _ = pool.export([b"ODD!", jpeg()], ExportRule(1))
    pool.close()
    assert reason == ""
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (3, 2)


def test_export_here_names_odd_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    data, reason = export_here(jpeg(), ExportRule(1))
    assert data == b""
    assert reason.startswith("DecompressionBombError: Image size (225000 pixels)")


def _open_odd(file: io.BytesIO, name: str) -> Image.Image:
    return Image.new("RGB", (3, 2))


def _deep() -> bytes:
    out = io.BytesIO()
    Image.new("I;16", (5, 5)).save(out, "PNG")
    return out.getvalue()
