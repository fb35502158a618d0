# SPDX-License-Identifier: Apache-2.0
"""`compile`: a torchvision transform as a function from encoded images to a batch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torch_dts import _native
from torch_dts.transforms._pillow import open_rgb, run_in_python, transform_one
from torch_dts.transforms._plan import Decode, Decoder, Plan, check_decode, check_decoder
from torch_dts.transforms._views import encode_views, parts_of, read_views

_OK = 0  # its place in DECODE_STATUS
_NUM_OPENED = 64  # pictures that Pillow has open at a time

Encoded = bytes | bytearray | memoryview


def compile(transform: Any, *, decoder: Decoder = "auto", decode: Decode = "exact") -> CompiledTransform:
    """Reads a torchvision transform once; the result turns encoded images into a batch.

    Serves a trained model with the pixels of its training, and is the handiest way to try
    a transform on some files:

    >>> to_batch = torch_dts.transforms.compile(transform)
    >>> to_batch([pathlib.Path("cat.jpg").read_bytes()]).shape
    torch.Size([1, 3, 224, 224])

    What `explain` calls native runs in C++ on all of torch's threads; anything else runs
    as it is, image by image, on what Pillow decodes.

    Args:
        transform: A torchvision v1 or v2 transform that ends in a tensor; or `Views` of such ones.
        decoder: "libjpeg" leaves all JPEGs to libjpeg-turbo; "auto" reads usual ones with our own, faster
            decoder where the CPU has AVX2. The pixels are the same.
        decode: "fast" decodes JPEGs that are shrunk to half or less at 1/2, 1/4 or 1/8 of their size;
            pixels differ a little (docs/loader.md). "exact": Pillow's pixels.

    Raises:
        ValueError: `decoder` or `decode` is none of the two.
    """
    return CompiledTransform(transform, decoder=decoder, decode=decode)


class CompiledTransform:
    """See `compile`.

    Attributes:
        transform: What it was made from.
        decoder, decode: As given to `compile`.
        plan: What native code runs, of `Views` one for each; None where Python runs the transform.
        reason: Why there is no plan; "" where there is one.
    """

    def __init__(self, transform: Any, *, decoder: Decoder = "auto", decode: Decode = "exact") -> None:
        self.transform = transform
        self.decoder: Decoder = check_decoder(decoder)
        self.decode: Decode = check_decode(decode)
        reading = read_views(transform)
        self._plans = reading.plans
        self._is_list = reading.is_list
        self.reason = reading.reason

    @property
    def plan(self) -> Plan | tuple[Plan, ...] | None:
        return self._plans[0] if self._plans is not None and not self._is_list else self._plans

    def __call__(
        self,
        samples: Sequence[Encoded],
        *,
        seed: int = 0,
        epoch: int = 0,
        indices: Sequence[int] | Tensor | None = None,
    ) -> Any:
        """Decodes and transforms encoded images.

        Random choices are a function of (seed, epoch, index) alone (docs/format.md
        section 5): the same image under the same three numbers comes out the same in any
        batch, and as a loader with this seed gives it.

        Args:
            samples: n encoded images: JPEG, or anything else that Pillow opens.
            seed: Any int (taken modulo 2^64).
            epoch: 0 to 2^32 - 1.
            indices: [n] each image's number for its random choices, 0 to 2^40 - 1; None:
                0, 1, 2, ...

        Returns:
            [n, C, H, W] in the transform's dtype: what the transform gives for
            ``PIL.Image.open(...).convert("RGB")``, as exactly as `explain` says. Of `Views` a
            list: such a tensor for each.

        Raises:
            ValueError: No samples; an epoch or indices out of range or of another length.
            TypeError: A sample is not bytes-like; the transform gives no tensor.
            Exception: Pillow's own for an image it refuses, the transform's own for one
                that it refuses; the text names the sample.
        """
        data = [_view(position, sample) for position, sample in enumerate(samples)]
        if not data:
            raise ValueError("samples is empty, expected at least one encoded image")
        numbers = _indices(indices, len(data))
        seed, epoch = operator.index(seed), operator.index(epoch)
        if not 0 <= epoch < 1 << 32:
            raise ValueError(f"epoch is {epoch}, expected 0 to {(1 << 32) - 1}")
        parts, _ = parts_of(self.transform)
        if self._plans is None:
            made = run_in_python(parts, data, seed, epoch, numbers)
        else:
            plans = encode_views(self._plans, decoder=self.decoder, decode=self.decode)
            made = _Run(parts, plans, seed, epoch).run(data, numbers)
        return made if self._is_list else made[0]

    def __repr__(self) -> str:
        how = "native" if self._plans is not None else f"Python, {self.reason}"
        decode = "" if self.decode == "exact" else f", decode={self.decode!r}"
        return f"{type(self).__name__}({self.transform!r}, {how}{decode})"


def _view(position: int, sample: Any) -> memoryview:
    try:
        return memoryview(sample).cast("B")
    except TypeError as error:
        raise TypeError(
            f"sample {position} is {type(sample).__name__}, expected the bytes of an encoded image ({error})"
        ) from error


def _indices(indices: Sequence[int] | Tensor | None, count: int) -> Tensor:
    if indices is None:
        return torch.arange(count)
    numbers = torch.as_tensor(indices)
    if numbers.shape != (count,) or numbers.is_floating_point() or numbers.is_complex():
        raise ValueError(
            f"indices is {numbers.dtype} of shape {tuple(numbers.shape)}, "
            f"expected integers of shape ({count},)"
        )
    numbers = numbers.to("cpu", torch.int64).contiguous()
    if not bool(((numbers >= 0) & (numbers < 1 << 40)).all()):
        raise ValueError(
            f"indices has numbers from {numbers.min()} to {numbers.max()}, expected 0 to 2^40 - 1"
        )
    return numbers


class _Run:
    """One call of native plans, `parts` being the transforms they were read from."""

    def __init__(self, parts: list[Any], plans: str, seed: int, epoch: int) -> None:
        self._parts = parts
        self._plans = plans
        self._seed = seed
        self._epoch = epoch

    def run(self, samples: list[memoryview], indices: Tensor) -> list[Tensor]:
        shapes = torch.zeros(len(samples), 3, dtype=torch.int64)
        images, status = self._native(samples, shapes, indices)
        others = (status != _OK).nonzero().flatten().tolist()
        for start in range(0, len(others), _NUM_OPENED):
            self._by_pillow(samples, indices, others[start : start + _NUM_OPENED], images)
        return images

    def _native(
        self, samples: list[memoryview], shapes: Tensor, indices: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        sizes = torch.tensor([len(sample) for sample in samples])
        offsets = sizes.cumsum(0) - sizes
        arena = np.empty(int(sizes.sum()), np.uint8)
        for sample, offset in zip(samples, offsets.tolist(), strict=True):
            arena.data[offset : offset + len(sample)] = sample
        never = torch.empty(0, dtype=torch.int64)  # no index came earlier in the epoch
        return _native.run_views(
            torch.from_numpy(arena),
            offsets,
            sizes,
            shapes,
            self._plans,
            indices,
            never,
            self._seed,
            self._epoch,
        )

    def _by_pillow(
        self, samples: list[memoryview], indices: Tensor, positions: list[int], images: list[Tensor]
    ) -> None:
        """Fills in what is no JPEG, or none that is decoded natively: Pillow opens it, the plan goes on."""
        opened = [open_rgb(position, samples[position]) for position in positions]
        arrays = [np.array(image) for image in opened]
        shapes = torch.tensor([array.shape for array in arrays])
        pixels = [array.data.cast("B") for array in arrays]
        results, status = self._native(pixels, shapes, indices[positions])
        for i, position in enumerate(positions):
            made = [result[i] for result in results]
            if status[i] != _OK:  # the transform refuses this image, and is to say why
                index = int(indices[position])
                made = transform_one(self._parts, opened[i], position, index, self._seed, self._epoch)
            for view, result in zip(images, made, strict=True):
                if result.shape != view.shape[1:]:
                    raise RuntimeError(
                        f"the transform gives a tensor of {list(result.shape)} for sample {position} "
                        f"of the batch, expected {list(view.shape[1:])} like the others"
                    )
                view[position] = result
