# SPDX-License-Identifier: Apache-2.0
"""Original files of MNIST, its kin and CIFAR convert to what torchvision's sets convert to."""

from __future__ import annotations

import filecmp
import gzip
import pathlib
import struct
from typing import Any

import numpy as np
import pytest
import torch
from array_sets import array_set, items_of
from torchvision.datasets import (
    CIFAR10,
    CIFAR100,
    EMNIST,
    KMNIST,
    MNIST,
    QMNIST,
    SVHN,
    FashionMNIST,
    VisionDataset,
)

import torch_dts
from torch_dts import CorruptFileError
from torch_dts.convert._originals import open_originals


def write_idx(
    folder: pathlib.Path, prefix: str, dataset: Any, *, is_packed: bool = False, dot: bool = False
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pixels, labels = dataset.data.numpy(), dataset.targets.numpy().astype(np.uint8)
    sign = "." if dot else "-"
    for name, values in ((f"images{sign}idx3-ubyte", pixels), (f"labels{sign}idx1-ubyte", labels)):
        data = struct.pack(f">4B{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
        path = folder / f"{prefix}{name}{'.gz' if is_packed else ''}"
        path.write_bytes(gzip.compress(data) if is_packed else data)


def write_cifar(folder: pathlib.Path, name: str, dataset: Any, coarse: bool) -> None:
    folder.mkdir(exist_ok=True)
    planes = dataset.data.transpose(0, 3, 1, 2).reshape(len(dataset), -1)
    labels = np.array(dataset.targets, dtype=np.uint8)[:, None]
    columns = [np.zeros_like(labels), labels, planes] if coarse else [labels, planes]
    (folder / name).write_bytes(np.concatenate(columns, axis=1).tobytes())


def check_equal(source: Any, dataset: Any, tmp_path: pathlib.Path, **options: Any) -> None:
    here = torch_dts.convert(source, tmp_path / "here.dts", overwrite=True, **options)
    there = torch_dts.convert(dataset, tmp_path / "there.dts", overwrite=True)
    assert filecmp.cmp(here, there, shallow=False)
    assert here.sample_shape == there.sample_shape is not None


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST, KMNIST])
def test_mnist_and_its_kin(tmp_path: pathlib.Path, kind: Any) -> None:
    root = tmp_path / kind.__name__
    train, test = array_set(kind, 20), array_set(kind, 7, train=False, seed=1)
    write_idx(root / "raw", "train-", train)
    write_idx(root / "raw", "t10k-", test, is_packed=True)
    for source in (root, root / "raw", str(root / "raw" / "train-images-idx3-ubyte")):
        check_equal(source, train, tmp_path)
    check_equal(root, test, tmp_path, split="val")
    check_equal(root / "raw" / "t10k-images-idx3-ubyte.gz", test, tmp_path)
    write_idx(root / "raw", "train-", test, is_packed=True)  # a copy that is not looked at
    write_idx(root / "raw", "t10k-", test)  # torchvision wants all four
    check_equal(root, kind(tmp_path), tmp_path)


@pytest.mark.parametrize("is_packed", [False, True])
def test_qmnist(tmp_path: pathlib.Path, is_packed: bool) -> None:
    dataset = array_set(QMNIST, 9, train=False)
    rows = np.random.default_rng(2).integers(0, 1 << 20, (9, 8))
    rows[:, 0] = dataset.targets
    dataset.targets, dataset.compat = torch.from_numpy(rows), True
    root = tmp_path / "raw"
    write_idx(root, "qmnist-test-", array_set(MNIST, 9), is_packed=is_packed)
    for path in root.glob("*labels*"):
        path.unlink()
    data = struct.pack(">4B2I", 0, 0, 12, 2, 9, 8) + rows.astype(">i4").tobytes()
    name = f"qmnist-test-labels-idx2-int{'.gz' if is_packed else ''}"
    (root / name).write_bytes(gzip.compress(data) if is_packed else data)
    check_equal(root, dataset, tmp_path, split="val")
    path = torch_dts.convert(dataset, tmp_path / "x.dts")
    with torch_dts.open(path) as file:
        assert file.labels.tolist() == rows[:, 0].tolist() == [dataset[i][1] for i in range(9)]
        assert file.classes == QMNIST.classes
        assert file.info["name"] == "QMNIST"
    with pytest.raises(ValueError, match="holds labels: pass the file of the images"):
        torch_dts.convert(root / name, tmp_path / "y.dts")
    dataset.compat = False  # items are whole rows
    with pytest.raises(TypeError, match="the class number must be an int"):
        torch_dts.convert(dataset, tmp_path / "y.dts")


def test_no_file_of_the_set_is_overwritten(tmp_path: pathlib.Path) -> None:
    write_idx(tmp_path / "mnist", "train-", array_set(MNIST, 3))
    write_idx(tmp_path / "mnist", "t10k-", array_set(MNIST, 3))
    for number in range(1, 6):
        write_cifar(tmp_path / "cifar", f"data_batch_{number}.bin", array_set(CIFAR10, 3), False)
    write_cifar(tmp_path / "cifar", "test_batch.bin", array_set(CIFAR10, 3), False)
    (tmp_path / "cifar" / "batches.meta.txt").write_text(
        "\n".join(CIFAR10.__name__ + str(i) for i in range(10))
    )
    for root, count in ((tmp_path / "mnist", 4), (tmp_path / "cifar", 7)):
        files = sorted(root.iterdir())
        assert len(files) == count
        before = [path.read_bytes() for path in files]
        for split in ("train", "val"):
            for path in files:
                with pytest.raises(ValueError, match=r"would overwrite .* which the source reads"):
                    torch_dts.convert(root, path, overwrite=True, split=split)
        assert [path.read_bytes() for path in files] == before


def test_as_torchvision_reads_it(tmp_path: pathlib.Path) -> None:
    write_idx(tmp_path / "EMNIST" / "raw", "emnist-letters-train-", array_set(EMNIST, 20))
    dataset = EMNIST(tmp_path, split="letters")
    check_equal(tmp_path / "EMNIST", dataset, tmp_path)
    with torch_dts.open(tmp_path / "here.dts") as file:
        assert file.classes[:3] == ["N/A", "a", "b"]
        assert file.info["name"] == "EMNIST"


def test_several_sets_in_one_folder(tmp_path: pathlib.Path) -> None:
    for split in ("letters", "digits"):
        write_idx(tmp_path, f"emnist-{split}-train-", array_set(MNIST, 4))
    with pytest.raises(
        ValueError, match="holds several sets: pass the path of one file of images, of 'emnist-digits"
    ):
        torch_dts.convert(tmp_path)
    report = torch_dts.convert(tmp_path / "emnist-digits-train-images-idx3-ubyte")
    assert report.path == str(tmp_path / "emnist-digits-train-images-idx3-ubyte.dts")
    with pytest.raises(ValueError, match="has no files for split='val', but 'emnist-digits"):
        torch_dts.convert(tmp_path, split="val")


def test_a_folder_of_no_known_name(tmp_path: pathlib.Path) -> None:
    """All ten classes are there, whatever labels occur, so that train and val agree."""
    for prefix, most in (("train-", 9), ("t10k-", 4)):
        dataset = array_set(MNIST, 9)
        dataset.targets = torch.arange(9) % (most + 1)
        write_idx(tmp_path / "numbers", prefix, dataset, dot=True)
        split = "train" if prefix == "train-" else "val"
        with torch_dts.open(torch_dts.convert(tmp_path / "numbers", split=split, overwrite=True)) as file:
            assert file.classes == [str(number) for number in range(10)]
            assert (file.info["name"], file.header.dataset_type.strip()) == ("IDX", "MNIST")
            assert file.labels.tolist() == dataset.targets.tolist()


def test_idx_files_of_other_kinds(tmp_path: pathlib.Path) -> None:
    dataset = array_set(MNIST, 4)
    dataset.targets = torch.tensor([0, 46, 3, 3])
    write_idx(tmp_path / "kana", "train-", dataset)
    with torch_dts.open(torch_dts.convert(tmp_path / "kana")) as file:
        assert file.classes == [str(number) for number in range(47)]
    dataset.targets = torch.tensor([0, 1, 1, 0])
    dataset.data = dataset.data[:, :9, :7]
    write_idx(tmp_path / "other", "train-", dataset)
    with torch_dts.open(torch_dts.convert(tmp_path / "other")) as file:
        assert file.classes == ["0", "1"]


@pytest.mark.parametrize(
    ("kind", "train", "labels"),
    [
        (MNIST, True, [5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3]),
        (MNIST, False, [7, 2, 1, 0, 4, 1, 4, 9, 5, 9, 0]),
        (FashionMNIST, True, [9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0]),
        (FashionMNIST, False, [9, 2, 1, 1, 6, 1, 4, 6, 5, 7, 4]),
    ],
)
def test_published_sets_in_any_folder(tmp_path: pathlib.Path, kind: Any, train: bool, labels: Any) -> None:
    dataset = array_set(kind, len(labels), train=train)
    dataset.targets = torch.tensor(labels)
    for folder in ("data", "KMNIST"):
        write_idx(tmp_path / folder, "train-" if train else "t10k-", dataset)
        check_equal(tmp_path / folder, dataset, tmp_path)
        with torch_dts.open(tmp_path / "here.dts") as file:
            assert (file.info["name"], file.classes) == (kind.__name__, kind.classes)


@pytest.mark.parametrize(("kind", "count"), [(CIFAR10, 10), (CIFAR100, 100)])
def test_classes_of_a_part_of_cifar(tmp_path: pathlib.Path, kind: Any, count: int) -> None:
    dataset = array_set(kind, 4, train=False)
    dataset.targets = [0, 1, 2, 3]
    write_cifar(tmp_path, "test_batch.bin" if count == 10 else "test.bin", dataset, coarse=count == 100)
    names = tmp_path / ("batches.meta.txt" if count == 10 else "fine_label_names.txt")
    if count == 10:
        with torch_dts.open(torch_dts.convert(tmp_path, tmp_path / "x.dts")) as file:
            assert file.classes == [
                "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
            ]  # fmt: skip
    names.write_text("".join(f"n{i}\n" for i in range(count)))
    with torch_dts.open(torch_dts.convert(tmp_path, tmp_path / "x.dts", overwrite=True)) as file:
        assert file.classes == [f"n{i}" for i in range(count)]
    names.write_text("one\ntwo\n")
    with pytest.raises(CorruptFileError, match=rf"it has 2 class names, expected {count}"):
        torch_dts.convert(tmp_path, tmp_path / "x.dts", overwrite=True)


def test_images_in_blocks(tmp_path: pathlib.Path) -> None:
    dataset = array_set(MNIST, 5)
    write_idx(tmp_path / "MNIST", "train-", dataset)
    report = torch_dts.convert(tmp_path / "MNIST", encoding="png")
    assert items_of(open_originals(str(tmp_path / "MNIST"), None)) == items_of(dataset)
    assert report.num_encoded == 5


@pytest.mark.parametrize("kind", [CIFAR10, CIFAR100])
def test_cifar(tmp_path: pathlib.Path, kind: Any) -> None:
    root = tmp_path / "cifar-binary"
    train, test = array_set(kind, 10), array_set(kind, 4, train=False, seed=1)
    if kind is CIFAR10:
        for number in range(5):
            part = array_set(kind, 2)
            part.data, part.targets = train.data[2 * number :][:2], train.targets[2 * number :][:2]
            write_cifar(root, f"data_batch_{number + 1}.bin", part, coarse=False)
        write_cifar(root, "test_batch.bin", test, coarse=False)
        (root / "batches.meta.txt").write_text("\n".join(train.classes) + "\n\n")
    else:
        write_cifar(root, "train.bin", train, coarse=True)
        write_cifar(root, "test.bin", test, coarse=True)
        (root / "fine_label_names.txt").write_text("\n".join(train.classes) + "\n")
    check_equal(root, train, tmp_path)
    check_equal(root, train, tmp_path, split="train")
    check_equal(root, test, tmp_path, split="val")
    assert torch_dts.convert(root).path == f"{root}.dts"
    first = root / ("data_batch_1.bin" if kind is CIFAR10 else "train.bin")
    with pytest.raises(ValueError, match=r"would overwrite '.*bin', which the source reads"):
        torch_dts.convert(root, first, overwrite=True)


def test_svhn_is_a_pixel_set(tmp_path: pathlib.Path) -> None:
    dataset = SVHN.__new__(SVHN)
    VisionDataset.__init__(dataset, "unused")
    generator = np.random.default_rng(0)
    dataset.data = generator.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
    dataset.labels = generator.integers(0, 5, 6)
    dataset.split = "test"
    report = torch_dts.convert(dataset, tmp_path / "x.dts")
    assert report.sample_shape == (32, 32, 3)
    assert items_of(torch_dts.DTSDataset(report)) == items_of(dataset)
    with torch_dts.open(report) as file:
        assert (file.info["name"], file.header.is_training) == ("SVHN", 0)
        assert file.classes == [str(number) for number in range(10)]  # the labels are 0 to 4


def test_pickled_files_are_refused(tmp_path: pathlib.Path) -> None:
    for name in ("data_batch_1", "batches.meta"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"holds pickled files.*pass torchvision\.datasets\.CIFAR10\(root\), or the"
    ):
        torch_dts.convert(tmp_path)
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for name in ("train", "test", "meta"):
        (folder / name).write_bytes(b"")
    with pytest.raises(ValueError, match=r"CIFAR100\(root\)"):
        torch_dts.convert(folder)


def test_files_of_cifar_that_are_no_set(tmp_path: pathlib.Path) -> None:
    """A part of the set, and the pickled version: given itself, by its folder, or by the folder above."""
    write_cifar(tmp_path / "b", "data_batch_1.bin", array_set(CIFAR10, 2), coarse=False)
    with pytest.raises(ValueError, match=r"_1\.bin is one of the files of CIFAR-10: pass .*, '.*/b'"):
        torch_dts.convert(tmp_path / "b" / "data_batch_1.bin")
    write_cifar(tmp_path / "c", "train.bin", array_set(CIFAR100, 2), coarse=True)
    (tmp_path / "c" / "fine_label_names.txt").write_text("x\n")
    with pytest.raises(ValueError, match=r"train\.bin is one of the files of CIFAR-100: pass their folder"):
        torch_dts.convert(tmp_path / "c" / "train.bin")
    for name, files in (("cifar-10-batches-py", ["data_batch_2"]), ("cifar-100-python", ["train", "meta"])):
        folder = tmp_path / "above" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            (folder / file).write_bytes(b"\x80\x04.")
        for source in (folder, folder / files[0]):
            with pytest.raises(ValueError, match=r"pickled files.*of the binary version, which is read"):
                torch_dts.convert(source)
    with pytest.raises(ValueError, match=r"cifar-10-batches-py holds pickled files.*CIFAR10\(root\)"):
        torch_dts.convert(tmp_path / "above")


def test_what_is_missing_or_damaged(tmp_path: pathlib.Path) -> None:
    write_idx(tmp_path / "m", "train-", array_set(MNIST, 3))
    labels = tmp_path / "m" / "train-labels-idx1-ubyte"
    with pytest.raises(ValueError, match="holds labels: pass the file of the images"):
        torch_dts.convert(labels)
    with pytest.raises(
        ValueError, match="labels= is for folders and archives of images; these files hold labels"
    ):
        torch_dts.convert(tmp_path / "m", labels=[1, 2, 3])
    labels.write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 2) + b"ab")
    with pytest.raises(CorruptFileError, match="it has 2 labels for the 3 images of train-images-idx3-ubyte"):
        torch_dts.convert(tmp_path / "m")
    labels.unlink()
    with pytest.raises(
        FileNotFoundError, match=r"the labels of train-images-idx3-ubyte: '.*train-labels-idx1-ubyte'"
    ):
        torch_dts.convert(tmp_path / "m")
    root = tmp_path / "c"
    write_cifar(root, "data_batch_1.bin", array_set(CIFAR10, 2), coarse=False)
    with pytest.raises(FileNotFoundError, match=r"a part of CIFAR10: '.*data_batch_2\.bin'"):
        torch_dts.convert(root)
    (root / "test_batch.bin").write_bytes(bytes(3074))
    with pytest.raises(CorruptFileError, match="it has 3074 bytes, expected a multiple of 3073"):
        torch_dts.convert(root, split="val")
    assert not list(tmp_path.glob("**/*.dts"))
