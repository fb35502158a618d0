# SPDX-License-Identifier: Apache-2.0
import argparse
import io
import os
import re

import numpy as np
import pytest
from building import Sample, build, build_pixels, jpeg, samples_of
from PIL import Image
from tampering import patch, resign_head

from torch_dts import convert
from torch_dts._raw import raw_sample
from torch_dts.cli import _preview, main
from torch_dts.cli._preview import parse_indices

RED = (200, 0, 0)


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"cat": 3, "dog": 2}), [b"cat", b"dog"])


@pytest.fixture
def drawn(monkeypatch):
    """The tiles of the sheets that are drawn."""
    found = []
    draw_sheet = _preview.draw_sheet

    def draw(tiles, *arguments):
        listed = list(tiles)
        found.extend(listed)
        return draw_sheet(listed, *arguments)

    monkeypatch.setattr(_preview, "draw_sheet", draw)
    return found


def run(capsys, *arguments):
    assert main(["preview", *map(str, arguments)]) == 0, capsys.readouterr().err
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def refused(capsys, *arguments):
    assert main(["preview", *map(str, arguments)]) == 1
    return capsys.readouterr().err


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_sheet(capsys, path, tmp_path, drawn):
    out = tmp_path / "sheet.png"
    said = run(capsys, path, "-o", out, "--columns", 2, "--rows", 9, "--size", 32)
    with Image.open(out) as sheet:
        assert said == f"5 samples of {path} drawn into {out} ({sheet.width} x {sheet.height} pixels)\n"
        assert sheet.width == 8 + 2 * 40
        assert (
            np.asarray(sheet)[12:36, 8:40] == pixels(jpeg(0))
        ).all()  # 32 x 24, in the middle of its square
    assert [tile.caption for tile in drawn] == ["cat  0", "cat  1", "cat  2", "dog  3", "dog  4"]
    for i, tile in enumerate(drawn):
        assert (np.asarray(tile.image) == pixels(jpeg(i))).all()
    assert sorted(os.listdir(tmp_path)) == ["a.dts", "sheet.png"]


def test_which_samples(capsys, path, tmp_path, drawn):
    def shown(*arguments):
        drawn.clear()
        run(capsys, path, "-o", tmp_path / "sheet.png", "--overwrite", *arguments)
        return [tile.caption for tile in drawn]

    assert shown("--indices", "4,0-1,1") == ["dog  4", "cat  0", "cat  1"]
    assert shown("--class", "dog") == ["dog  3", "dog  4"]
    assert len(shown("--class", "dog", "--class", "cat")) == 5
    two = shown("--rows", 1, "--columns", 2, "--seed", 5)
    assert two == shown("--rows", 1, "--columns", 2, "--seed", 5)
    assert len({tuple(shown("--rows", 1, "--columns", 2, "--seed", seed)) for seed in range(6)}) > 2


def test_a_bad_sample_is_a_marked_tile(capsys, tmp_path, drawn):
    samples = [
        Sample(b"a/0.jpg", 0, jpeg(0)),
        Sample(b"a/1.jpg", 0, b"no picture"),
        Sample(b"a/2.jpg", 0, b""),
    ]
    path = build(tmp_path / "a.dts", samples, [b"a"])
    run(capsys, path, "-o", tmp_path / "sheet.png", "--augment", "imagenet", "--variants", 2)
    assert [tile.image is None for tile in drawn] == [False] * 3 + [True] * 6
    assert drawn[3].problem.startswith("sample 1: UnidentifiedImageError: cannot identify image file")
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert RED in {color for _, color in sheet.getcolors(1 << 20)}


def test_pixel_files_and_raw_samples(capsys, tmp_path, drawn):
    run(capsys, build_pixels(tmp_path / "p.dts", 4), "-o", tmp_path / "p.png")
    assert [np.asarray(tile.image).tolist() for tile in drawn] == [
        np.full((32, 32, 3), i).tolist() for i in range(4)
    ]
    drawn.clear()
    image = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3))
    path = build(tmp_path / "r.dts", [Sample(b"a/0.x", 0, raw_sample(image))], [b"a"])
    patch(path, 5, b"\1")  # version 3.1
    resign_head(path)
    run(capsys, path, "-o", tmp_path / "r.png")
    assert (np.asarray(drawn[0].image) == np.asarray(image)).all()


def test_odd_names(capsys, tmp_path, drawn):
    path = build(tmp_path / "a.dts", samples_of({"a": 1, "b": 1}), ["\u732b".encode(), b"\xff\n"])
    run(capsys, path, "-o", tmp_path / "sheet.jpg")
    assert [tile.caption for tile in drawn] == ["\u732b  0", "\\xff\\n  1"]
    with Image.open(tmp_path / "sheet.jpg") as sheet:
        assert sheet.format == "JPEG"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--indices", "5"], "there is no sample 5, .* has 5"),
        (["--class", "cow"], "there is no class 'cow' among cat, dog"),
        (["--indices", "1", "--class", "cat"], "--indices says which samples"),
        (["--variants", "2"], "--variants and --epoch belong to --augment"),
        (["--augment", "imagenet", "--columns", "2"], "--columns does not go with --augment"),
        (["--augment", "imagenet2"], "'imagenet2' is no transform, expected one of imagenet, "),
        (["--size", "100000"], "take fewer or smaller pictures"),
    ],
)
def test_wrong_arguments(capsys, path, tmp_path, arguments, problem):
    err = refused(capsys, path, "-o", tmp_path / "sheet.png", *arguments)
    assert re.search(problem, err), err
    assert not (tmp_path / "sheet.png").exists()


def test_an_empty_set(capsys, tmp_path):
    path = build(tmp_path / "a.dts", [], [], blocks=[])
    assert "has no such samples to show" in refused(capsys, path, "-o", tmp_path / "sheet.png")


def test_the_file_itself_is_never_replaced(capsys, path):
    before = path.read_bytes()
    link = path.with_name("link.png")
    link.symlink_to(path)
    assert "would overwrite" in refused(capsys, path, "-o", link, "--overwrite")
    assert "expected the ending of a picture" in refused(capsys, path, "-o", path, "--overwrite")
    assert path.read_bytes() == before


def test_sets_of_volumes(capsys, image_folder, tmp_path, drawn, monkeypatch):
    root = image_folder(classes={"cat": 4, "dog": 3})
    folder = tmp_path / "set [1]"
    folder.mkdir()
    report = convert(root, folder / "x.dts", num_volumes=3)
    # Not named by its ending: a picture may be meant to go there.
    hard = tmp_path / "volume.png"
    os.link(report.paths[2], hard)
    monkeypatch.chdir(tmp_path)
    for name in (folder, report.path, "set [[]1]/x-*.dts"):
        drawn.clear()
        run(capsys, name, "-o", tmp_path / "sheet.png", "--overwrite", "--rows", 4, "--columns", 2)
        assert [tile.caption for tile in drawn] == [f"{'cat' if i < 4 else 'dog'}  {i}" for i in range(7)]
        drawn.clear()
        said = ["--rows", 2, "--variants", 2, "--augment", "imagenet"]
        run(capsys, name, "-o", tmp_path / "sheet.png", "--overwrite", *said)
        assert len(drawn) == 6
        assert not any(tile.problem for tile in drawn)
        assert "would overwrite" in refused(capsys, name, "-o", hard, "--overwrite")


def test_parse_indices():
    assert parse_indices("3, 1-2,2") == [3, 1, 2]
    for text in ("", "a", "-1", "3-", "5-3", "1,,2", "0-200000", "\u0661"):
        with pytest.raises(argparse.ArgumentTypeError, match="is no"):
            parse_indices(text)
