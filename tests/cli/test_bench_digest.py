# SPDX-License-Identifier: Apache-2.0
import hashlib
import struct

import pytest
import torch
from building import build, samples_of

import torch_dts
from torch_dts.cli._augment import load_transform
from torch_dts.cli._bench_digest import digest_epoch
from torch_dts.datasets import DTSDataset


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"cat": 4, "dog": 3}), [b"cat", b"dog"])


def by_hand(images, labels):
    found = hashlib.sha256()
    for image, label in zip(images, labels, strict=True):
        found.update(struct.pack("<q", label))
        found.update(image.numpy().tobytes())
    return found.hexdigest()


def test_by_hand():
    images = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 2, 2)
    expected = hashlib.sha256(
        struct.pack("<q", 5) + bytes(range(12)) + struct.pack("<q", 1) + bytes(range(12, 24))
    ).hexdigest()
    assert digest_epoch([[images, torch.tensor([5, 1])]]) == (expected, 2)
    halves = [[images[:1], torch.tensor([5])], (images[1:], torch.tensor([1]))]
    assert digest_epoch(halves) == (expected, 2)
    floats = images.float() / 7
    last = floats.to(memory_format=torch.channels_last)
    assert digest_epoch([[last, torch.tensor([5, 1])]])[0] == by_hand(floats, [5, 1])
    assert digest_epoch([[last, torch.tensor([1, 5])]])[0] != by_hand(floats, [5, 1])
    assert digest_epoch([]) == (hashlib.sha256().hexdigest(), 0)


def test_the_same_for_all_that_must_not_matter(path):
    dataset = DTSDataset(path, load_transform("imagenet", 16))

    def digest(epoch=1, **more):
        loader = torch_dts.DataLoader(
            dataset, **{"batch_size": 3, "shuffle": True, "seed": 5, "shuffle_window": 2, **more}
        )
        loader.set_epoch(epoch)
        return digest_epoch(loader)

    loader = torch_dts.DataLoader(dataset, 7, True, num_workers=0, seed=5, shuffle_window=2)
    loader.set_epoch(1)
    ((images, labels),) = loader
    expected = (by_hand(images, labels.tolist()), 7)
    for more in (
        {"num_workers": 0},
        {"num_workers": 2, "mode": "partial"},
        {"num_workers": 3, "mode": "fully"},
        {"num_workers": 1, "batch_size": 2, "decoder": "libjpeg"},
        {"num_workers": 1, "memory_format": torch.channels_last},
    ):
        assert digest(**more) == expected
    assert digest(num_workers=0, epoch=2)[0] != expected[0]
    assert digest(num_workers=0, seed=6)[0] != expected[0]


@pytest.mark.parametrize(
    "batch", [torch.zeros(2), [torch.zeros(2, 3)], [[1], torch.zeros(1)], [torch.zeros(2), torch.zeros(3)]]
)
def test_other_batches_are_refused(batch):
    with pytest.raises(ValueError, match=r"digest is of batches \[images, labels\] of tensors"):
        digest_epoch([batch])
