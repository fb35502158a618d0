# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest
import torch

import torch_dts
from torch_dts import _native
from torch_dts.convert._check import check_samples
from torch_dts.convert._kept import Kept, choose
from torch_dts.convert._report import BadSample, BadSamplesError
from torch_dts.convert._room import Room
from torch_dts.convert._sources import list_samples
from torch_dts.convert._volumes import (
    Volume,
    add_gaps,
    clear_volumes,
    divide,
    identify_set,
    name_volumes,
    own_ranks,
    refuse_gaps,
    refuse_other_sets,
    split_ranks,
)

Make = Callable[..., pathlib.Path]
ROOM = Room(16 << 20, 4096, can_shrink=True)


def find_volumes(path: object, overwrite: bool, num_volumes: int, volume: int | None) -> list[Volume]:
    volumes = name_volumes(path, [], num_volumes, volume)
    clear_volumes(volumes, [], overwrite)
    return volumes


def fisher_yates(count: int, seed: int) -> list[int]:
    """As docs/format.md section 5 writes it; the block order of epoch 0 is one, and has known answers."""
    return _native.block_order(count, seed, 0).tolist()


@pytest.mark.parametrize(("count", "num_volumes"), [(10, 3), (7, 7), (100, 7), (5, 1)])
@pytest.mark.parametrize("seed", [42, 2**63 + 5])
def test_shuffled(count: int, num_volumes: int, seed: int) -> None:
    order = fisher_yates(count, seed)
    expected = [
        sorted(order[v * count // num_volumes : (v + 1) * count // num_volumes]) for v in range(num_volumes)
    ]
    assert [ranks.tolist() for ranks in split_ranks(count, num_volumes, "shuffled", seed)] == expected


def test_source_order() -> None:
    assert [ranks.tolist() for ranks in split_ranks(10, 4, "source", 1)] == [
        [0, 1],
        [2, 3, 4],
        [5, 6],
        [7, 8, 9],
    ]


def test_each_file_gets_its_samples(image_folder: Make, tmp_path: pathlib.Path) -> None:
    kept = kept_of(image_folder(classes={"a": 7}), tmp_path)
    volumes = [Volume(number, 3, f"{number}") for number in range(3)]
    expected = split_ranks(7, 3, "shuffled", 5)
    assert own_ranks(volumes, 7, "shuffled", 5) is None
    for (volume, part, ranks), wanted, own in zip(
        divide(volumes, kept, None, "shuffled", 5), volumes, expected, strict=True
    ):
        assert volume == wanted
        assert ranks is not None
        assert ranks.tolist() == part.numbers.tolist() == own.tolist()
        alone = own_ranks([volume], 7, "shuffled", 5)
        assert alone is not None
        assert alone.tolist() == own.tolist()
        (again,) = divide([volume], kept.select(alone), alone, "shuffled", 5)
        assert (again[0], again[1].numbers.tolist(), again[2]) == (volume, own.tolist(), alone)
    whole = Volume(0, 1, "x")
    assert own_ranks([whole], 7, "shuffled", 5) is None
    assert divide([whole], kept, None, "shuffled", 5) == [(whole, kept, None)]


def test_gaps() -> None:
    bad = [BadSample("a/3.jpg", 3, "cut off")]
    refuse_gaps("level 1", [], {}, 9, "header", ROOM)
    with pytest.raises(
        BadSamplesError, match=r"1 of 9 .*level 1 found this.*check='decode' finds damage"
    ) as found:
        refuse_gaps("level 1", bad, {}, 9, "header", ROOM)
    assert found.value.bad == tuple(bad)
    with pytest.raises(BadSamplesError, match="What helps: without volume=, one call writes") as found:
        refuse_gaps("level 1", bad, {}, 9, "decode", ROOM)
    assert "check='decode'" not in str(found.value)
    assert "block_size" not in str(found.value)
    large = r"In the calls of all volumes: block_size=32 \* 2\*\*20 or more .* holds it, max_size= makes"
    with pytest.raises(BadSamplesError, match=large) as found:
        refuse_gaps("raw samples", bad, {3: 20_000_000}, 9, "header", ROOM)
    assert "check='decode'" not in str(found.value)
    with pytest.raises(BadSamplesError, match=rf"check='decode' finds damage.*{large}"):
        refuse_gaps("raw samples", [*bad, BadSample("b", 4, "cut off")], {3: 20_000_000}, 9, "header", ROOM)
    assert add_gaps("id", []) == "id"
    others = {add_gaps("id", bad), add_gaps("di", bad), add_gaps("id", [BadSample("a/4.jpg", 4, "cut off")])}
    assert len(others | {"id"}) == 4


def test_fewer_samples_than_volumes() -> None:
    with pytest.raises(ValueError, match="num_volumes=4 is more than the 3 samples of the set"):
        split_ranks(3, 4, "shuffled", 42)


def test_names(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.dts"
    assert find_volumes(path, False, 1, None) == [Volume(0, 1, str(path))]
    names = [str(tmp_path / f"x-0000{v}-of-00003.dts") for v in range(3)]
    assert [each.path for each in find_volumes(path, False, 3, None)] == names
    assert find_volumes(path, False, 3, 2) == [Volume(2, 3, names[2])]
    path.write_bytes(b"one file of that name is not in the way of a set")
    assert len(find_volumes(path, False, 3, None)) == 3
    pathlib.Path(names[1]).write_bytes(b"")
    with pytest.raises(FileExistsError, match="x-00001-of-00003"):
        find_volumes(path, False, 3, None)
    assert len(find_volumes(path, False, 3, 0)) == 1
    assert len(find_volumes(path, True, 3, None)) == 3
    with pytest.raises(ValueError, match=r"is a volume's name; give the set's, '.*/x\.dts'"):
        find_volumes(names[0], False, 3, 0)


def kept_of(folder: pathlib.Path, tmp_path: pathlib.Path) -> Kept:
    samples = list_samples(
        folder, class_to_idx=None, allow_empty=False, spool_dir=str(tmp_path), progress=False
    )
    return choose(samples, check_samples(samples, "none", 1, False), "raise").kept


def test_the_id_of_a_set(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    kept = kept_of(root, tmp_path)
    identity = identify_set(kept, b"{}", [3])
    assert len(identity) == 64
    assert identify_set(kept_of(root, tmp_path), b"{}", [3]) == identity
    others = {identify_set(kept, b"{1}", [3]), identify_set(kept, b"{}", [4])}
    others.add(identify_set(kept.select(torch.tensor([0, 1, 2, 3])), b"{}", [3]))
    (root / "a" / "0.jpg").write_bytes(b"longer" * 1000)
    others.add(identify_set(kept_of(root, tmp_path), b"{}", [3]))
    (root / "a" / "1.jpg").rename(root / "a" / "1.jpeg")
    others.add(identify_set(kept_of(root, tmp_path), b"{}", [3]))
    (root / "b").rename(root / "c")
    others.add(identify_set(kept_of(root, tmp_path), b"{}", [3]))
    assert len(others | {identity}) == 7


def test_volumes_of_another_set_are_seen(image_folder: Make, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.dts"
    made = torch_dts.convert(image_folder(), path, num_volumes=3, volume=1, progress=False)
    with torch_dts.open(made) as file:
        identity = file.info["set"]
    first, second, _ = find_volumes(path, True, 3, None)
    refuse_other_sets(first, identity)
    refuse_other_sets(second, "another")  # its own place is not looked at
    (tmp_path / "x-00002-of-00003.dts").write_bytes(b"damaged")
    with pytest.raises(
        ValueError, match=r"x-00001-of-00003\.dts is a volume of another set .* volume 0 would not"
    ):
        refuse_other_sets(first, "another")
    assert os.listdir(tmp_path).count("x-00001-of-00003.dts") == 1
