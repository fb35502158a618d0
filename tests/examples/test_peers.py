# SPDX-License-Identifier: Apache-2.0
"""The benchmark of peers: everyone does the whole work, and who can't is named and does not end the run."""

from __future__ import annotations

import collections
import dataclasses
import io
import json
import os
import pathlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

OURS = ("folder", "level0", "level0_restart", "level1", "level2", "level3", "raw")
TORCH = ("torch", "torch_v2", "torch_decode")
NUM_IMAGES = 9
SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    command, arguments = json.loads(line)
    if command == "hang":
        time.sleep(60)
    if command == "die":
        sys.exit("no such thing")
    answer = {"error": "can't"} if command == "fail" else {"said": arguments}
    os.write(int(sys.argv[1]), json.dumps(answer).encode() + b"\\n")
"""


@pytest.fixture(scope="module")
def peers(benchmark_module: Callable[[str], ModuleType]) -> Any:
    return benchmark_module("peers")


@pytest.fixture(scope="module")
def peer_process(benchmark_module: Callable[[str], ModuleType]) -> Any:
    return benchmark_module("peer_process")


@pytest.fixture
def folder(image_folder: Callable[..., pathlib.Path]) -> pathlib.Path:
    return image_folder(classes={"a": 5, "b": 4})


@pytest.fixture
def work(peers: Any, folder: pathlib.Path, tmp_path: pathlib.Path) -> Any:
    return peers.Work(str(folder), str(tmp_path / "set"), batch_size=4, image_size=8, num_workers=0)


@pytest.mark.parametrize(
    ("key", "dtype"),
    [
        *((key, "float32") for key in (*TORCH, *OURS)),
        *((key, "uint8") for key in ("torch", "torch_v2", "raw")),
    ],
)
def test_every_image_once(peer_process: Any, work: Any, key: str, dtype: str) -> None:
    served, arguments = peer_process.Served(), dataclasses.asdict(dataclasses.replace(work, dtype=dtype))
    if peer_process.entry(key).packs:
        assert served.make(key, arguments)["make_seconds"] > 0
    facts = served.start(key, arguments)
    assert min(facts["peak_memory_bytes"], facts["idle_memory_bytes"]) > 0
    assert facts["first_batch_seconds"] > 0
    assert (facts["set_bytes"] is not None) == peer_process.entry(key).packs
    for _ in range(2):
        batches = list(served.begin())
        assert [len(images) for images, _ in batches] == [4, 4, 1]
        labels = collections.Counter(torch.cat([labels for _, labels in batches]).tolist())
        assert labels == {0: 5, 1: 4}
        assert {(images.dtype, images.shape[1:]) for images, _ in batches} == {
            (getattr(torch, dtype), (3, 8, 8))
        }
    assert served.epoch()["num_images"] == NUM_IMAGES


def test_other_work_is_refused(peer_process: Any, work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = torch.zeros(9, 3, 8, 8), torch.tensor([0] * 5 + [1] * 4)
    for batch, reason in (
        ((images[:8], labels[:8]), "8 images instead of 9, or with other labels"),
        ((images, labels * 0), "9 images instead of 9, or with other labels"),
        ((images.double(), labels), r"a batch of torch\.float64, \(9, 3, 8, 8\)"),
        ((images[:, :, :4], labels), r"a batch of torch\.float32, \(9, 3, 4, 8\)"),
        ((images + 255, labels), "values from 255.0 to 255.0: not normalised"),
    ):
        module = peer_process.entry("torch").load()
        monkeypatch.setattr(module, "start", lambda key, work, batch=batch: lambda: iter([batch]))
        with pytest.raises(peer_process.Failed, match=reason):
            peer_process.Served().start("torch", dataclasses.asdict(work))


def test_the_served_end_tells_of_errors(
    peer_process: Any, work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {"key": "dali", "work": dataclasses.asdict(work)}
    broken = {"key": "torch", "work": {**arguments["work"], "folder": "nowhere"}}
    lines = [json.dumps(["start", one]) for one in (broken, {**arguments, "key": "folder"})]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, '["epoch", {}]']) + "\n"))
    ours, theirs = os.pipe()
    peer_process.serve(theirs)
    os.close(theirs)
    with open(ours, encoding="utf-8") as file:
        answers = [json.loads(line) for line in file]
    assert answers[0]["error"].startswith("FileNotFoundError: ")
    assert "nowhere" in answers[0]["error"]
    assert answers[1]["first_batch_seconds"] > 0
    assert answers[2]["num_images"] == NUM_IMAGES


def test_a_process_that_fails_dies_or_hangs(peer_process: Any, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = peer_process.PeerProcess(tmp_path / "log", script)
    assert process.ask("say", 60, a=1) == {"said": {"a": 1}}
    with pytest.raises(peer_process.Failed, match="can't"):
        process.ask("fail", 60)
    with pytest.raises(peer_process.Failed, match=r"ended \(1\) during 'die': no such thing"):
        process.ask("die", 60)
    process.close()
    hanging = peer_process.PeerProcess(tmp_path / "log", script)
    with pytest.raises(peer_process.Failed, match=r"no answer to 'hang' within 0\.3 s"):
        hanging.ask("hang", 0.3)
    assert hanging.process.poll() is not None
    hanging.close()


class InProcess:
    """A PeerProcess whose other end is here; one contestant fails in its second epoch."""

    def __init__(self, peer_process: Any, failing: str) -> None:
        self.failed, self.failing = peer_process.Failed, failing
        self.served, self.num_epochs = peer_process.Served(), 0

    def ask(self, command: str, seconds: float, **arguments: Any) -> Any:
        if command == "epoch":
            self.num_epochs += 1
            if self.num_epochs == 2 and self.served.entry.key == self.failing:
                raise self.failed("it broke")
        return getattr(self.served, command)(**arguments)

    def hang_up(self) -> None:
        pass

    close = hang_up


def test_a_run(
    peers: Any,
    peer_process: Any,
    folder: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    absent = peers.Entry("absent", "Absent", "dali_cpu", "never", ("no_such_module",), "pip install it")
    entries = [*(peer_process.entry(key) for key in ("torch", "torch_v2", "level0")), absent]
    monkeypatch.setattr(peers, "chosen", lambda only: entries)
    monkeypatch.setattr(peers, "PeerProcess", lambda log: InProcess(peer_process, "torch_v2"))
    outputs = [f"--json={tmp_path / 'peers.json'}", f"--plot={tmp_path / 'peers.svg'}"]
    sizes = ["--batch-size=4", "--image-size=8", "--num-workers=0", "--rounds=2"]
    assert peers.main([str(folder), f"--work={tmp_path / 'work'}", *sizes, *outputs]) == 0
    text = capsys.readouterr().out
    assert "Left out: Absent: no module 'no_such_module'; pip install it" in text
    assert "Left out: DataLoader(ImageFolder), v2: it broke" in text
    found = json.loads((tmp_path / "peers.json").read_text())
    results, rounds, forms = (
        [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]] for table in found["tables"]
    )
    assert [row["loader"] for row in results] == ["DataLoader(ImageFolder), v1", "ours, level 0"]
    assert results[0]["ratio"] == 1
    assert results[0]["bytes/source"] == 1
    assert [row["num_images"] for row in rounds] == [NUM_IMAGES] * 4
    assert [row["left out"] is None for row in forms] == [True, False, True, False]
    assert "ours, level 0</text>" in (tmp_path / "peers.svg").read_text()
    packed = list((tmp_path / "work").glob("*/level0/data.dts"))
    assert len(packed) == 1
    before = packed[0].stat().st_mtime_ns
    assert peers.main([str(folder), f"--work={tmp_path / 'work'}", *sizes]) == 0
    assert packed[0].stat().st_mtime_ns == before  # used again


def test_an_interrupted_run_tells_what_it_knows(
    peers: Any,
    peer_process: Any,
    folder: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Interrupted(InProcess):
        def ask(self, command: str, seconds: float, **arguments: Any) -> Any:
            if self.num_epochs == 1:
                raise KeyboardInterrupt
            return super().ask(command, seconds, **arguments)

    monkeypatch.setattr(peers, "PeerProcess", lambda log: Interrupted(peer_process, ""))
    sizes = ["--batch-size=4", "--image-size=8", "--num-workers=0", "--only=torch"]
    assert peers.main([str(folder), *sizes]) == 0
    text = capsys.readouterr().out
    assert "interrupted: what is known by now" in text
    assert "| DataLoader(ImageFolder), v1 |" in text


def test_nobody_could_run(peers: Any) -> None:
    found = peers.tables([peers.Result(peers.ENTRIES[0], error="no memory")], 1, 1)
    assert "Left out: DataLoader(ImageFolder), v1: no memory" in found[0].markdown()
    assert [table.rows for table in found[:2]] == [[], []]


def test_some_images(peers: Any, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    place = peers.place_for(tmp_path / "work", str(folder), 3)
    some = pathlib.Path(peers.some_images(str(folder), 3, place))
    names = sorted(str(path.relative_to(some)) for path in some.glob("*/*"))
    everything = sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))
    assert names == [everything[0], everything[3], everything[6]]
    assert peers.some_images(str(folder), 100, place) == str(folder)
    assert peers.place_for(tmp_path / "work", str(folder), None) != place


def test_choosing(peers: Any) -> None:
    assert [entry.key for entry in peers.chosen("torch,ours")] == ["torch", *OURS]
    assert len({entry.key for entry in peers.chosen(None)}) == len(peers.ENTRIES)
    with pytest.raises(ValueError, match="no contestant 'tensorflow'; there are torch, torch_v2"):
        peers.chosen("torch,tensorflow")


def test_bars(benchmark_module: Any) -> None:
    chart = benchmark_module("bar_chart")
    bars = [chart.Bar("a < b", 410.0, 205.0, 410.0, True), chart.Bar("c", 0.0, 0.0, 0.0, False)]
    svg = chart.bar_chart("R & D", bars)
    assert "a &lt; b</text>" in svg
    assert "R &amp; D</text>" in svg
    assert 'width="410.0" height="19" fill="#0072b2"' in svg  # the longest is as wide as there is room
    assert 'd="M425.0,50.0H630.0"' in svg
