# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
from tars import write_tar

import torch_dts
from torch_dts.convert._archive_list import list_archives
from torch_dts.convert._archive_shards import are_shards, group
from torch_dts.convert._report import BadSamplesError

ENDINGS = ".jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp"
Make = Callable[..., pathlib.Path]


def shard(path: pathlib.Path, names: str) -> list[str]:
    """An archive of empty files; those that end in .cls hold the number behind a '='."""
    members = [(name.partition("=")[0], name.partition("=")[2].encode()) for name in names.split()]
    return [str(write_tar(path, members))]


def test_keys_end_at_the_first_dot(tmp_path: pathlib.Path) -> None:
    paths = shard(
        tmp_path / "x.tar",
        "d.1/a.jpg d.1/a.cls=3 d.1/a.seg.png b.x.cls=9 b.JPEG b.cls=1 c.txt c.cls=2 c.png README "
        ".x.jpg d.1/a.cls=4 d.1/a.webp",
    )
    listing = list_archives(paths, None)
    assert are_shards(listing)
    shards = group(listing, needs_labels=True)
    assert shards.names == ["d.1/a.jpg", "b.JPEG", "c.png", "d.1/a.webp"]
    assert (shards.labels, shards.failed) == ([3, 1, 2, 4], {})


def test_what_makes_a_sample_bad(tmp_path: pathlib.Path) -> None:
    names = "a.jpg b.cls=1 c.jpg c.png c.cls=1 d.jpg d.cls=x e.jpg e.cls=-1 f.jpg f.cls=2 f.cls=3"
    listing = list_archives(shard(tmp_path / "x.tar", f"{names} g.jpg g.cls= h.jpg h.cls=7"), None)
    shards = group(listing, needs_labels=True)
    assert shards.failed == {
        0: "the sample has no class number (.cls)",
        1: f"the sample has no image: found .cls behind the key, expected one of {ENDINGS}",
        2: f"the sample has 2 images: found .jpg, .png, .cls behind the key, expected one of {ENDINGS}",
        3: "d.cls holds b'x', expected a class number",
        4: "e.cls holds b'-1', expected a class number",
        5: "the sample has 2 class numbers (.cls)",
        6: "g.cls holds b'', expected a class number",
    }
    assert shards.labels[7] == 7
    assert set(group(listing, needs_labels=False).failed) == {1, 2}


def test_two_views_of_a_sample(tmp_path: pathlib.Path) -> None:
    names = "000.left.jpg 000.right.jpg 000.cls=1"
    shards = group(list_archives(shard(tmp_path / "x.tar", names), None), needs_labels=True)
    assert shards.failed[0].startswith("the sample has no image: found .left.jpg, .right.jpg, .cls behind")


def test_names_that_two_shards_share(tmp_path: pathlib.Path) -> None:
    paths = shard(tmp_path / "x.tar", "0.jpg 0.cls=1") + shard(tmp_path / "y.tar", "0.jpg 0.cls=2")
    assert group(list_archives(paths, None), needs_labels=True).names == ["x/0.jpg", "y/0.jpg"]
    (tmp_path / "z").mkdir()
    paths += shard(tmp_path / "z" / "x.tar", "0.jpg 0.cls=1")
    assert group(list_archives(paths, None), needs_labels=True).names == [
        "x_0/0.jpg",
        "y_1/0.jpg",
        "x_2/0.jpg",
    ]


def test_converted(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"a": 3, "b": 2})
    images = [
        (path.read_bytes(), int(path.parent.name == "b"))
        for path in sorted(root.rglob("*.jpg"), reverse=True)
    ]
    for number in range(2):
        members = []
        for i in range(number, 5, 2):
            members += [
                (f"{i:06d}.cls", b"%d\n" % images[i][1]),
                (f"{i:06d}.json", b"{}"),
                (f"{i:06d}.jpg", images[i][0]),
            ]
        write_tar(tmp_path / f"s-{number:03d}.tar", members)
    report = torch_dts.convert(f"{tmp_path}/s-{{000..001}}.tar", tmp_path / "x.dts", order="source")
    order = [0, 2, 4, 1, 3]
    with torch_dts.open(report) as file:
        assert list(file.paths) == [f"{i:06d}.jpg" for i in order]
        assert [bytes(file.read(i)) for i in range(5)] == [images[i][0] for i in order]
        assert file.labels.tolist() == [images[i][1] for i in order]
        assert file.classes == ["0", "1"]
        assert file.info["source"]["kind"] == "WebDataset"
    named = torch_dts.convert(
        f"{tmp_path}/s-*.tar", tmp_path / "y.dts", class_to_idx={"cat": 0, "dog": 1, "emu": 2}
    )
    with torch_dts.open(named) as file:
        assert file.classes == ["cat", "dog", "emu"]
    own = torch_dts.convert(f"{tmp_path}/s-*.tar", tmp_path / "z.dts", labels=["x", "y", "x", "y", "x"])
    with torch_dts.open(own) as file:
        assert (file.classes, file.labels.tolist()) == (["x", "y"], [0, 1, 0, 1, 0])


def test_bad_samples_are_listed(image_folder: Make, tmp_path: pathlib.Path) -> None:
    jpeg = (image_folder() / "a" / "0.jpg").read_bytes()
    archive = write_tar(tmp_path / "s.tar", [("0.jpg", jpeg), ("1.jpg", jpeg), ("1.cls", b"0")])
    with pytest.raises(BadSamplesError, match=r"s\.tar:0\.jpg \(sample 0\): the sample has no class number"):
        torch_dts.convert(archive)
    assert torch_dts.convert(archive, on_error="skip").num_samples == 1
