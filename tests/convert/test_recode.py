# SPDX-License-Identifier: Apache-2.0
"""The recode stage, with a recoder whose results are easy to tell."""

from __future__ import annotations

import contextlib
import errno
import pathlib
import time
from typing import Any

import pytest
import torch

from torch_dts.convert import BadSamplesError, _recode
from torch_dts.convert._journal import Journal
from torch_dts.convert._kept import Kept
from torch_dts.convert._recode import Recoded, StoredSample, recode_samples
from torch_dts.convert._samples import Samples
from torch_dts.convert._spool import Spool


class Reversing:
    """Stores bytes backwards; keeps those with K, refuses those with B at the front."""

    name = "reversing"
    keeps_area = False
    takes_raw = True
    has_raw = False

    def __init__(self) -> None:
        self.keep_reasons = {1: "begins with K"}
        self.seen: list[bytes] = []

    @property
    def parameters(self) -> dict[str, Any]:
        return {"encoder": "reverse 1"}

    def recode(self, arena: torch.Tensor, offsets: torch.Tensor, sizes: torch.Tensor) -> list[StoredSample]:
        results = []
        for offset, size in zip(offsets.tolist(), sizes.tolist(), strict=True):
            data = arena[offset : offset + size].numpy().tobytes()
            self.seen.append(data)
            time.sleep(0.002 * (len(self.seen) % 3))  # threads overtake each other
            if data.startswith(b"B"):
                results.append(StoredSample(b"", "begins with B"))
            elif data.startswith(b"K"):
                results.append(StoredSample(data, kept_because=1))
            else:
                results.append(StoredSample(data[::-1], dropped_segments=2, dropped_bytes=10, area=len(data)))
        return results

    def close(self) -> None:
        pass


def make_kept(folder: pathlib.Path, contents: list[bytes]) -> Kept:
    for i, data in enumerate(contents):
        (folder / f"{i}.jpg").write_bytes(data)
    files = [str(folder / f"{i}.jpg") for i in range(len(contents))]
    labels = torch.zeros(len(files), dtype=torch.int64)
    samples = Samples(kind="X", files=files, labels=labels, classes=["c"], names=files)
    sizes = torch.tensor([len(data) for data in contents])
    return Kept(samples, torch.arange(len(files)), sizes, labels)


def run(
    kept: Kept,
    folder: pathlib.Path,
    *,
    recoder: Reversing | None = None,
    on_error: str = "raise",
    num_workers: int = 1,
    journal: Journal | None = None,
) -> tuple[Recoded, Spool]:
    spool = (
        Spool(str(folder))
        if journal is None
        else Spool(str(folder), journal.samples_path, journal.spool_bytes)
    )
    recoded = recode_samples(
        kept,
        recoder or Reversing(),
        spool,
        journal,
        on_error=on_error,
        num_workers=num_workers,
        progress=False,
    )
    return recoded, spool


def stored(recoded: Recoded) -> list[bytes]:
    kept = recoded.kept
    padded = kept.sizes + 7
    offsets = torch.cumsum(padded, 0) - padded
    arena = torch.zeros(int(padded.sum()), dtype=torch.uint8)
    kept.read_into(torch.arange(len(kept)), offsets, kept.sizes, arena)
    places = zip(offsets.tolist(), kept.sizes.tolist(), strict=True)
    return [arena[offset : offset + size].numpy().tobytes() for offset, size in places]


@pytest.mark.parametrize("num_workers", [1, 4])
def test_bytes_and_facts(tmp_path: pathlib.Path, num_workers: int) -> None:
    contents = [b"%03d-" % i + b"x" * (i % 13) for i in range(100)]
    contents[17] = b"K17"
    contents[70] = bytes(5 << 20)  # more than a chunk holds
    recoded, spool = run(make_kept(tmp_path, contents), tmp_path, num_workers=num_workers)
    assert stored(recoded) == [data if data.startswith(b"K") else data[::-1] for data in contents]
    facts = recoded.facts
    assert (facts.name, facts.num_recoded, facts.kept_original) == ("reversing", 99, {"begins with K": 1})
    assert (facts.dropped_segments, facts.dropped_bytes, facts.max_area) == (198, 990, 5 << 20)
    assert (facts.num_resumed, recoded.bad) == (0, [])
    spool.close()


def test_facts_of_some(tmp_path: pathlib.Path) -> None:
    kept = make_kept(tmp_path, [b"one", b"Kept", b"Bad", b"two", b"Kind", b"Kin"])
    with contextlib.closing(Spool(str(tmp_path))) as spool:
        recoded = recode_samples(
            kept, Reversing(), spool, None, on_error="keep", num_workers=1, progress=False
        )
        some = recoded.facts_of(recoded.kept.select(torch.tensor([0, 1, 2, 4])))
        assert (some.name, some.num_recoded, some.kept_original) == ("reversing", 1, {"begins with K": 2})
        none = recoded.facts_of(recoded.kept.select(torch.tensor([2, 3])))
        assert (none.num_recoded, none.kept_original) == (1, {})
        assert (some.max_area, none.max_area, recoded.facts.max_area) == (3, 3, 3)
        every = recoded.facts_of(recoded.kept)
        assert (every.num_recoded, every.kept_original) == (2, recoded.facts.kept_original)


def test_only_kept_samples_are_touched(tmp_path: pathlib.Path) -> None:
    kept = make_kept(tmp_path, [b"a1", b"b2", b"c3"]).select(torch.tensor([2, 0]))
    recoder = Reversing()
    recoded, spool = run(kept, tmp_path, recoder=recoder)
    assert recoder.seen == [b"c3", b"a1"]
    assert recoded.kept.numbers.tolist() == [2, 0]
    assert stored(recoded) == [b"3c", b"1a"]
    spool.close()


def test_bad_samples(tmp_path: pathlib.Path) -> None:
    kept = make_kept(tmp_path, [b"a1", b"Bad", b"c3", b"B"])
    with pytest.raises(
        BadSamplesError, match=r"2 of 4 samples can't be used. Nothing was written. reversing"
    ) as caught:
        run(kept, tmp_path)
    assert [(each.index, each.reason) for each in caught.value.bad] == [
        (1, "begins with B"),
        (3, "begins with B"),
    ]
    recoded, _ = run(kept, tmp_path, on_error="skip")
    assert recoded.kept.numbers.tolist() == [0, 2]
    assert stored(recoded) == [b"1a", b"3c"]
    assert [each.index for each in recoded.bad] == [1, 3]
    recoded, _ = run(kept, tmp_path, on_error="keep")
    assert stored(recoded) == [b"1a", b"Bad", b"3c", b"B"]
    assert [each.index for each in recoded.bad] == [1, 3]
    assert recoded.facts.num_recoded == 2
    recoded, _ = run(kept.select(torch.tensor([1])), tmp_path, on_error="skip")
    assert (len(recoded.kept), [each.index for each in recoded.bad]) == (0, [1])


def test_resumed(tmp_path: pathlib.Path) -> None:
    contents = [b"%03d" % i for i in range(40)]
    contents[20] = b"K20"
    contents[35] = b"B35"
    kept = make_kept(tmp_path, contents)
    whole, spool = run(kept, tmp_path, on_error="skip")
    expected = stored(whole)
    target = str(tmp_path / "x.dts")
    journal = Journal(target, {})
    first = Reversing()
    _, spool = run(kept.select(torch.arange(25)), tmp_path, recoder=first, on_error="skip", journal=journal)
    journal.close()
    spool.append(b"torn tail")  # bytes that no row stands for
    spool.close()
    assert len(first.seen) == 25
    for seen in (15, 1):  # the bad one is looked at again each time
        journal = Journal(target, {})
        again = Reversing()
        recoded, spool = run(kept, tmp_path, recoder=again, on_error="skip", journal=journal)
        journal.close()
        assert len(again.seen) == seen
        assert stored(recoded) == expected
        assert recoded.facts.kept_original == {"begins with K": 1}
        assert recoded.facts.num_recoded == 38
        assert recoded.facts.num_resumed == 40 - seen
        spool.close()


def test_a_full_disk_says_what_is_needed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the samples are put aside when it is full."""
    append = Spool.append
    monkeypatch.setattr(_recode, "_CHUNK_SAMPLES", 1)

    def full(self: Spool, data: Any) -> tuple[int, int]:
        if self.size >= 500:
            raise OSError(errno.ENOSPC, "No space left on device", "folder")
        return append(self, data)

    monkeypatch.setattr(Spool, "append", full)
    kept = make_kept(tmp_path, [bytes(100)] * 10)
    text = r"No space left on device; about 1,000 bytes are needed for it, and as many for the file itself"
    with pytest.raises(OSError, match=text) as caught:
        run(kept, tmp_path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "folder")
