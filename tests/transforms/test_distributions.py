# SPDX-License-Identifier: Apache-2.0
"""Random choices have torchvision's distributions.

Other tests show that native code does what `draws` says, choice by choice; these compare
`draws` with torchvision's own get_params over ten consecutive seeds. Where the distributions
are the same the ten p-values are uniform on [0, 1]: neither small, nor all large.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torchvision import transforms as v1

SEEDS = range(10)
COUNT = 300
HEIGHT, WIDTH = 3000, 4000  # so large that rounding to pixels does not show


def image(height: int = HEIGHT, width: int = WIDTH) -> torch.Tensor:
    return torch.zeros(1).expand(3, height, width)


def check_uniform(p_values: list[float], statistics: Any) -> None:
    assert min(p_values) > 0.001, p_values
    assert statistics.uniform(p_values) > 0.001, p_values


def compare(
    ours: Callable[[Any], Any], theirs: Callable[[], Any], draws: Any, statistics: Any, count: int = COUNT
) -> None:
    """Columns of ours(draws) [count, k] beside those of `count` calls of theirs() [k], for each seed."""
    columns: list[list[float]] = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        first = np.asarray(ours(draws(range(count), seed)), dtype=np.float64).reshape(count, -1)
        second = np.asarray([theirs() for _ in range(count)], dtype=np.float64).reshape(count, -1)
        columns.append([statistics.same(a, b) for a, b in zip(first.T, second.T, strict=True)])
    for p_values in zip(*columns, strict=True):
        check_uniform(list(p_values), statistics)


def box_numbers(boxes: Any) -> Any:
    """Area, aspect ratio, and where the box lies in the room it has."""
    top, left, height, width = np.asarray(boxes, dtype=np.float64).T
    room = np.maximum(HEIGHT - height, 1), np.maximum(WIDTH - width, 1)
    return np.stack([height * width, width / height, top / room[0], left / room[1]], axis=1)


def test_random_resized_crop(draws: Any, statistics: Any) -> None:
    scale, ratio = (0.08, 1.0), (3 / 4, 4 / 3)
    compare(
        lambda drawn: box_numbers(drawn.boxes(0, [(HEIGHT, WIDTH)] * COUNT, scale, ratio)),
        lambda: box_numbers([v1.RandomResizedCrop.get_params(image(), scale, ratio)])[0],
        draws,
        statistics,
    )


def test_random_resized_crop_of_long_images(draws: Any, statistics: Any) -> None:
    """Most attempts miss here, and about half of the images end in the central crop."""
    scale, ratio, central = (0.18, 1.0), (0.9, 1.2), (0, 760, 400, 480)
    theirs, p_values, shares = [], [], []
    torch.manual_seed(0)
    for seed in SEEDS:
        theirs += [v1.RandomResizedCrop.get_params(image(400, 2000), scale, ratio) for _ in range(60)]
        ours = draws(range(300), seed).boxes(3, [(400, 2000)] * 300, scale, ratio)
        hits = [np.array([box[2] for box in boxes if box != central]) for boxes in (ours, theirs)]
        shares.append((len(hits[0]) / 300, len(hits[1]) / len(theirs)))
        p_values.append(statistics.same(*hits))
    assert 0.2 < np.mean(shares) < 0.8
    assert abs(np.mean([ours for ours, _ in shares]) - shares[-1][1]) < 0.08  # 3.5 standard deviations
    assert min(p_values) > 0.001


def test_random_erasing(draws: Any, statistics: Any) -> None:
    scale, ratio = (0.02, 0.33), (0.3, 3.3)
    compare(
        lambda drawn: box_numbers(drawn.boxes(1, [(HEIGHT, WIDTH)] * COUNT, scale, ratio, erasing=True)),
        lambda: box_numbers([v1.RandomErasing.get_params(image(), scale, ratio, [0.0])[:4]])[0],
        draws,
        statistics,
    )


def test_random_crop(draws: Any, statistics: Any) -> None:
    compare(
        lambda drawn: drawn.crops(2, (1000, 2000), (100, 300)),
        lambda: v1.RandomCrop.get_params(image(1000, 2000), (100, 300))[:2],
        draws,
        statistics,
    )


def test_rotation_and_blur(draws: Any, statistics: Any) -> None:
    for get_params, low, high in (
        (lambda: v1.RandomRotation.get_params([-30.0, 50.0]), -30.0, 50.0),
        (lambda: v1.GaussianBlur.get_params(0.1, 2.0), 0.1, 2.0),
    ):
        compare(lambda drawn, low=low, high=high: drawn.between(1, low, high), get_params, draws, statistics)


def test_jitter_factors(draws: Any, statistics: Any) -> None:
    ranges = ([0.6, 1.4], [0.5, 1.5], [0.0, 2.0], [-0.1, 0.1])
    compare(
        lambda drawn: np.stack([drawn.between(4, *ranges[i], 1, i) for i in range(4)], axis=1),
        lambda: v1.ColorJitter.get_params(*ranges)[1:],
        draws,
        statistics,
    )


def test_jitter_orders_are_equally_frequent(draws: Any, statistics: Any) -> None:
    p_values = []
    for seed in SEEDS:
        words = draws(range(2400), seed).words(0)
        swaps = [(words[3 - last] * np.uint64(last + 1) >> np.uint64(32)).astype(int) for last in (3, 2, 1)]
        counts = np.bincount(swaps[0] * 6 + swaps[1] * 2 + swaps[2], minlength=24)
        p_values.append(statistics.counts(counts, [100] * 24))
    check_uniform(p_values, statistics)


def test_gates_fire_as_often_as_they_should(draws: Any, statistics: Any) -> None:
    """Also together: what one operation draws says nothing of another's draw."""
    p_values = []
    for seed in SEEDS:
        drawn = draws(range(4000), seed)
        gates = np.array(drawn.gates(0, 0.5)) * 2 + np.array(drawn.gates(1, 0.3))
        shares = np.array([0.5 * 0.7, 0.5 * 0.3, 0.5 * 0.7, 0.5 * 0.3])
        p_values.append(statistics.counts(np.bincount(gates, minlength=4), shares * 4000))
    check_uniform(p_values, statistics)


def test_a_wrong_distribution_would_be_seen(draws: Any, statistics: Any) -> None:
    """The area's square root drawn uniformly, as one might think, is another distribution."""
    p_values = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        theirs = [v1.RandomResizedCrop.get_params(image(), (0.08, 1.0), (1.0, 1.0)) for _ in range(300)]
        sides = draws(range(300), seed).between(0, 0.08**0.5, 1.0) * HEIGHT
        p_values.append(statistics.same(sides, [box[2] for box in theirs]))
    assert statistics.uniform(p_values) < 1e-4


def test_the_draws_are_philox(draws: Any, vectors: Any) -> None:
    philox = draws.words.__globals__["philox"]
    for case in vectors("philox")["generate_4x32"]:
        found = philox(case["seed"], [case["offset"] & 0xFFFFFFFF, case["offset"] >> 32, 0, 0])
        assert [int(word) for word in found] == case["r"]


def test_the_draws_are_the_vectors(draws: Any, vectors: Any) -> None:
    """docs/format.md section 5, where view and occurrence are 0."""
    order = vectors("order")
    for case in order["crop"]:
        if case["view"] or case["occurrence"]:
            continue
        drawn = draws([case["index"]], case["seed"], case["epoch"])
        box = drawn.boxes(case["op"], [(case["h"], case["w"])], (0.08, 1.0), (3 / 4, 4 / 3))
        assert list(box[0]) == case["top_left_height_width"]
    for case in order["random_crop"]:
        if case["view"] or case["occurrence"]:
            continue
        drawn = draws([case["index"]], case["seed"], case["epoch"])
        place = drawn.crops(case["op"], (case["h"], case["w"]), (case["ch"], case["cw"]))
        assert list(place[0]) == case["top_left"]
