# SPDX-License-Identifier: Apache-2.0
"""``torch-dts convert``."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import tarfile
from collections.abc import Callable

import pytest

import torch_dts
from torch_dts import _native
from torch_dts.cli import main
from torch_dts.cli._convert import parse_interval, parse_size, read_class_to_idx

Make = Callable[..., pathlib.Path]
Capture = pytest.CaptureFixture[str]


def test_folder_to_file_beside_it(image_folder: Make, capsys: Capture) -> None:
    root = image_folder()
    assert main(["convert", str(root)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"wrote {root}.dts"
    assert lines[1] == "  samples   5 in 2 classes"
    assert err == ""
    with torch_dts.open(f"{root}.dts") as file:
        assert list(file.paths) == ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg"]


def test_every_option_reaches_convert(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    root = image_folder()
    (root / "a" / "1.jpg").write_bytes(b"")
    (root / "empty").mkdir()
    (tmp_path / "numbers.json").write_text('{"b": 0, "a": 1, "empty": 2}')
    target = tmp_path / "x.dts"
    target.write_bytes(b"old")
    options = [
        "--split",
        "val",
        "--order",
        "source",
        "--seed",
        "5",
        "--check",
        "decode",
        "--on-error",
        "skip",
        "--stats",
    ]
    options += ["--overwrite", "--block-size", "32MiB", "--allow-empty", "--num-workers", "1", "--progress"]
    options += ["--class-to-idx", str(tmp_path / "numbers.json"), "--json"]
    assert main(["convert", str(root), "-o", str(target), *options]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["path"] == str(target)
    assert (report["num_samples"], report["num_classes"], report["file_bytes"]) == (4, 3, 48 << 20)
    assert report["skipped"] == [{"path": str(root / "a" / "1.jpg"), "index": 1, "reason": "empty (0 bytes)"}]
    assert "writing: 100%" in err
    with torch_dts.open(target) as file:
        assert file.classes == ["b", "a", "empty"]
        assert file.header.is_training == 0
        assert min(file.header.normalize_std) > 0
        assert file.source_index.tolist() == [0, 1, 2, 3]
        assert (file.info["seed"], file.info["check"]) == (5, "decode")


def test_levels_markers_and_resume(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    root = image_folder(size=(450, 460))
    assert (
        main(["convert", str(root), "-o", str(tmp_path / "3.dts"), "--level", "3", "--resume", "--json"]) == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert (report["recoded"]["name"], report["recoded"]["num_recoded"]) == ("level 3", 5)
    options = ["--restart-interval", "4", "--metadata", "keep", "--num-workers", "1"]
    assert main(["convert", str(root), "-o", str(tmp_path / "0.dts"), *options]) == 0
    assert "encoded   5 samples anew (restart markers)" in capsys.readouterr().out
    with torch_dts.open(tmp_path / "3.dts") as smaller, torch_dts.open(tmp_path / "0.dts") as marked:
        assert (smaller.info["level"], smaller.info["restart_interval"]) == (3, "auto")
        assert (marked.info["restart_interval"], marked.info["metadata"]) == (4, "keep")
    assert main(["info", str(tmp_path / "3.dts")]) == 0
    assert "3 (images made smaller and encoded anew)" in capsys.readouterr().out
    assert main(["info", str(tmp_path / "0.dts")]) == 0
    assert "0 (the original pixels; JPEGs rewritten with restart markers)" in capsys.readouterr().out
    assert main(["extract", str(tmp_path / "0.dts"), str(tmp_path / "out")]) == 0
    assert "not the bytes of the original files" in capsys.readouterr().out


def test_compat(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    root = image_folder()
    assert main(["convert", str(root), "-o", str(tmp_path), "--compat", "--min-blocks", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"wrote {tmp_path}/imagenet_train_lv0.dts")
    assert "packing   ours: its own fails on this set with --min-blocks 1" in out
    assert main(["convert", str(root), "--compat", "--restart-interval", "none", "--seed", "1"]) == 1
    assert "--compat fixes order and bytes: leave --seed 1 out" in capsys.readouterr().err


def test_an_interruption_says_how_to_go_on(
    image_folder: Make, tmp_path: pathlib.Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_native, "writer_write_block", stop)
    assert main(["convert", str(image_folder()), "-o", str(tmp_path / "x.dts"), "--resume"]) == 130
    assert "interrupted: finished work is kept beside" in capsys.readouterr().err


def test_estimates_take_every_option(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    root, target = str(image_folder()), str(tmp_path / "x.dts")
    options = [root, "-o", target, "--level", "3", "--num-volumes", "2", "--restart-interval", "none"]
    assert main(["convert", *options, "--estimate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["convert", *options, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    for name in ("num_samples", "file_bytes", "stored_bytes", "num_blocks"):
        assert found[name] == report[name]
    assert found["num_files"] == 2


def test_restart_intervals() -> None:
    assert [parse_interval(text) for text in ("auto", "default", "none", "12")] == [
        "auto",
        "default",
        None,
        12,
    ]
    with pytest.raises(argparse.ArgumentTypeError, match="'row' is not a number of MCUs, auto or none"):
        parse_interval("row")


def test_a_failure_is_one_message_and_code_1(
    image_folder: Make, tmp_path: pathlib.Path, capsys: Capture
) -> None:
    root = image_folder()
    assert main(["convert", str(root / "a"), "-o", str(tmp_path / "x.dts")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("torch-dts: error: ")
    assert "images directly in it" in err
    assert "Traceback" not in err
    (root / "a" / "1.jpg").write_bytes(b"")
    assert main(["convert", str(root), "-o", str(tmp_path / "x.dts")]) == 1
    assert "a/1.jpg (sample 1): empty (0 bytes)" in capsys.readouterr().err
    assert not (tmp_path / "x.dts").exists()


@pytest.mark.parametrize(
    "wrong",
    [[], ["x", "--order", "foo"], ["x", "--block-size", "big"], ["x", "--num-workers", "-1"], ["--estimate"]],
)
def test_wrong_usage_is_code_2(wrong: list[str], capsys: Capture) -> None:
    assert main(["convert", *wrong]) == 2
    assert "usage: torch-dts" in capsys.readouterr().err


def test_help_shows_how_it_goes(capsys: Capture) -> None:
    assert main(["convert", "--help"]) == 0
    out = capsys.readouterr().out
    assert "photos/cat/1.jpg" in out
    assert "torch-dts convert imagenet/train -o train.dts" in out
    for option in ("--split", "--order", "--seed", "--check", "--on-error", "--overwrite", "--block-size"):
        assert option in out


def test_names_that_are_no_utf8(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    target = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.dts")
    for options in ([], ["--json", "--overwrite"]):
        assert main(["convert", str(image_folder()), "-o", target, *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"wrote {tmp_path}/\\xff.dts"
    assert json.loads(lines[-1])["path"] == f"{tmp_path}/\\xff.dts"


@pytest.mark.parametrize(
    ("text", "size"),
    [("33554432", 32 << 20), ("32MiB", 32 << 20), ("32M", 32 << 20), ("32 mib", 32 << 20), ("1GiB", 1 << 30),
     ("16384K", 16 << 20), ("7B", 7)],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "1.5MiB", "-1", "3TiB", "16MiBx", "16MM", "²"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as 32MiB"):
        parse_size(text)


def test_class_numbers_from_json(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"b": 0, "a": 1}')
    assert read_class_to_idx(str(path)) == {"b": 0, "a": 1}
    path.write_text('["a"]')
    with pytest.raises(ValueError, match="must hold an object such as"):
        read_class_to_idx(str(path))
    path.write_text("{")
    with pytest.raises(ValueError, match=r"x\.json is not JSON"):
        read_class_to_idx(str(path))


def test_archives_and_labels(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    root = image_folder()
    for name in ("a", "b"):
        with tarfile.open(tmp_path / f"{name}.tar", "w") as tar:
            for path in sorted((root / name).iterdir()):
                tar.add(path, f"{name}{path.name}")
    rows = "".join(f"{name}{i}.jpg,{name}\n" for name, count in (("a", 3), ("b", 2)) for i in range(count))
    (tmp_path / "labels.csv").write_text(rows)
    archives, target = [str(tmp_path / "a.tar"), str(tmp_path / "b.tar")], str(tmp_path / "x.dts")
    assert main(["convert", *archives, "-o", target, "--labels", str(tmp_path / "labels.csv")]) == 0
    with torch_dts.open(target) as file:
        assert (file.classes, file.labels.tolist()) == (["a", "b"], [0, 0, 0, 1, 1])
    assert main(["convert", str(root), str(root), "-o", target]) == 1
    assert "several paths must all name tar archives" in capsys.readouterr().err


def test_an_estimate_writes_nothing(image_folder: Make, tmp_path: pathlib.Path, capsys: Capture) -> None:
    root = image_folder()
    (root / "a" / "1.jpg").write_bytes(b"")
    assert main(["convert", str(root), "--estimate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "estimate, nothing was written"
    assert lines[3] == "  blocks    1"
    assert main(["convert", str(root), "--estimate", "--json", "--block-size", "32MiB"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["file_bytes"], found["num_bad"], found["bad"][0]["path"]) == (
        48 << 20,
        1,
        f"{root}/a/1.jpg",
    )
    assert not list(tmp_path.glob("*.dts"))
