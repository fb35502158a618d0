# SPDX-License-Identifier: Apache-2.0
"""Plain readers of LMDB and of TFRecord, as people write them: torch's DataLoader, Pillow decodes."""

from __future__ import annotations

import io
import pathlib
import struct
from typing import Any

import torch
from PIL import Image

from contestants.work import Epoch, Work, make_transform

LABEL = struct.Struct("<q")
RECORDS, INDEX = "data.tfrecord", "data.index"


def make(key: str, work: Work) -> None:
    (make_lmdb if key == "lmdb" else make_records)(work)


def make_lmdb(work: Work) -> None:
    import lmdb

    samples = work.samples()
    size = sum(pathlib.Path(path).stat().st_size for path, _ in samples)
    with (
        lmdb.open(work.file("data.lmdb"), subdir=False, map_size=2 * size + (64 << 20)) as database,
        database.begin(write=True) as transaction,
    ):
        for i, (path, label) in enumerate(samples):
            transaction.put(b"%08d" % i, LABEL.pack(label) + pathlib.Path(path).read_bytes())


def make_records(work: Work) -> None:
    """In random order, as a stream with a buffer for shuffling wants it."""
    from tfrecord.tools.tfrecord2idx import create_index
    from tfrecord.writer import TFRecordWriter

    samples = work.samples()
    writer = TFRecordWriter(work.file(RECORDS))
    for i in torch.randperm(len(samples), generator=torch.Generator().manual_seed(0)).tolist():
        path, label = samples[i]
        writer.write({"image": (pathlib.Path(path).read_bytes(), "byte"), "label": (label, "int")})
    writer.close()
    create_index(work.file(RECORDS), work.file(INDEX))


def decode(data: Any, transform: Any) -> Any:
    with Image.open(io.BytesIO(data)) as image:
        return transform(image.convert("RGB"))


class LmdbPhotos(torch.utils.data.Dataset[tuple[Any, int]]):
    """Opened by the process that reads: a database must not cross a fork."""

    def __init__(self, work: Work) -> None:
        self.path = work.file("data.lmdb")
        self.transform = make_transform(work.image_size, work.is_float())
        self.database: Any = None
        with self._open() as database:
            self.length = int(database.stat()["entries"])

    def _open(self) -> Any:
        import lmdb

        return lmdb.open(self.path, subdir=False, readonly=True, lock=False, readahead=False, meminit=False)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if self.database is None:
            self.database = self._open()
        with self.database.begin(buffers=True) as transaction:
            data = transaction.get(b"%08d" % index)
            label = LABEL.unpack_from(data)[0]
            return decode(data[LABEL.size :], self.transform), label


class RecordTransform:
    def __init__(self, work: Work) -> None:
        self.of_image = make_transform(work.image_size, work.is_float())

    def __call__(self, sample: dict[str, Any]) -> tuple[Any, int]:
        return decode(sample["image"], self.of_image), int(sample["label"][0])


def start(key: str, work: Work) -> Epoch:
    if key == "lmdb":
        loader = torch.utils.data.DataLoader(LmdbPhotos(work), shuffle=True, **work.torch_arguments())
    else:
        from tfrecord.torch.dataset import TFRecordDataset

        records = TFRecordDataset(
            work.file(RECORDS),
            work.file(INDEX),
            {"image": "byte", "label": "int"},
            shuffle_queue_size=1024,
            transform=RecordTransform(work),
        )
        loader = torch.utils.data.DataLoader(records, **work.torch_arguments())
    return loader.__iter__
