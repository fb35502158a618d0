#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ImageNet (or any folder of class folders) on one GPU or on the CPU, with what makes it fast.

    torch-dts convert imagenet/train -o train.dts && torch-dts convert imagenet/val -o val.dts
    python examples/train_imagenet.py train.dts val.dts

Progressive resizing: small crops at first, full ones at the end; the loader takes each new
transform without being built again. Mixed precision, channels_last and torch.compile: batches
come in the memory format that the model wants, and all have one shape, so nothing is compiled twice.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence

import torch
from evaluate_ddp import val_transform
from torch import Tensor, nn
from torchvision import models
from train_ddp import train_transform

import torch_dts

LAST = torch.channels_last


def crop_size(epoch: int, epochs: int, smallest: int, largest: int) -> int:
    """From `smallest` to `largest` over the first two thirds of the epochs, in steps of 32 pixels."""
    num_growing = min(epochs * 2 / 3, epochs - 1)  # the last epoch has the largest
    if epoch >= num_growing:
        return largest
    return max(smallest, int((smallest + epoch / num_growing * (largest - smallest)) // 32 * 32))


def schedule(step: int, num_steps: int, num_warmup: int) -> float:
    """The learning rate's factor: a linear warm-up, then half a cosine."""
    if step < num_warmup:
        return (step + 1) / num_warmup
    return 0.5 * (1 + math.cos(math.pi * (step - num_warmup) / max(1, num_steps - num_warmup)))


class Trainer:
    """A model with what one step of training needs."""

    def __init__(self, arguments: argparse.Namespace, num_classes: int, num_steps: int) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # On the CPU bfloat16 needs no scaling of the loss; float16 on the GPU does.
        self.dtype = torch.float16 if self.device.type == "cuda" else torch.bfloat16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.dtype == torch.float16)
        self.model = models.get_model(arguments.arch, num_classes=num_classes)
        self.model.to(self.device, memory_format=LAST)
        if arguments.compile:
            self.model.compile()
        self.loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=5e-5, nesterov=True
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: schedule(step, num_steps, num_steps // 20)
        )

    def logits(self, images: Tensor) -> Tensor:
        """The model's answer, in mixed precision."""
        with torch.autocast(self.device.type, self.dtype):
            return self.model(images.to(self.device, non_blocking=True))

    def train(self, loader: torch_dts.DataLoader) -> float:
        """One epoch; the mean loss."""
        self.model.train()
        total = torch.zeros((), device=self.device)
        for images, labels in loader:
            loss = self.loss_of(self.logits(images).float(), labels.to(self.device, non_blocking=True))
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.schedule.step()
            total += loss.detach()
        return total.item() / len(loader)

    @torch.inference_mode()
    def accuracy(self, loader: torch_dts.DataLoader) -> float:
        """Share of the samples that are classified correctly."""
        self.model.eval()
        correct = count = 0
        for images, labels, is_counted in loader:
            predicted = self.logits(images).argmax(dim=1).cpu()
            correct += int(((predicted == labels) & is_counted).sum())
            count += int(is_counted.sum())
        return correct / count


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    add = parser.add_argument
    add("train", help="a .dts file, or a folder of class folders")
    add("val", help="the validation set, likewise")
    add("--arch", default="resnet50", help="a classification model of torchvision")
    add("--epochs", type=int, default=18)
    add("--batch-size", type=int, default=256)
    add("--sizes", type=int, nargs=2, default=(128, 224), metavar=("FIRST", "LAST"), help="side of the crops")
    add("--lr", type=float, default=0.5)
    add("--seed", type=int, default=0)
    add("--num-workers", type=int, help="threads (default: as many as there are CPUs for this process)")
    add("--compile", action=argparse.BooleanOptionalAction, default=torch.cuda.is_available())
    add("--save", metavar="FILE", help="the model's weights, after the last epoch")
    arguments = parser.parse_args(given)

    torch.manual_seed(arguments.seed)
    smallest, largest = arguments.sizes
    shared = {
        "num_workers": arguments.num_workers,
        "memory_format": LAST,  # as the model is: no copy on the way
        "pin_memory": torch.cuda.is_available(),
    }
    train_loader = torch_dts.DataLoader(
        arguments.train,
        arguments.batch_size,
        shuffle=True,
        seed=arguments.seed,
        transform=train_transform(smallest),
        drop_last=True,
        **shared,
    )
    val_loader = torch_dts.DataLoader(
        arguments.val,
        arguments.batch_size,
        transform=val_transform(largest),
        last_batch="fill",  # one shape here too; the mask says which rows count
        return_mask=True,
        **shared,
    )
    trainer = Trainer(
        arguments, len(train_loader.dataset.classes), num_steps=arguments.epochs * len(train_loader)
    )

    for epoch in range(arguments.epochs):
        size = crop_size(epoch, arguments.epochs, smallest, largest)
        train_loader.set_transform(train_transform(size))  # from the next iter() on
        start = time.perf_counter()
        loss = trainer.train(train_loader)
        rate = len(train_loader) * arguments.batch_size / (time.perf_counter() - start)
        accuracy = trainer.accuracy(val_loader)
        print(
            f"epoch {epoch} size {size} loss {loss:.4f} accuracy {100 * accuracy:.2f} %, {rate:.0f} images/s"
        )
    if arguments.save:
        torch.save(trainer.model.state_dict(), arguments.save)


if __name__ == "__main__":
    main()
