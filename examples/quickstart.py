# SPDX-License-Identifier: Apache-2.0
"""From a folder of JPEGs to batches: convert once, then read in two ways.

    python examples/quickstart.py [FOLDER]

FOLDER holds one folder of images per class. Without it a tiny one is made.
"""

import pathlib
import sys
import tempfile

import numpy as np
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import torch_dts

TRANSFORM = v2.Compose(
    [v2.RandomResizedCrop(64), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
)


def make_folder(root: pathlib.Path) -> pathlib.Path:
    """Three classes of ten small pictures each."""
    generator = np.random.default_rng(0)
    for name in ("cat", "dog", "fish"):
        (root / name).mkdir(parents=True)
        for i in range(10):
            coarse = generator.integers(0, 256, (6, 8, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((96, 72)).save(root / name / f"{i}.jpg")
    return root


def main(folder: pathlib.Path, path: pathlib.Path) -> None:
    # 1. Pack the folder into one file, once. The bytes of every image are kept.
    report = torch_dts.convert(folder, path)
    print(report)

    # 2. Map-style: takes the place of ImageFolder, with any sampler.
    dataset = torch_dts.DTSDataset(path, TRANSFORM)
    original = ImageFolder(str(folder))
    first, label = torch_dts.DTSDataset(path)[0]
    same = first.tobytes() == original[0][0].tobytes() and label == original[0][1]
    print(f"{len(dataset)} samples of {len(dataset.classes)} classes; pixels as in the folder: {same}")
    loader = torch.utils.data.DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2)
    images, labels = next(iter(loader))
    print(f"a batch of DTSDataset: {tuple(images.shape)}, labels {tuple(labels.shape)}")

    # 3. Iterable: reads whole blocks, shuffles them and the samples within groups of them.
    #    With the loader's batch size given, num_workers does not change the batches.
    stream = torch_dts.DTSIterableDataset(path, TRANSFORM, seed=0, batch_size=8)
    loader = torch.utils.data.DataLoader(stream, batch_size=8, num_workers=2)
    for epoch in range(2):
        stream.set_epoch(epoch)  # without it, each epoch has a new order all the same
        labels = torch.cat([labels for _, labels in loader])
        print(f"epoch {epoch}: {len(labels)} samples in {len(loader)} batches, first {labels[:8].tolist()}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        given = (
            pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else make_folder(pathlib.Path(scratch) / "images")
        )
        main(given, pathlib.Path(scratch) / "images.dts")
