#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel that may be killed at any moment: it goes on after its last checkpoint.

    export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
    torchrun --nproc-per-node 4 --max-restarts 3 examples/train_ddp.py train.dts --val val.dts

Every rank gets an equal part of each epoch, so no rank waits for batches that never come. The
checkpoint holds the loader's state beside the model's: after a restart no sample of the epoch
comes twice, none is left out, and no image is decoded to get there. With another number of
ranks the rest of the epoch is shared out anew. (The variable gives ranks that torchrun starts again a
store of their own; in the old one they may find the addresses of those that died.)
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import torch
import torch.distributed as dist
from evaluate_ddp import evaluate, make_model, start_process_group
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import torch_dts


def train_transform(size: int) -> v2.Compose:
    """Crops, flips and floats; the loader's threads run it, in C++."""
    return v2.Compose(
        [
            v2.RandomResizedCrop(size),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


class Checkpoint:
    """A file with everything that training goes on from. Rank 0 writes it, all ranks read it."""

    def __init__(
        self, path: str, model: nn.Module, optimizer: torch.optim.Optimizer, loader: torch_dts.DataLoader
    ) -> None:
        self.path, self.parts = path, {"model": model, "optimizer": optimizer, "loader": loader}

    def save(self, epoch: int, step: int) -> None:
        """Replaces the file at once: who is killed meanwhile leaves the former one."""
        if dist.get_rank() == 0:
            states = {name: part.state_dict() for name, part in self.parts.items()}
            torch.save({"epoch": epoch, "step": step, **states}, f"{self.path}.part")
            os.replace(f"{self.path}.part", self.path)

    def load(self, device: torch.device) -> tuple[int, int]:
        """The epoch and the step to go on with; (0, 0) where there is no file yet."""
        if not os.path.exists(self.path):
            return 0, 0
        found = torch.load(self.path, map_location=device, weights_only=True)
        for name, part in self.parts.items():
            part.load_state_dict(found[name])
        return found["epoch"], found["step"]


def mean_over_ranks(loss: Tensor) -> float:
    """For the log."""
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    add = parser.add_argument
    add("train", help="a .dts file (torch-dts convert makes it), or a folder of class folders")
    add("--val", help="the validation set, likewise")
    add("--checkpoint", default="checkpoint.pt", metavar="FILE", help="gone on from, if it is there")
    add("--save-every", type=int, default=500, metavar="STEPS")
    add("--epochs", type=int, default=10)
    add("--batch-size", type=int, default=64, help="of each rank")
    add("--size", type=int, default=224, help="side of the images in pixels")
    add("--lr", type=float, default=0.1)
    add("--seed", type=int, default=0)
    add("--num-workers", type=int, help="threads of each rank (default: as many as its share of CPUs)")
    arguments = parser.parse_args(given)

    device = start_process_group()
    loader = torch_dts.DataLoader(
        arguments.train,
        arguments.batch_size,
        shuffle=True,
        transform=train_transform(arguments.size),
        seed=arguments.seed,
        distributed=True,  # this rank's part only; all ranks make the same number of batches
        num_workers=arguments.num_workers,
        pin_memory=device.type == "cuda",
    )
    torch.manual_seed(arguments.seed)  # the same weights on each rank
    model = make_model(num_classes=len(loader.dataset.classes)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=5e-5)
    checkpoint = Checkpoint(arguments.checkpoint, model, optimizer, loader)
    first_epoch, step = checkpoint.load(device)
    ddp_model = DistributedDataParallel(model)
    loss_of = nn.CrossEntropyLoss()

    for epoch in range(first_epoch, arguments.epochs):
        model.train()
        for images, labels in loader:  # after a restart: the rest of the epoch
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            loss = loss_of(ddp_model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            shown = mean_over_ranks(loss)
            if dist.get_rank() == 0:
                print(f"epoch {epoch} step {step} loss {shown:.9g}", flush=True)
            if step % arguments.save_every == 0:
                checkpoint.save(epoch, step)
        checkpoint.save(epoch + 1, step)
        if arguments.val:
            correct, count = evaluate(model, arguments.val, arguments.size, arguments.batch_size, device)
            if dist.get_rank() == 0:
                print(f"epoch {epoch} accuracy {correct}/{count} = {100 * correct / count:.2f} %", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
