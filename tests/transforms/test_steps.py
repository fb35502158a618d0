# SPDX-License-Identifier: Apache-2.0
"""The lines of a plan."""

import math

from torch_dts.transforms import _steps as steps


def test_numbers_without_loss() -> None:
    assert steps.encode_value(7) == "7"
    assert steps.encode_value(True) == "1"
    for value in (0.1, 1 / 3, -0.0, 5e-324, 1e308, math.pi):
        assert float.fromhex(steps.encode_value(value)) == value


def test_lines() -> None:
    line = steps.encode_line("name", a=1, b=(2, 0.5), c=None, d=(), e=False)
    assert line == "name a=1 b=2,0x1.0000000000000p-1 e=0"


def test_every_step() -> None:
    half = "0x1.0000000000000p-1"
    one = "0x1.0000000000000p+0"
    expected = {
        steps.RandomResizedCrop(
            1, 2, 3, (0.5, 1.0), (0.5, 0.5), 4
        ): f"resized_crop op=1 height=2 width=3 scale={half},{one} ratio={half},{half} filter=4",
        steps.Resize(2, 0, 3, 9): "resize height=2 width=0 filter=3 max_size=9",
        steps.CenterCrop(2, 3): "center_crop height=2 width=3",
        steps.RandomCrop(
            0, 2, 3, (1, 2, 3, 4), (5, 6, 7), 2, True
        ): "random_crop op=0 height=2 width=3 padding=1,2,3,4 fill=5,6,7 pad_mode=2 pad_if_needed=1",
        steps.Pad((1, 2, 3, -4)): "pad padding=1,2,3,-4 pad_mode=0",
        steps.HorizontalFlip(3, 0.5): f"horizontal_flip op=3 p={half}",
        steps.VerticalFlip(3, 1.0): f"vertical_flip op=3 p={one}",
        steps.ColorJitter(0, None, (0.5, 1.0)): f"color_jitter op=0 contrast={half},{one}",
        steps.Grayscale(3): "grayscale channels=3",
        steps.RandomGrayscale(1, 0.5): f"random_grayscale op=1 p={half}",
        steps.RandomRotation(
            1, (0.5, 1.0), 2, (9,), (1.0, 0.5)
        ): f"rotation op=1 degrees={half},{one} filter=2 fill=9 center={one},{half}",
        steps.RandomAutocontrast(2, 0.5): f"autocontrast op=2 p={half}",
        steps.GaussianBlur(1, (3, 5), (0.5, 1.0)): f"gaussian_blur op=1 kernel=3,5 sigma={half},{one}",
        steps.RandomErasing(
            1, 0.5, (0.5, 1.0), (1.0, 1.0), (0.5,)
        ): f"erasing op=1 p={half} scale={half},{one} ratio={one},{one} value={half}",
        steps.RandomErasing(
            1, 0.5, (0.5, 1.0), (1.0, 1.0), None
        ): f"erasing op=1 p={half} scale={half},{one} ratio={one},{one} random=1",
    }
    assert {step: step.encode() for step in expected} == expected
