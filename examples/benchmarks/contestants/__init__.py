# SPDX-License-Identifier: Apache-2.0
"""The loaders that peers.py holds beside each other: who takes part, and what each of them needs.

A contestant's module has `start(key, work)`, which gives a function that begins an epoch and returns an
iterator over its batches (images, labels). Where it packs a set of its own, it has `make(key, work)`, which
fills the empty folder `work.place`.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import NamedTuple


class Entry(NamedTuple):
    """Who takes part; `needs` are modules outside of torch and torchvision, `form` how it is used."""

    key: str
    title: str
    module: str
    form: str
    needs: tuple[str, ...] = ()
    install: str = ""
    packs: bool = True  # a set of its own
    runs_ahead: bool = False  # works on the next epoch as soon as one is over

    def load(self) -> ModuleType:
        return importlib.import_module(f"contestants.{self.module}")

    def missing(self) -> str | None:
        """What has to be installed first; None where nothing is missing at first sight."""
        for name in self.needs:
            try:
                found = importlib.util.find_spec(name) is not None
            except ImportError:
                found = False
            if not found:
                return f"no module {name!r}; {self.install}"
        return None


PIL_FORM = "Pillow decodes; v1 transforms on its images"
V2_PIL_FORM = "Pillow decodes; v2 transforms on uint8 tensors"
V2_FORM = "torchvision.io decodes; v2 transforms on uint8 tensors, as torchvision's docs advise"

ENTRIES = (
    Entry("torch", "DataLoader(ImageFolder), v1", "torch_loaders", PIL_FORM, packs=False),
    Entry(
        "torch_v2",
        "DataLoader(ImageFolder), v2",
        "torch_loaders",
        V2_PIL_FORM,
        packs=False,
    ),
    Entry("torch_decode", "the same with decode_image", "torch_loaders", V2_FORM, packs=False),
    Entry("folder", "ours, ImageFolder", "ours", "the plain folder, nothing converted", packs=False),
    Entry("level0", "ours, level 0", "ours", "the source's bytes"),
    Entry("level0_restart", "ours, level 0, markers", "ours", "the same pixels, with restart markers"),
    Entry("level1", "ours, level 1", "ours", "smaller images, see convert"),
    Entry("level2", "ours, level 2", "ours", "smaller images, see convert"),
    Entry("level3", "ours, level 3", "ours", "smaller images, see convert"),
    Entry("raw", "ours, raw", "ours", "pixels, made smaller where larger than --raw-size"),
    Entry(
        "dali",
        "DALI, CPU",
        "dali_cpu",
        "readers.file, image_random_crop, resize, crop_mirror_normalize",
        ("nvidia.dali",),
        "pip install nvidia-dali-cuda130",
        packs=False,
        runs_ahead=True,
    ),
    Entry(
        "ffcv_jpeg", "FFCV, JPEG", "ffcv_files", "write_mode jpg", ("ffcv",), "see github.com/libffcv/ffcv"
    ),
    Entry(
        "ffcv_raw",
        "FFCV, raw",
        "ffcv_files",
        "write_mode raw, max_resolution --raw-size",
        ("ffcv",),
        "see github.com/libffcv/ffcv",
    ),
    Entry(
        "spdl",
        "SPDL",
        "spdl_threads",
        "a Pipeline of threads; FFmpeg decodes, crops and resizes; normalised by the batch",
        ("spdl.io", "spdl.pipeline"),
        "pip install spdl, and FFmpeg's libraries (4 to 9)",
        packs=False,
    ),
    Entry(
        "webdataset",
        "WebDataset",
        "web_dataset",
        f"tar shards, shuffle(1000), decode('pil'), batched by the workers; {PIL_FORM}",
        ("webdataset",),
        "pip install webdataset",
    ),
    Entry(
        "litdata",
        "LitData",
        "lit_data",
        f"optimize(Jpeg, 64 MB chunks), StreamingDataLoader; {V2_FORM}",
        ("litdata",),
        "pip install litdata",
    ),
    Entry(
        "mosaic",
        "MosaicML Streaming",
        "mosaic",
        f"MDS, StreamingDataset(shuffle=True) in a DataLoader; {PIL_FORM}",
        ("streaming",),
        "pip install mosaicml-streaming",
    ),
    Entry(
        "lmdb",
        "LMDB",
        "plain_readers",
        f"a map-style Dataset over lmdb, readahead off; {PIL_FORM}",
        ("lmdb",),
        "pip install lmdb",
    ),
    Entry(
        "tfrecord",
        "TFRecord",
        "plain_readers",
        f"tfrecord's TFRecordDataset with an index, shuffle_queue_size=1024; {PIL_FORM}",
        ("tfrecord",),
        "pip install tfrecord",
    ),
)


def entry(key: str) -> Entry:
    """The one of that key."""
    return next(one for one in ENTRIES if one.key == key)


def chosen(only: str | None) -> list[Entry]:
    """The entries named by keys or modules with commas between them; all for None.

    Raises:
        ValueError: A name is neither.
    """
    if only is None:
        return list(ENTRIES)
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = {name for entry in ENTRIES for name in (entry.key, entry.module)}
    for name in names:
        if name not in known:
            raise ValueError(f"no contestant {name!r}; there are {', '.join(e.key for e in ENTRIES)}")
    return [entry for entry in ENTRIES if entry.key in names or entry.module in names]
