# SPDX-License-Identifier: Apache-2.0
"""resume=True: what a journal must fit, and what becomes of it when a conversion stops."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from torch_dts._paths import display
from torch_dts.convert._journal import JOURNAL_SUFFIX, SAMPLES_SUFFIX, Journal, discard_journal
from torch_dts.convert._samples import Samples
from torch_dts.convert._spool import Spool


@contextlib.contextmanager
def open_journal(
    target: str, samples: Samples, parameters: Mapping[str, Any], resume: bool
) -> Iterator[Journal | None]:
    """The journal of a conversion, or None where none is wanted; removed when all went well.

    What stops the conversion leaves journal and partial file, once anything is finished, and
    a KeyboardInterrupt then says how to go on.

    Args:
        parameters: What the result depends on beside the samples, as JSON values.
        resume: False: what an interrupted conversion left is deleted.
    """
    if not resume:
        discard_journal(target)
        yield None
        return
    key = {**parameters, **source_key(samples)}
    _refuse_foreign(target)
    journal = Journal(target, key)
    try:
        yield journal
    except BaseException as error:
        if not journal.is_begun:
            journal.remove()
            raise
        journal.close()
        how = f"finished work is kept beside {display(target)}; the same call with resume=True goes on"
        if type(error) is KeyboardInterrupt:
            raise KeyboardInterrupt(how) from None
        if hasattr(error, "add_note"):
            error.add_note(how)
        raise
    journal.remove()


def refuse_journal(target: str, volume: int) -> None:
    """Raises ValueError where a volume, to be written with others, has finished work of its own."""
    if os.path.lexists(target + JOURNAL_SUFFIX):
        raise ValueError(
            f"{display(target + JOURNAL_SUFFIX)} has finished work of this volume alone: go on with "
            f"volume={volume}, or delete it"
        )


def open_spool(target: str, journal: Journal | None) -> Spool:
    """Where encoded samples are put aside: a named file where a journal knows them."""
    directory = os.path.dirname(target) or os.curdir
    if journal is None:
        return Spool(directory)
    return Spool(directory, journal.samples_path, journal.spool_bytes)


def source_key(samples: Samples) -> dict[str, Any]:
    """What tells two states of a source apart."""
    return {
        "kind of source": samples.kind,
        "number of samples": len(samples),
        "the list of samples (paths, labels, classes)": _listing_digest(samples),
        "the samples themselves (sizes, modification times)": _content_digest(samples),
    }


def _listing_digest(samples: Samples) -> str:
    digest = hashlib.sha256()
    for names in (samples.names, samples.classes):
        digest.update(os.fsencode("\0".join(names)) + b"\0\0")
    digest.update(samples.labels.numpy().tobytes())
    return digest.hexdigest()


def _content_digest(samples: Samples) -> str:
    digest = hashlib.sha256()
    if samples.archives is not None:
        for column in (samples.archives.identities, samples.archives.place):
            digest.update(column.contiguous().numpy().tobytes())
        return digest.hexdigest()
    for start in range(0, len(samples), 4096):
        rows = [_state(samples, i) for i in range(start, min(start + 4096, len(samples)))]
        digest.update(torch.tensor(rows, dtype=torch.int64).numpy().tobytes())
    for i in range(len(samples)):
        if not samples.files[i] and i not in samples.failed and not _is_stored(samples, i):
            digest.update(hashlib.sha256(samples.read(i)).digest())
    for file in [] if samples.stored is None else samples.stored.files:
        digest.update(file.fingerprint.encode())
    return digest.hexdigest()


def _state(samples: Samples, i: int) -> tuple[int, int]:
    """Size and mtime of a file; place of a sample in a .dts file; size of any other."""
    path = samples.files[i]
    if path:
        try:
            found = os.stat(path)
        except OSError:
            return -1, -1
        return (found.st_size if stat.S_ISREG(found.st_mode) else -1), found.st_mtime_ns
    if samples.stored is not None and _is_stored(samples, i):
        number, item = samples.stored.place[i].tolist()
        return number, item
    return samples.size(i), -1


def _is_stored(samples: Samples, i: int) -> bool:
    return samples.stored is not None and samples.stored.holds(i)


def _refuse_foreign(target: str) -> None:
    """Raises FileExistsError for a file of samples without a journal: it is none of ours."""
    path = target + SAMPLES_SUFFIX
    if os.path.lexists(path) and not os.path.lexists(target + JOURNAL_SUFFIX):
        raise FileExistsError(
            errno.EEXIST, "exists, but there is no journal of a conversion to go with it; remove it", path
        )
