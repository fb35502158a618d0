#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy over several ranks, of exactly the validation set: each sample counts once.

    torchrun --nproc-per-node 4 examples/evaluate_ddp.py val.dts --checkpoint checkpoint.pt
    python examples/evaluate_ddp.py val.dts --checkpoint checkpoint.pt

Ranks that repeat samples to be equal give a wrong accuracy; ranks with unequal numbers of
batches make each other wait for ever. ``uneven="exact"`` does neither: all ranks make the same
number of batches, and the mask beside each says which rows count.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn
from torchvision.transforms import v2

import torch_dts


def start_process_group() -> torch.device:
    """Joins the other ranks, where torchrun started several; returns the device of this one."""
    has_cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if has_cuda else torch.device("cpu")
    if has_cuda:
        torch.cuda.set_device(device)
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if has_cuda else "gloo")
    return device


def make_model(num_classes: int) -> nn.Module:
    """A small CNN; put yours here."""
    layers: list[nn.Module] = []
    for before, channels in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, channels, 3, stride=2, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, num_classes))


def val_transform(size: int) -> v2.Compose:
    """The middle of the picture."""
    return v2.Compose(
        [
            v2.Resize(size * 8 // 7),
            v2.CenterCrop(size),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


@torch.inference_mode()
def evaluate(model: nn.Module, val: str, size: int, batch_size: int, device: torch.device) -> tuple[int, int]:
    """How many samples of all ranks were classified correctly, and how many there are."""
    loader = torch_dts.DataLoader(
        val,
        batch_size,
        transform=val_transform(size),
        distributed=dist.is_initialized(),
        uneven="exact",
    )
    if dist.is_initialized():
        for buffer in model.buffers():  # each rank's running means have seen its own last batch
            dist.broadcast(buffer, src=0)
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=device)
    for images, labels, is_counted in loader:
        predicted = model(images.to(device)).argmax(dim=1).cpu()
        counts[0] += ((predicted == labels) & is_counted).sum().item()
        counts[1] += is_counted.sum().item()
    if dist.is_initialized():
        dist.all_reduce(counts)
    correct, count = counts.tolist()
    return correct, count


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("val", help="a .dts file")
    parser.add_argument("--checkpoint", default="checkpoint.pt", metavar="FILE", help="of train_ddp.py")
    parser.add_argument("--batch-size", type=int, default=64, help="of each rank")
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels")
    arguments = parser.parse_args(given)

    device = start_process_group()
    with torch_dts.open(arguments.val) as file:
        model = make_model(num_classes=len(file.classes)).to(device)
    model.load_state_dict(torch.load(arguments.checkpoint, map_location=device, weights_only=True)["model"])
    correct, count = evaluate(model, arguments.val, arguments.size, arguments.batch_size, device)
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(f"accuracy {correct}/{count} = {100 * correct / count:.2f} %")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
