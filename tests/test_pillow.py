# SPDX-License-Identifier: Apache-2.0
"""The version of Pillow decides on the order of a resize's passes."""

import PIL
import pytest
from PIL import Image

from torch_dts._pillow import max_image_pixels, resize_pass_order


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("9.5.0", 0),
        ("12.1.3", 0),
        ("12.2.0", 1),
        ("12.3.1", 1),
        ("13.0.0", 2),
        ("14.1.0.dev0", 2),
        ("new", 2),
    ],
)
def test_pass_order(monkeypatch: pytest.MonkeyPatch, version: str, order: int) -> None:
    monkeypatch.setattr(PIL, "__version__", version)
    assert resize_pass_order() == order


def test_the_limit_of_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, expected in ((None, -1), (1000, 1000), (0, 1)):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert max_image_pixels() == expected
