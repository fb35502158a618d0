# SPDX-License-Identifier: Apache-2.0
"""The argument ``backend`` of a loader, and what it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch_dts.backends._dali_import import require_dali
from torch_dts.backends._dali_spec import make_spec
from torch_dts.loader._cuda_device import check_device
from torch_dts.transforms._views import read_views

if TYPE_CHECKING:
    from torch_dts.loader._attributes import LoaderAttributes

Backend = Literal["auto", "cpu", "dali"]
BACKENDS = ("auto", "cpu", "dali")


def chosen_backend(loader: LoaderAttributes) -> Literal["cpu", "dali"]:
    """What the loader's ``backend="auto"`` stands for.

    The decoder with Pillow's pixels, unless ``decode="fast"`` allows others: then DALI on a CUDA device where
    it is installed and can do all that is asked for. On the CPU it is slower than this package's.
    """
    if loader.backend != "auto":
        return loader.backend
    return "dali" if loader.decode == "fast" and _suits_dali(loader) else "cpu"


def _suits_dali(loader: LoaderAttributes) -> bool:
    device = check_device(loader.device)
    if device is None or loader.pad_channels is not None or loader.static_buffers:
        return False
    if hasattr(loader.dataset, "data"):  # pixels, as torchvision's MNIST and CIFAR hold them
        return False
    try:
        require_dali()
        transform = getattr(loader.dataset, "transform", None)
        reading = read_views(transform if loader.transform is None else loader.transform, loader.views)
        if reading.plans is None:
            return False
        make_spec(list(reading.plans) * loader.repeat, loader.dtype, loader.memory_format, 0, 1)
    except (ImportError, ValueError):
        return False
    return True
