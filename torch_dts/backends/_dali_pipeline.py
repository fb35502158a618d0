# SPDX-License-Identifier: Apache-2.0
"""DALI's pipeline for the outlines of batches: decode, slice, resize, flip, normalise, erase."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.utils.dlpack
from torch import Tensor

from torch_dts._native._outline import Outlines
from torch_dts.backends._dali_import import Dali, import_dali
from torch_dts.backends._dali_spec import DaliSpec

_pipelines: weakref.WeakSet[DaliPipeline] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """In a forked child: DALI's threads aren't there, and ending a pipeline would wait for them."""
    for pipeline in list(_pipelines):
        if pipeline._pipeline is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(pipeline._pipeline))
            pipeline._pipeline = None


os.register_at_fork(after_in_child=_leave_to_parent)


class DaliPipeline:
    """A pipeline of DALI's with some batches in work, which come out in order.

    The bytes of samples are read where they lie. They are kept until DALI has done with them: until
    their batch is collected, and on a CUDA device until it was made there, which an event tells.

    Args:
        spec: What it does.
        max_batch_size: Samples of the largest batch.

    Raises:
        ImportError: DALI is missing.
        RuntimeError: DALI can't make it.
    """

    def __init__(self, spec: DaliSpec, max_batch_size: int) -> None:
        self.spec = spec
        self.max_batch_size = max_batch_size
        self._held: deque[Outlines] = deque()
        self._reading: deque[tuple[Any, Outlines]] = deque()  # with the event behind their use
        self._dali = import_dali()
        with _on_device(spec.device_id):
            self._pipeline: Any = _build(self._dali, spec, max_batch_size)
        _pipelines.add(self)

    @property
    def num_in_work(self) -> int:
        """Batches submitted and not collected."""
        return len(self._held)

    def submit(self, outlines: Outlines) -> None:
        """Begins to work on a batch of 1 to `max_batch_size` samples.

        Raises:
            RuntimeError: DALI's own: the pipeline is of no use any more.
        """
        spec, feed = self.spec, self._pipeline.feed_input
        self._held.append(outlines)
        with _on_device(spec.device_id):
            feed("encoded", self._list_of(outlines.encoded))
            feed("anchor", outlines.anchors)
            feed("shape", outlines.shapes)
            feed("mirror", np.ascontiguousarray(outlines.flips[:, 0]))
            if spec.has_vertical_flip:
                feed("vertical", np.ascontiguousarray(outlines.flips[:, 1]))
            if spec.has_roi:
                feed("roi_start", outlines.roi_starts)
                feed("roi_end", outlines.roi_ends)
            if spec.erase_values:
                feed("erase_anchor", outlines.erase_anchors.astype(np.float32))
                feed("erase_shape", outlines.erase_shapes.astype(np.float32))
            self._pipeline.schedule_run()

    def _list_of(self, encoded: list[npt.NDArray[np.uint8]]) -> Any:
        """The bytes as DALI's own list, in place; it costs half of what DALI makes of a Python list."""
        tensors = self._dali.tensors
        return tensors.TensorListCPU([tensors.TensorCPU(one) for one in encoded], contiguous=False)

    def collect(self) -> Tensor:
        """The images of the oldest batch, ``[n, 3, H, W]``: its own memory, on the current stream.

        Raises:
            RuntimeError: DALI's own: the pipeline is of no use any more.
        """
        spec = self.spec
        with _on_device(spec.device_id):
            if spec.device_id is None:
                (made,) = self._pipeline.outputs()
                self._held.popleft()
            else:
                stream = torch.cuda.current_stream()
                (made,) = self._pipeline.outputs(cuda_stream=stream)
                done = torch.cuda.Event()  # type: ignore[no-untyped-call]
                done.record(stream)
                self._reading.append((done, self._held.popleft()))
            images = torch.utils.dlpack.from_dlpack(made.as_tensor())
        if spec.is_channels_last:
            images = images.permute(0, 3, 1, 2)
        return images.to(spec.dtype)

    def poll(self) -> None:
        """Lets go of bytes that the device is through with."""
        while self._reading and self._reading[0][0].query():
            self._reading.popleft()

    def drain(self) -> bool:
        """Waits for the batches in work, and lets go of them; False: it is of no use any more."""
        is_fine = self._pipeline is not None
        try:
            while self._held and is_fine:
                self._pipeline.outputs()
                self._held.popleft()
        except (RuntimeError, StopIteration):  # it is broken: nothing runs
            is_fine = False
        self._held.clear()
        while self._reading:
            self._reading.popleft()[0].synchronize()
        return is_fine

    def close(self) -> None:
        """Ends it; returns when nothing of it runs any more. Closing twice is fine."""
        if self._pipeline is not None:
            self.drain()
            self._pipeline = None


@contextmanager
def _on_device(device_id: int | None) -> Iterator[None]:
    if device_id is None:
        yield
        return
    with torch.cuda.device(device_id):
        yield


def _build(dali: Dali, spec: DaliSpec, max_batch_size: int) -> Any:
    fn, types = dali.fn, dali.types
    on_cuda = spec.device_id is not None
    # One iteration at a time, each begun by schedule_run: as many are in work as were begun.
    pipeline = dali.pipeline(
        batch_size=max_batch_size,
        num_threads=spec.num_threads,
        device_id=spec.device_id,
        prefetch_queue_depth=1,
    )
    with pipeline:

        def given(name: str, dtype: Any, ndim: int = 1, **how: Any) -> Any:
            return fn.external_source(name=name, dtype=dtype, ndim=ndim, **how)

        encoded = given("encoded", types.UINT8, no_copy=True)
        anchor, shape = given("anchor", types.INT32), given("shape", types.INT32)
        common = {"output_type": types.RGB, "adjust_orientation": False}
        part = {"axis_names": "HW", "normalized_anchor": False, "normalized_shape": False}
        if not on_cuda:
            images = fn.decoders.image_slice(encoded, anchor, shape, device="cpu", **part, **common)
        elif spec.roi_decode:
            common["jpeg_fancy_upsampling"] = True
            images = fn.decoders.image_slice(encoded, anchor, shape, device="mixed", **part, **common)
        else:
            images = fn.decoders.image(encoded, device="mixed", jpeg_fancy_upsampling=True, **common)
            images = fn.slice(images, anchor, shape, **part)
        roi = {}
        if spec.has_roi:
            roi = {"roi_start": given("roi_start", types.FLOAT), "roi_end": given("roi_end", types.FLOAT)}
        images = fn.resize(
            images,
            size=[spec.height, spec.width],
            interp_type=types.INTERP_LINEAR,
            antialias=True,
            **roi,
        )
        if spec.has_vertical_flip:
            images = fn.flip(images, horizontal=0, vertical=given("vertical", types.INT32, 0))
        dtypes = {torch.uint8: types.UINT8, torch.float16: types.FLOAT16}
        images = fn.crop_mirror_normalize(
            images,
            dtype=dtypes.get(spec.dtype, types.FLOAT),
            output_layout="HWC" if spec.is_channels_last else "CHW",
            mean=list(spec.mean),
            std=list(spec.std),
            mirror=given("mirror", types.INT32, 0),
        )
        if spec.erase_values:
            images = fn.erase(
                images,
                anchor=given("erase_anchor", types.FLOAT),
                shape=given("erase_shape", types.FLOAT),
                axis_names="HW",
                fill_value=list(spec.erase_values),
            )
        pipeline.set_outputs(images)
    pipeline.build()
    return pipeline
