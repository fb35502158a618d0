# SPDX-License-Identifier: Apache-2.0
"""Figures of the article that described the format: seconds of an epoch of loading.

Its machine had two Xeon 8480C (112 cores), 512 GB of memory, 16 threads that load and 96 that
preprocess. 1.28 million images in 4.4 s can only be reading and indexing, so its figures are beside
loading without decoding. Seconds depend on machine and number of images; what can be compared is how
many times faster a form is than RAW.
"""

from __future__ import annotations

FORMS = ("RAW", "LV0", "LV1", "LV2", "LV3")

# (cache, mode) -> split -> seconds in the order of FORMS
IMAGENET = {
    ("cold", "fully"): {
        "train": (92.648, 76.632, 35.220, 35.033, 24.620),
        "val": (4.252, 3.607, 1.602, 1.616, 1.147),
    },
    ("cold", "partial"): {
        "train": (91.593, 75.726, 35.890, 36.249, 25.408),
        "val": (4.238, 3.571, 1.687, 1.635, 1.163),
    },
    ("warm", "fully"): {
        "train": (16.369, 13.757, 7.422, 6.516, 4.640),
        "val": (0.708, 0.679, 0.371, 0.355, 0.277),
    },
    ("warm", "partial"): {
        "train": (6.313, 4.399, 2.099, 2.195, 1.645),
        "val": (0.723, 0.307, 0.182, 0.195, 0.161),
    },
}

# (cache, set) -> split -> seconds of RAW and of the .dts file, all in memory
PIXELS = {
    ("cold", "MNIST"): {"train": (0.203, 0.168), "val": (0.122, 0.113)},
    ("cold", "CIFAR-10"): {"train": (0.701, 0.273), "val": (0.204, 0.135)},
    ("cold", "CIFAR-100"): {"train": (0.532, 0.243), "val": (0.200, 0.131)},
    ("warm", "MNIST"): {"train": (0.200, 0.151), "val": (0.124, 0.110)},
    ("warm", "CIFAR-10"): {"train": (0.606, 0.236), "val": (0.178, 0.124)},
    ("warm", "CIFAR-100"): {"train": (0.486, 0.237), "val": (0.187, 0.123)},
}

# Seconds of 1000 epochs of ImageNet.
TOTALS = {
    ("partial", "RAW"): 4377.4,
    ("partial", "LV0"): 3651.0,
    ("partial", "LV3"): 1548.6,
    ("fully", "RAW"): 340.0,
    ("fully", "LV3"): 333.1,
}

# A laptop with 8 GB, less than the set: seconds of an epoch.
SMALL_MEMORY = {"RAW": {"train": 1610.463, "val": 63.005}, "LV0": {"train": 37.658, "val": 1.424}}


def speed_up(cache: str, mode: str, split: str, form: str) -> float:
    """How many times faster than RAW a form of ImageNet was."""
    seconds = IMAGENET[cache, mode][split]
    return seconds[0] / seconds[FORMS.index(form)]


def total_speed_up(mode: str, form: str) -> float | None:
    """The same of 1000 epochs; None where the article has no figure."""
    if (mode, form) not in TOTALS:
        return None
    return TOTALS[mode, "RAW"] / TOTALS[mode, form]
