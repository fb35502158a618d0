#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training with one CUDA graph a step: copy, normalization, forward, backward and update replayed as one.

    python examples/train_cuda_graph.py train.dts

A graph keeps the addresses that it was captured with. `static_buffers=True` is for that: all batches come in
the same tensors, and none is smaller than the others. Batches are bytes here; the graph copies
them, which lets the loader go on, and makes values of them with the op that the loader itself uses.

The next batch is decoded and copied to the GPU while a graph runs; nothing waits for the host.
``--eager`` runs the same steps without a graph, ``--device cpu`` where there is no GPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torchvision import models, transforms

import torch_dts

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
NUM_WARMUP = 3  # steps that libraries use to choose their kernels


def bytes_transform(size: int) -> transforms.Compose:
    """Augmentations that end in bytes: what follows is the graph's."""
    return transforms.Compose(
        [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    )


class Step:
    """One step of training on batches that always lie in the same tensors.

    Args:
        model, optimizer: Of a device.
        images: uint8 ``[n, 3, H, W]``, channels_last.
        labels: int64 ``[n]``.
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, labels: Tensor
    ) -> None:
        self.model, self.optimizer = model, optimizer
        self.given = (images, labels)
        self.own = (torch.empty_like(images), torch.empty_like(labels))
        self.loss = torch.zeros((), device=images.device)
        self.loss_of = nn.CrossEntropyLoss()

    def eager(self) -> None:
        """The step, kernel by kernel."""
        for own, given in zip(self.own, self.given, strict=True):
            own.copy_(given)
        pixels = self.own[0].permute(0, 2, 3, 1)
        images = torch.ops.torch_dts.fused_normalize(pixels, None, MEAN, STD, torch.float32, True)
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.loss_of(self.model(images), self.own[1])
        loss.backward()
        self.optimizer.step()
        self.loss.copy_(loss.detach())

    def capture(self) -> torch.cuda.CUDAGraph:
        """A graph that does the same. Weights and the optimizer's state are as before."""
        before = {name: value.clone() for name, value in self.model.state_dict().items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(NUM_WARMUP):
                self.eager()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        # The loader's threads go on meanwhile, and may ask CUDA for memory.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.eager()
        self.model.load_state_dict(before)  # in place
        for state in self.optimizer.state.values():
            state["momentum_buffer"].zero_()
        return graph


def train(loader: torch_dts.DataLoader, options: argparse.Namespace, device: torch.device) -> list[float]:
    """Trains and returns the loss of each step."""
    torch.manual_seed(options.seed)
    model = models.get_model(options.arch, num_classes=len(loader.dataset.classes))
    model.to(device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    step, graph = None, None
    losses = []
    for epoch in range(options.epochs):
        for images, labels in loader:
            if step is None:
                step = Step(model, optimizer, images, labels)
                graph = None if options.eager or device.type != "cuda" else step.capture()
            if graph is None:
                step.eager()
            else:
                graph.replay()
            losses.append(step.loss.clone())
        print(f"epoch {epoch} loss {losses[-1].item():.6f}", flush=True)
    return [loss.item() for loss in losses]


def main(given: Sequence[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    add = parser.add_argument
    add("train", help="a .dts file (torch-dts convert makes it), or a folder of class folders")
    add("--arch", default="resnet18", help="a classifier of torchvision")
    add("--epochs", type=int, default=2)
    add("--batch-size", type=int, default=64)
    add("--size", type=int, default=224, help="side of the images in pixels")
    add("--lr", type=float, default=0.05)
    add("--seed", type=int, default=0)
    add("--num-workers", type=int, help="threads that decode (default: the CPUs there are)")
    add("--device", default="cuda", help="cuda, cuda:1 or cpu")
    add("--eager", action="store_true", help="the same steps without a graph")
    arguments = parser.parse_args(given)
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("train_cuda_graph: torch finds no CUDA device here; --device cpu runs without one")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    else:
        print("CUDA graphs need a GPU: on the CPU each step runs kernel by kernel", flush=True)
    loader = torch_dts.DataLoader(
        arguments.train,
        arguments.batch_size,
        shuffle=True,
        transform=bytes_transform(arguments.size),
        memory_format=torch.channels_last,
        seed=arguments.seed,
        num_workers=arguments.num_workers,
        device=device,
        static_buffers=True,
    )
    return train(loader, arguments, device)


if __name__ == "__main__":
    main()
