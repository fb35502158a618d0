# SPDX-License-Identifier: Apache-2.0
"""What the caller gets, beside torch's own collating of the same samples."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import default_collate, default_convert

from torch_dts.loader._delivery import Delivery

IMAGES = torch.arange(24.0).reshape(2, 3, 2, 2)
LABELS = torch.tensor([4, 7])
INDICES = torch.tensor([10, 11])


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return (
            type(found) is type(expected) and found.dtype == expected.dtype and torch.equal(found, expected)
        )
    if isinstance(expected, (list, tuple)):
        return type(found) is type(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and bool(found == expected)


def test_a_batch_is_torchs() -> None:
    items = [(IMAGES[0], 4), (IMAGES[1], 7)]
    made = Delivery(default_collate).hand_out(IMAGES, LABELS)
    assert same(made, default_collate(items))
    assert made[0] is IMAGES
    indexed = Delivery(default_collate, returns_index=True).hand_out(IMAGES, LABELS, [INDICES])
    assert same(indexed, default_collate([(*item, i) for item, i in zip(items, [10, 11], strict=True)]))


def test_keeping_labels_keeps_no_images() -> None:
    made = Delivery(default_collate).hand_out(IMAGES, LABELS)
    assert made[1].data_ptr() != LABELS.data_ptr()


def test_target_transforms_are_applied_to_ints_and_collated() -> None:
    seen: list[Any] = []

    def pair(label: int) -> tuple[float, str]:
        seen.append(label)
        return label / 2, str(label)

    made = Delivery(default_collate, pair).hand_out(IMAGES, LABELS)
    assert same(made, default_collate([(IMAGES[0], (2.0, "4")), (IMAGES[1], (3.5, "7"))]))
    assert same(seen, [4, 7])


def test_other_collate_functions_get_the_samples() -> None:
    given = Delivery(lambda samples: samples, lambda label: -label).hand_out(IMAGES, LABELS)
    assert same(given, [(IMAGES[0], -4), (IMAGES[1], -7)])
    given = Delivery(lambda samples: samples, returns_index=True).hand_out(IMAGES, LABELS, [INDICES])
    assert same(given, [(IMAGES[0], 4, 10), (IMAGES[1], 7, 11)])


def test_single_samples_are_torchs() -> None:
    made = Delivery(default_convert, is_batched=False).hand_out(IMAGES[:1], LABELS[:1])
    assert same(made, default_convert((IMAGES[0], 4)))
    masked = Delivery(lambda samples: samples, returns_mask=True).hand_out(IMAGES, LABELS, [LABELS > 4])
    assert [sample[2] for sample in masked] == (LABELS > 4).tolist()
    given = Delivery(lambda sample: sample, float, is_batched=False, returns_index=True)
    assert same(given.hand_out(IMAGES[:1], LABELS[:1], [INDICES[:1]]), (IMAGES[0], 4.0, 10))
