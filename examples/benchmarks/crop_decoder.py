# SPDX-License-Identifier: Apache-2.0
"""CPU time of decoding the boxes of RandomResizedCrop: our own decoder beside libjpeg-turbo.

    python crop_decoder.py folder [--images 300] [--rounds 5] [--remake]

One thread. Each image is cut as RandomResizedCrop() cuts it, its pixels decoded and thinned out to 8 x 8
(nearest), which costs next to nothing. libjpeg-turbo skips rows and columns, and gets only the
restart segments under the crop where there are restart markers. `--remake` also encodes the images anew, in
several samplings and qualities, with restart markers and without. Whole pictures are decoded by Pillow,
too, which brings a libjpeg-turbo of its own.
"""

from __future__ import annotations

import argparse
import io
import pathlib
import time
from collections.abc import Callable
from typing import Literal

import torch
from measuring import machine
from PIL import Image, features
from torchvision.transforms import InterpolationMode, v2

from torch_dts import _native
from torch_dts.transforms import compile

Decoder = Literal["auto", "libjpeg"]
# Pillow's numbers of samplings. It writes no 4:4:0: that is 4:2:2 under another name (`as_440`).
SAMPLINGS = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2, "4:4:0": 1}
CROP = v2.Compose([v2.RandomResizedCrop(8, interpolation=InterpolationMode.NEAREST), v2.ToImage()])
WHOLE = v2.Compose([v2.Resize((8, 8), interpolation=InterpolationMode.NEAREST), v2.ToImage()])


def files_of(folder: pathlib.Path, count: int) -> list[bytes]:
    """The first JPEGs of a folder, by their sorted paths."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    return [path.read_bytes() for path in paths[:count]]


def remade(files: list[bytes], sampling: str, quality: int, restart_units: int) -> list[bytes]:
    """The images encoded anew; `restart_units`: MCUs between two restart markers, 0 for none."""
    made = []
    for data in files:
        out = io.BytesIO()
        with Image.open(io.BytesIO(data)) as image:
            image.convert("RGB").save(
                out,
                "JPEG",
                quality=quality,
                subsampling=SAMPLINGS[sampling],
                optimize=True,
                restart_marker_blocks=restart_units,
            )
        made.append(as_440(out.getvalue()) if sampling == "4:4:0" else out.getvalue())
    return made


def as_440(data: bytes) -> bytes:
    """A 4:2:2 JPEG whose header says 4:4:0: the two blocks of luma in a unit, which lay beside each other,
    lie above each other. Half as wide, twice as high, no picture any more, but the same codes."""
    frame = data.index(b"\xff\xc0\x00\x11\x08") + 5  # SOF0 of three components
    height, width = (int.from_bytes(data[at : at + 2], "big") for at in (frame, frame + 2))
    # As many units as there were.
    size = (-(-height // 8) * 16).to_bytes(2, "big") + (-(-width // 16) * 8).to_bytes(2, "big")
    luma = frame + 6  # behind the number of components and the first one's name
    return data[:frame] + size + data[frame + 4 : luma] + b"\x12" + data[luma + 1 :]


def best_milliseconds(work: Callable[[int], object], num_images: int, rounds: int) -> float:
    """CPU milliseconds per image, the best of some rounds."""
    best = float("inf")
    for i in range(rounds):
        start = time.process_time()
        work(i)
        best = min(best, time.process_time() - start)
    return 1e3 * best / num_images


def milliseconds(transform: v2.Compose, decoder: Decoder, files: list[bytes], rounds: int) -> float:
    run = compile(transform, decoder=decoder)
    return best_milliseconds(lambda seed: run(files, seed=seed), len(files), rounds)


def decode_by_pillow(files: list[bytes]) -> None:
    for data in files:
        with Image.open(io.BytesIO(data)) as image:
            image.load()


def report(name: str, files: list[bytes], rounds: int) -> None:
    own, libjpeg = (milliseconds(CROP, decoder, files, rounds) for decoder in ("auto", "libjpeg"))
    whole, whole_libjpeg = (milliseconds(WHOLE, decoder, files, rounds) for decoder in ("auto", "libjpeg"))
    pillow = best_milliseconds(lambda _: decode_by_pillow(files), len(files), rounds)
    kilobytes = sum(map(len, files)) / len(files) / 1000
    print(
        f"{name:32} {kilobytes:5.0f} {own:8.3f} {libjpeg:8.3f} {libjpeg / own:6.2f}"
        f" {whole:10.3f} {whole_libjpeg:8.3f} {pillow:8.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--remake", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    files = files_of(args.folder, args.images)
    print(f"{machine()}, {_native.jpeg_library()}; {len(files)} images, best of {args.rounds} rounds")
    print(f"Pillow's libjpeg-turbo: {features.version('libjpeg_turbo')}; CPU ms per image")
    print(f"{'':38} {'crop':^24} {'whole picture':^28}")
    print(
        f"{'':32} {'KB':>5} {'ours':>8} {'libjpeg':>8} {'ratio':>6} {'ours':>10} {'libjpeg':>8} {'Pillow':>8}"
    )
    report("as they are", files, args.rounds)
    if not args.remake:
        return
    for sampling in SAMPLINGS:
        for quality in (75, 90, 98):
            for units in (0, 4):
                name = f"{sampling}, quality {quality}" + (f", markers every {units}" if units else "")
                report(name, remade(files, sampling, quality, units), args.rounds)


if __name__ == "__main__":
    main()
