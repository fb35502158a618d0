# SPDX-License-Identifier: Apache-2.0
"""What must hold on a GPU, as functions: each raises AssertionError, or says what it saw in a few words.

`gpu.py` runs them all and prints a table; tests/gpu runs them one by one.
"""

from __future__ import annotations

import gc
import importlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torchvision import transforms

import torch_dts
from torch_dts import _native

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NONE = torch.tensor([])


def training_transform(size: int = 64, value: Any = (0.1, -1.0, 0.5)) -> transforms.Compose:
    """Everything that the GPU does a part of: crop, flip, normalization, erasing."""
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
            transforms.RandomErasing(0.5, value=value),
        ]
    )


def loader_of(path: pathlib.Path, transform: Any = None, **arguments: Any) -> torch_dts.DataLoader:
    """A shuffled loader; equal arguments give equal batches."""
    given: dict[str, Any] = {"batch_size": 16, "shuffle": True, "seed": 5, "num_workers": 4, **arguments}
    return torch_dts.DataLoader(path, transform=transform or training_transform(), **given)


def same_batches(found: Iterator[Any], expected: Iterator[Any]) -> int:
    """How many batches there were, all of them equal bit for bit."""
    count = 0
    for one, other in zip(found, expected, strict=True):
        for part, wanted in zip(one, other, strict=True):
            assert part.is_cuda, f"batch {count} has a tensor on {part.device}"
            assert torch.equal(part.cpu(), wanted), f"batch {count} differs from the CPU's"
        count += 1
    return count


def normalize_arguments(count: int, height: int, width: int) -> dict[str, Tensor]:
    """Images, flips, boxes and values, the same each time."""
    generator = torch.Generator().manual_seed(height * 10007 + width)
    images = torch.randint(0, 256, (count, height, width, 3), dtype=torch.uint8, generator=generator)
    boxes = torch.tensor([[height // 3, width // 4, height // 2, width // 3], [0, 0, 0, 0]])
    return {
        "images": images,
        "flip": torch.arange(count) % 3 == 0,
        "boxes": boxes.repeat(count // 2 + 1, 1)[:count].contiguous(),
        "values": torch.tensor([0.25, -3.0, 1.5]),
    }


def check_normalize(path: pathlib.Path) -> str:
    """The CUDA kernel's values are the CPU kernel's, bit for bit, for all types and layouts."""
    count = 0
    numbers = torch.tensor(MEAN), torch.tensor(STD)
    for height, width in ((224, 224), (31, 33), (5, 1), (3, 9001)):
        given = normalize_arguments(5, height, width)
        on_gpu = {name: value.cuda() for name, value in given.items() if name != "values"}
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for channels_last in (False, True):
                for pad_channels in (0, 4):
                    how = {"values": given["values"], "pad_channels": pad_channels}
                    wanted = _native.fused_normalize(
                        given["images"],
                        given["flip"],
                        *numbers,
                        dtype,
                        channels_last,
                        boxes=given["boxes"],
                        **how,
                    )
                    found = _native.fused_normalize(
                        on_gpu["images"],
                        on_gpu["flip"],
                        *numbers,
                        dtype,
                        channels_last,
                        boxes=on_gpu["boxes"],
                        **how,
                    )
                    assert found.stride() == wanted.stride()
                    assert torch.equal(found.cpu(), wanted), (height, width, dtype, channels_last)
                    count += 1
    return f"{count} combinations equal"


def check_normalize_places(path: pathlib.Path) -> str:
    """Images that begin anywhere in memory, on another stream; gray ones; none; other scales."""
    given = normalize_arguments(4, 17, 23)["images"]
    room = torch.empty(given.numel() + 16, dtype=torch.uint8, device="cuda")
    numbers = torch.tensor(MEAN), torch.tensor(STD)
    wanted = _native.fused_normalize(given, None, *numbers)
    for start in range(16):
        placed = room[start : start + given.numel()].view(given.shape)
        placed.copy_(given)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            found = _native.fused_normalize(placed, None, *numbers)
        stream.synchronize()
        assert torch.equal(found.cpu(), wanted), start
    gray = torch.arange(256, dtype=torch.uint8).view(1, 16, 16, 1)
    for scale in (0, 1, 2):
        found = _native.fused_normalize(gray.cuda(), None, NONE, NONE, scale=scale)
        assert torch.equal(found.cpu(), _native.fused_normalize(gray, None, NONE, NONE, scale=scale))
    assert _native.fused_normalize(room[:0].view(0, 4, 4, 3), None, NONE, NONE).shape == (0, 3, 4, 4)
    return "16 places, 3 scales"


def check_loader(path: pathlib.Path) -> str:
    """Batches are the CPU's, bit for bit."""
    count = 0
    for arguments in (
        {},
        {"dtype": torch.float16, "memory_format": torch.channels_last},
        {"return_index": True, "last_batch": "fill", "return_mask": True},
        {"num_workers": 0, "repeat": 2},
        {"transform": training_transform(32, "random")},
        {"transform": transforms.Compose([transforms.RandomResizedCrop(32), transforms.PILToTensor()])},
    ):
        count += same_batches(loader_of(path, device="cuda", **arguments), loader_of(path, **arguments))
    padded = next(iter(loader_of(path, device="cuda", pad_channels=4)))[0]
    plain = next(iter(loader_of(path)))[0]
    assert torch.equal(padded[:, :3].cpu(), plain)
    assert not padded[:, 3].any()
    return f"{count} batches equal"


def check_zones(path: pathlib.Path) -> str:
    """Batches come from page-locked memory, so that copies run beside everything else."""
    from torch_dts.loader import _cuda_stage

    pinned = []
    plain_upload = _cuda_stage.Stage.upload

    def upload(self: Any, memory: Tensor, *rest: Any) -> Any:
        pinned.append(memory.is_pinned())
        return plain_upload(self, memory, *rest)

    _cuda_stage.Stage.upload = upload  # type: ignore[method-assign]
    try:
        for _ in loader_of(path, device="cuda"):
            pass
    finally:
        _cuda_stage.Stage.upload = plain_upload  # type: ignore[method-assign]
    assert pinned
    assert all(pinned), f"{pinned.count(False)} of {len(pinned)} zones are not page-locked"
    return f"{len(pinned)} zones page-locked"


def check_stream_order(path: pathlib.Path) -> str:
    """A slow kernel reads a batch while later ones arrive, on several streams, batches let go of early."""
    expected = [images.double().sum().item() for images, _ in loader_of(path)]
    slow = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    for epoch in range(3):
        loader = loader_of(path, device="cuda")
        loader.set_epoch(0)
        sums = []
        for number, (images, _) in enumerate(loader):
            stream = slow[(number + epoch) % 3] if epoch else slow[0]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                torch.cuda._sleep(20_000_000)  # about 10 ms
                images.record_stream(stream)
                sums.append(images.double().sum())
            del images  # nobody but the kernel has it now
        torch.cuda.synchronize()
        found = [value.item() for value in sums]
        close = all(abs(a - b) <= 1e-6 * max(1.0, abs(b)) for a, b in zip(found, expected, strict=True))
        assert close, f"epoch {epoch}: a batch was overwritten while it was read"
    return f"3 epochs of {len(expected)} batches"


def resident_bytes() -> int:
    """Of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_memory(path: pathlib.Path) -> str:
    """Neither the host's nor the device's memory grows from epoch to epoch."""
    loader = loader_of(path, device="cuda")
    peaks, resident = [], []
    for _ in range(8):
        torch.cuda.reset_peak_memory_stats()
        for images, _ in loader:
            images.mul_(2.0)
            torch.cuda._sleep(2_000_000)
        del images
        torch.cuda.synchronize()
        gc.collect()
        peaks.append(torch.cuda.max_memory_allocated())
        resident.append(resident_bytes())
    assert peaks[-1] <= peaks[1] * 1.05, f"device: {peaks}"
    assert resident[-1] <= resident[2] + (32 << 20), f"host: {resident}"
    return f"device peak {peaks[-1] >> 20} MiB, host growth {(resident[-1] - resident[2]) >> 20} MiB"


def check_static(path: pathlib.Path) -> str:
    """static_buffers: one address, the values of each step, also while kernels still read the last one."""
    plain = loader_of(path, last_batch="fill")
    loader = loader_of(path, device="cuda", static_buffers=True)
    addresses, sums = set(), []
    for images, labels in loader:
        addresses.add((images.data_ptr(), labels.data_ptr()))
        torch.cuda._sleep(10_000_000)
        sums.append(images.double().sum())
    assert len(addresses) == 1
    for found, (images, _) in zip(sums, plain, strict=True):
        wanted = images.double().sum().item()
        assert abs(found.item() - wanted) <= 1e-6 * max(1.0, abs(wanted))
    return f"{len(sums)} batches at one address"


def check_graph(path: pathlib.Path) -> str:
    """A captured copy, fused_normalize and step of training, replayed, loses what an eager run loses."""
    examples = pathlib.Path(__file__).parents[1]
    sys.path.insert(0, str(examples))
    try:
        example = importlib.import_module("train_cuda_graph")
    finally:
        sys.path.remove(str(examples))
    options = [str(path), "--epochs", "2", "--batch-size", "8", "--size", "64", "--lr", "0.01"]
    options += ["--num-workers", "2", "--arch", "squeezenet1_1"]
    # Dropout would draw other numbers in a graph.
    plain_model = example.models.get_model
    example.models.get_model = lambda name, num_classes: plain_model(
        name, num_classes=num_classes, dropout=0.0
    )
    try:
        eager = example.main([*options, "--eager"])
        graph = example.main(options)
    finally:
        example.models.get_model = plain_model
    assert len(graph) == len(eager)
    worst = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(graph, eager, strict=True))
    assert worst < 0.02, f"losses differ by {worst:.1%}: {graph} and {eager}"
    return f"{len(graph)} steps, losses within {worst:.2%}"


def check_other_devices(path: pathlib.Path) -> str:
    """Nothing is allocated on a device that no loader feeds, and several are fed from one process."""
    count = torch.cuda.device_count()
    if count < 2:
        return "one GPU: not checked"
    same_batches(loader_of(path, device="cuda:1"), loader_of(path))
    pair = loader_of(path, devices=["cuda:0", "cuda:1"])
    for step, wanted in zip(pair, loader_of(path, devices=["cpu", "cpu"]), strict=True):
        for number, (one, other) in enumerate(zip(step, wanted, strict=True)):
            assert one[0].device.index == number
            assert torch.equal(one[0].cpu(), other[0])
    return f"{count} GPUs"


CONTEXTS = """
import ctypes, sys
import torch, torch_dts
from torchvision import transforms
steps = [transforms.RandomResizedCrop(32), transforms.ToTensor()]
loader = torch_dts.DataLoader(
    sys.argv[1], 8, transform=transforms.Compose(steps), device=int(sys.argv[2]), num_workers=2
)
for images, _ in loader:
    images.sum()
cuda, flags, is_active = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint(), ctypes.c_int()
for device in range(torch.cuda.device_count()):  # here a device's number is its handle
    cuda.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(is_active))
    if is_active.value:
        print(device)
"""


def contexts_of(path: pathlib.Path, device: int, visible: str | None) -> tuple[list[int], str]:
    """On which devices a process that feeds one has a context, and what it wrote to stderr."""
    environ = dict(os.environ)
    if visible is not None:
        environ["CUDA_VISIBLE_DEVICES"] = visible
    command = [sys.executable, "-c", CONTEXTS, str(path), str(device)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    return [int(number) for number in done.stdout.split()], done.stderr


def check_contexts(path: pathlib.Path) -> str:
    """A process has a context on the device that it feeds and on no other; hidden devices are hidden."""
    last = torch.cuda.device_count() - 1
    found, stderr = contexts_of(path, last, None)
    assert found == [last], f"contexts on {found}, expected {last} alone; {stderr[-500:]}"
    cards = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(last + 1)))).split(",")
    found, stderr = contexts_of(path, 0, cards[-1])
    assert found == [0], f"with one card visible: contexts on {found}; {stderr[-500:]}"
    found, stderr = contexts_of(path, 0, "")
    assert not found
    assert "RuntimeError: device is 'cuda:0', but" in stderr, stderr[-500:]
    return f"on device {last} of {last + 1} alone"


CHECKS: dict[str, Callable[[pathlib.Path], str]] = {
    "fused_normalize: values": check_normalize,
    "fused_normalize: places": check_normalize_places,
    "loader: batches": check_loader,
    "loader: page-locked zones": check_zones,
    "loader: order of streams": check_stream_order,
    "loader: memory": check_memory,
    "loader: static buffers": check_static,
    "loader: several GPUs": check_other_devices,
    "loader: contexts": check_contexts,
    "CUDA graph: losses": check_graph,
}
