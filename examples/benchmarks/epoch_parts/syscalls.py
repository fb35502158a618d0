# SPDX-License-Identifier: Apache-2.0
"""System calls and bytes read per 1000 samples, by strace and /proc.

strace counts whole processes, and importing torch alone makes thousands of calls. So each way runs twice
under strace, with one epoch and with more; the difference is what the further epochs made.
"""

from __future__ import annotations

import collections
import pathlib
import shutil
import tempfile

from results import Table

from epoch_parts import child
from epoch_parts.sets import RAW, ImageSet, name_of
from epoch_parts.ways import TORCH, Settings

FURTHER_EPOCHS = 2
WAYS = (
    ("torch DataLoader(ImageFolder)", TORCH, "partial"),
    ("ours, ImageFolder", RAW, "partial"),
    ("ours, LV0 PARTIAL", name_of(0), "partial"),
    ("ours, LV0 FULLY", name_of(0), "fully"),
)
NUM_NAMED = 5  # the most frequent calls, by name


def parsed(summary: str) -> collections.Counter[str]:
    """Calls by name, from the table that `strace -c` writes."""
    found: collections.Counter[str] = collections.Counter()
    for line in summary.splitlines():
        fields = line.split()
        # % time, seconds, usecs/call, calls, (errors,) syscall
        if len(fields) in (5, 6) and fields[3].isdigit() and fields[-1] != "total":
            found[fields[-1]] += int(fields[3])
    return found


def _calls(
    images: ImageSet, form: str, mode: str, settings: Settings, num_epochs: int
) -> collections.Counter[str]:
    with tempfile.TemporaryDirectory() as folder:
        summary = pathlib.Path(folder) / "summary"
        before = ["strace", "-c", "-f", "-o", str(summary)]
        child.started(images, form, mode, settings, num_epochs, before=before)
        return parsed(summary.read_text(encoding="utf-8"))


def table(images: ImageSet, settings: Settings) -> Table:
    """Steady epochs: the first is not among them."""
    has_strace = shutil.which("strace") is not None
    made = Table(
        f"per 1000 samples, {images.num_images()} images, {settings.num_workers} workers,"
        f" batches of {settings.batch_size}",
        ["loader", "system calls", "read calls", "MB read", "payload MB", "most frequent"],
    )
    thousands = images.num_images() / 1000
    for name, form, mode in WAYS:
        steady = child.started(images, form, mode, settings, 2, counts_reads=True)[-1]
        total, frequent = None, ""
        if has_strace:
            one = _calls(images, form, mode, settings, 1)
            more = _calls(images, form, mode, settings, 1 + FURTHER_EPOCHS)
            more.subtract(one)
            each = {call: count / FURTHER_EPOCHS / thousands for call, count in more.items()}
            total = sum(each.values())
            most = sorted(each.items(), key=lambda item: -item[1])[:NUM_NAMED]
            frequent = ", ".join(f"{call} {count:,.0f}" for call, count in most if count >= 1)
        payload = images.payload_bytes(form if form.startswith("LV") else RAW)
        made.add(
            name,
            total,
            steady["read_calls"] / thousands,
            steady["read_bytes"] / thousands / 1e6,
            payload / thousands / 1e6,
            frequent,
        )
    if not has_strace:
        made.notes.append("System calls were not counted: strace is not installed.")
    made.notes.append(
        f"An epoch after the first: calls are the difference between {1 + FURTHER_EPOCHS} epochs and one"
        " under `strace -c -f`; reads are rchar and syscr of /proc, of all processes, without strace."
    )
    return made
