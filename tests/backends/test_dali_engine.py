# SPDX-License-Identifier: Apache-2.0
"""``DataLoader(backend="dali")`` on the CPU beside the native decoder."""

from __future__ import annotations

import gc
import os
import pathlib
import shutil
import warnings
from typing import Any

import pytest
import torch
from dali_sets import (
    FIXED,
    NUM_CMYK,
    NUM_PHOTOS,
    NUM_PNG,
    RANDOM,
    TENSOR,
    TRAIN,
    batches_of,
    check_batches,
    check_close,
    encoded,
    with_bad_tables,
)
from torch import Tensor
from torch.utils.data import Subset
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.backends._dali_pipeline import DaliPipeline


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_are_those_of_the_cpu(photos: pathlib.Path, num_workers: int) -> None:
    dataset = ImageFolder(photos, RANDOM)
    how: dict[str, Any] = {"epochs": 2, "num_workers": num_workers, "return_index": True}
    found = batches_of(dataset, "dali", **how)
    assert [len(batch[1]) for batch in found] == [5, 5, 5, 5, 5, 2] * 2
    check_batches(found, batches_of(dataset, "cpu", **how))


@pytest.mark.parametrize("mode", ["partial", "fully"])
def test_files_in_both_modes(photos_file: pathlib.Path, mode: str) -> None:
    how: dict[str, Any] = {"transform": RANDOM, "epochs": 2, "batch_size": 8, "mode": mode}
    found = batches_of(photos_file, "dali", **how)
    check_batches(found, batches_of(photos_file, "cpu", **how))
    assert len(found) == 8


@pytest.mark.parametrize(
    ("steps", "how"),
    [
        ([T.Resize(56), T.CenterCrop(48), *TENSOR], {}),
        (
            [T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.Resize((50, 60)), T.RandomCrop(48), *TENSOR],
            {},
        ),
        ([*TRAIN, *TENSOR], {"dtype": torch.float16}),
        ([*TRAIN, *TENSOR], {"dtype": torch.bfloat16}),
        ([*TRAIN, *TENSOR], {"memory_format": torch.channels_last}),
        ([T.RandomCrop(40), T.ToTensor()], {}),
    ],
)
def test_transforms_and_dtypes(photos_file: pathlib.Path, steps: list[Any], how: dict[str, Any]) -> None:
    how = {"transform": T.Compose(steps), "batch_size": 9, **how}
    # bfloat16 has 8 bits: values up to 2.7 are 1/64 apart, which is 0.9 levels.
    rounding = {torch.bfloat16: 1.0, torch.float16: 0.2}.get(how.get("dtype"), 0.02)
    check_batches(
        batches_of(photos_file, "dali", **how), batches_of(photos_file, "cpu", **how), rounding=rounding
    )


def test_bytes_and_erasing(photos_file: pathlib.Path) -> None:
    as_bytes: dict[str, Any] = {"transform": T.Compose([*TRAIN, T.PILToTensor()])}
    for one, other in zip(
        batches_of(photos_file, "dali", **as_bytes), batches_of(photos_file, "cpu", **as_bytes), strict=True
    ):
        assert one[0].dtype == torch.uint8
        check_close(one[0].float(), other[0].float())
    erasing: dict[str, Any] = {
        "transform": T.Compose([*TRAIN, *TENSOR, T.RandomErasing(0.6, value=[1.5, -1.0, 0.25])])
    }
    found, exact = batches_of(photos_file, "dali", **erasing), batches_of(photos_file, "cpu", **erasing)
    check_batches(found, exact)
    num_erased = 0
    for one, other in zip(found, exact, strict=True):
        erased = (other[0] == torch.tensor([1.5, -1.0, 0.25]).view(1, 3, 1, 1)).all(1)
        num_erased += int(erased.any(dim=(1, 2)).sum())
        assert torch.equal(one[0].movedim(1, -1)[erased], other[0].movedim(1, -1)[erased])
    assert num_erased > NUM_PHOTOS // 4


def test_samplers_batches_of_many_sizes_and_single_samples(photos: pathlib.Path) -> None:
    dataset = ImageFolder(photos, FIXED)
    batches = [[0, 1, 2, 0], [26], list(range(20)), [5, 17], [13, 18]]  # the last two aren't for DALI
    how: dict[str, Any] = {"batch_sampler": batches, "batch_size": 1, "shuffle": None}
    check_batches(batches_of(dataset, "dali", **how), batches_of(dataset, "cpu", **how))
    loader = torch_dts.DataLoader(dataset, batch_size=None, backend="dali", num_workers=1, shuffle=False)
    images = torch.stack([image for image, _ in loader])
    loader.close()
    exact = torch.cat([batch[0] for batch in batches_of(dataset, "cpu", shuffle=False)])
    assert images.shape == exact.shape
    assert (images - exact).abs().mean() < 0.01


def test_what_dali_cannot_take_is_counted_apart(photos: pathlib.Path) -> None:
    loader = torch_dts.DataLoader(
        ImageFolder(photos, RANDOM), batch_size=9, num_workers=1, seed=1, backend="dali"
    )
    assert sum(len(labels) for _, labels in loader) == NUM_PHOTOS
    stats = loader.stats()
    assert (stats.num_images, stats.num_foreign, stats.num_redone) == (NUM_PHOTOS, NUM_PNG, 0)
    # With Pillow's own pixels, like everything that DALI did not make.
    exact = torch_dts.DataLoader(ImageFolder(photos, RANDOM), batch_size=9, num_workers=1, seed=1)
    loader.set_epoch(0)
    for number, (one, other) in enumerate(zip(loader, exact, strict=True)):
        cmyk = [
            i for i, path in enumerate(_paths(photos)[9 * number : 9 * number + 9]) if path in ("05", "17")
        ]
        assert torch.equal(one[0][cmyk], other[0][cmyk])
        assert len(cmyk) <= NUM_CMYK
    loader.close()
    exact.close()


def _paths(photos: pathlib.Path) -> list[str]:
    return [pathlib.Path(path).stem for path, _ in ImageFolder(photos).samples]


def test_an_epoch_goes_on_where_it_was_left(photos_file: pathlib.Path) -> None:
    how: dict[str, Any] = {"transform": RANDOM, "batch_size": 4, "seed": 3, "shuffle": True, "num_workers": 1}
    whole = batches_of(photos_file, "dali", 2, **how)
    first = torch_dts.DataLoader(photos_file, backend="dali", **how)
    iterator = iter(first)
    found = [[part.clone() for part in next(iterator)] for _ in range(3)]
    state = first.state_dict()
    del iterator
    first.close()
    for backend in ("dali", "cpu"):
        rest = torch_dts.DataLoader(photos_file, backend=backend, **how)
        rest.load_state_dict(state)
        other = found + [[part.clone() for part in batch] for _ in range(2) for batch in rest]
        rest.close()
        check_batches(other, whole)


def test_early_ends_and_a_new_transform(photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = torch_dts.DataLoader(photos_file, transform=RANDOM, batch_size=2, num_workers=2, backend="dali")
    made: list[DaliPipeline] = []
    plain = DaliPipeline.__init__

    def make(self: DaliPipeline, *given: Any) -> None:
        made.append(self)
        plain(self, *given)

    monkeypatch.setattr(DaliPipeline, "__init__", make)
    for _ in range(4):
        for images, _ in loader:
            assert images.shape == (2, 3, 48, 48)
            break
    assert len(made) == 1  # what was in work is waited for, and the pipeline kept
    loader.set_transform(T.Compose([T.RandomResizedCrop(32), *TENSOR]))
    kept = [images for images, _ in loader]
    copies = [images.clone() for images in kept]
    assert kept[0].shape == (2, 3, 32, 32)
    for _ in loader:  # batches that are kept are not written to
        pass
    assert all(map(torch.equal, kept, copies))
    made.clear()
    iterator = iter(loader)
    next(iterator)
    loader.close()
    with pytest.raises(RuntimeError, match="closed while it was iterated"):
        next(iterator)
    del iterator, loader
    gc.collect()
    assert all(map(torch.equal, kept, copies))


@pytest.fixture
def broken(photos: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """The photos, of which one is cut off and one has tables that no decoder takes."""
    root = pathlib.Path(shutil.copytree(photos, tmp_path / "broken"))
    cut, bad = root / "cat" / "12.jpg", root / "dog" / "01.jpg"
    cut.write_bytes(cut.read_bytes()[:-300])
    bad.write_bytes(with_bad_tables(encoded(1)))
    (root / "owl" / "20.jpg").write_bytes(bytes(200))
    return root


def test_bad_files_are_replaced_and_end_nothing(broken: pathlib.Path) -> None:
    how: dict[str, Any] = {"on_error": "replace", "epochs": 2, "batch_size": 14, "shuffle": False}
    found, exact = [], []
    for backend, made in (("dali", found), ("cpu", exact)):
        with pytest.warns(UserWarning, match="a bad sample was replaced by zeros"):
            made += batches_of(ImageFolder(broken, FIXED), backend, **how)
    check_batches(found, exact)
    zeros = [int((batch[0] == 0).all(dim=3).all(dim=2).all(dim=1).sum()) for batch in found]
    assert sum(zeros) == 6


def test_a_bad_file_is_named(broken: pathlib.Path) -> None:
    dataset = ImageFolder(broken, FIXED)
    loader = torch_dts.DataLoader(dataset, batch_size=9, num_workers=1, backend="dali")
    errors, num_batches, iterator = [], 0, iter(loader)
    while True:
        try:
            next(iterator)
            num_batches += 1
        except StopIteration:
            break
        except Exception as error:
            errors.append(str(error))
    assert num_batches + len(errors) == 3
    assert any(name in " ".join(errors) for name in ("12.jpg", "01.jpg", "20.jpg"))
    loader.close()


def test_a_batch_that_dali_fails_on_is_made_natively(
    photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"transform": RANDOM, "batch_size": 4, "seed": 5, "shuffle": True, "num_workers": 1}
    exact = batches_of(photos_file, "cpu", **how)
    plain = batches_of(photos_file, "dali", **how)
    collect, submit = DaliPipeline.collect, DaliPipeline.submit
    calls = {"collect": 0, "submit": 0}

    def fail_collect(self: DaliPipeline) -> Tensor:
        calls["collect"] += 1
        if calls["collect"] == 2:
            raise RuntimeError("Critical error in pipeline:\nFailed to decode sample #3\nC++ context: x")
        return collect(self)

    def fail_submit(self: DaliPipeline, outlines: Any) -> None:
        calls["submit"] += 1
        if calls["submit"] == 6:
            raise RuntimeError("out of memory")
        submit(self, outlines)

    monkeypatch.setattr(DaliPipeline, "collect", fail_collect)
    monkeypatch.setattr(DaliPipeline, "submit", fail_submit)
    loader = torch_dts.DataLoader(photos_file, backend="dali", **how)
    with pytest.warns(
        UserWarning,
        match=r"DALI failed on a batch of \d samples, .*: Failed to decode sample #3\. Further ones",
    ) as warned:
        found = [[part.clone() for part in batch] for batch in loader]
    assert len(warned) == 1
    assert loader.stats().num_redone == 2
    loader.close()
    check_batches(found, exact)
    is_exact = [torch.equal(one[0], other[0]) for one, other in zip(found, exact, strict=True)]
    assert sum(is_exact) >= 2
    # The batches beside them are DALI's, unharmed.
    assert sum(torch.equal(one[0], other[0]) for one, other in zip(found, plain, strict=True)) >= 4


def test_real_damage_costs_its_batch_alone(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    root = pathlib.Path(shutil.copytree(photos, tmp_path / "damaged"))
    (root / "dog" / "01.jpg").write_bytes(with_bad_tables(encoded(1)))
    loader = torch_dts.DataLoader(
        ImageFolder(root, RANDOM), batch_size=9, num_workers=1, on_error="replace", backend="dali"
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert sum(len(labels) for _, labels in loader) == NUM_PHOTOS
    assert any("replaced by zeros" in str(one.message) for one in warned)
    stats = loader.stats()
    assert stats.num_replaced == 1
    assert stats.num_redone <= 1
    loader.close()


def test_errors_of_reading_come_behind_the_batches_before(
    photos_file: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "cut.dts"
    shutil.copy(photos_file, path)
    loader = torch_dts.DataLoader(
        path, transform=RANDOM, batch_size=4, num_workers=1, mode="partial", backend="dali"
    )
    iterator = iter(loader)
    next(iterator)
    os.truncate(path, 5000)
    with pytest.raises((torch_dts.CorruptFileError, OSError), match=r"cut\.dts"):
        _go_on(iterator, loader)
    loader.close()


def _go_on(iterator: Any, loader: torch_dts.DataLoader) -> None:
    list(iterator)
    list(loader)


def test_what_the_backend_cannot_do_is_said(photos_file: pathlib.Path, photos: pathlib.Path) -> None:
    def first(dataset: Any, transform: Any = RANDOM, **how: Any) -> Any:
        return next(iter(torch_dts.DataLoader(dataset, transform=transform, backend="dali", **how)))

    with pytest.raises(ValueError, match="backend='dali' can't do ColorJitter"):
        first(photos_file, T.Compose([*TRAIN, T.ColorJitter(0.5), *TENSOR]))
    with pytest.raises(ValueError, match="backend='dali' makes one image of a sample, the transform makes 2"):
        first(photos_file, views=2)
    with pytest.raises(ValueError, match="backend='dali' makes one image of a sample, the transform makes 2"):
        first(photos_file, repeat=2)
    with pytest.raises(ValueError, match="backend='dali' and devices exclude each other"):
        first(photos_file, devices=["cpu"])
    with pytest.raises(ValueError, match="backend='dali' needs what native code reads: "):
        first(Subset(ImageFolder(photos), range(4)), T.Compose([T.Lambda(lambda image: image), *TENSOR]))
    pixels = torch_dts.DataLoader(
        photos_file, transform=T.Compose([*TRAIN, T.ColorJitter(0.5), *TENSOR]), backend="auto", num_workers=1
    )
    assert next(iter(pixels))[0].shape == (1, 3, 48, 48)
