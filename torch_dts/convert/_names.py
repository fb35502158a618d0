# SPDX-License-Identifier: Apache-2.0
"""The relative path each sample gets inside the .dts file (section PATH)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from torch_dts._paths import display

MAX_PATH_BYTES = 4096
_CHECK_CHUNK = 65_536
# A part that is empty, "." or "..", between two ends of parts.
_BAD_PART = re.compile(r"[\0/]\.{0,2}(?=[\0/])")
_ODD_ENDS = ("\0\0", "\0/", "/\0", "//", "./", ".\0")


def name_samples(
    files: Sequence[str],
    extensions: Sequence[str],
    labels: Sequence[int],
    classes: Sequence[str],
    root: str | None,
    given: Sequence[str] = (),
    prefixes: Sequence[str] = (),
) -> list[str]:
    """Relative paths with '/' between their parts, one a sample.

    Files keep their path below `root`, or below the folder they all lie in. Files that
    share no folder, and samples without a file, are called <class>/<name>.

    Args:
        files: [n] path of each sample's file, "" for one without.
        extensions: [n] ending for samples without a file, such as ".png"; [] when all have one.
        labels: [n] class numbers; an out-of-range one (an unreadable sample) has no class folder.
        classes: Names by number.
        root: Folder that the files are known to come from.
        given: [n] paths of samples that have one already, "" for the others; () when none has.
        prefixes: [n] folder to put in front of a given path where two samples share one.

    Raises:
        ValueError: Two samples of one path, or a path that the file can't hold.
    """
    have_files = [path for path in files if path]
    below = _below(have_files, root, classes)
    if below is not None and len(have_files) == len(files):
        names = below
    else:
        folders = [_class_folder(number, name) for number, name in enumerate(classes)]
        taken = iter(below if below is not None else _by_class(files, labels, folders))
        names = [
            (given[i] if given else "")
            or (next(taken) if path else _numbered(i, extensions[i], labels[i], folders))
            for i, path in enumerate(files)
        ]
        if prefixes and len(set(names)) != len(names):
            names = [f"{prefixes[i]}/{name}" if given[i] else name for i, name in enumerate(names)]
    if os.sep != "/":
        names = [name.replace(os.sep, "/") for name in names]
    check_paths(names)
    return names


def check_paths(names: Sequence[str]) -> None:
    """Raises ValueError for paths that can't be stored: see docs/format.md, PATH."""
    for start in range(0, len(names), _CHECK_CHUNK):
        chunk = names[start : start + _CHECK_CHUNK]
        joined = "\0" + "\0".join(chunk) + "\0"
        is_long = max(map(len, chunk)) * 4 > MAX_PATH_BYTES
        # Substrings are found far faster than the pattern: it is for the suspicious only.
        has_odd_end = any(ends in joined for ends in _ODD_ENDS) and _BAD_PART.search(joined)
        if is_long or has_odd_end or joined.count("\0") != len(chunk) + 1:
            for i, name in enumerate(chunk, start):
                _check_path(i, name)
    if len(set(names)) != len(names):
        first: dict[str, int] = {}
        for i, name in enumerate(names):
            if name in first:
                raise ValueError(
                    f"samples {first[name]} and {i} of the source have the same path {display(name)!r}; "
                    f"each sample must come once and have a path of its own"
                )
            first[name] = i


def _check_path(i: int, name: str) -> None:
    problem = ""
    if not name or name.startswith("/") or "\0" in name:
        problem = "must be relative, not empty and without NUL"
    elif any(part in ("", ".", "..") for part in name.split("/")):
        problem = "must not have an empty, '.' or '..' part"
    elif len(os.fsencode(name)) > MAX_PATH_BYTES:
        problem = f"must have at most {MAX_PATH_BYTES} bytes, not {len(os.fsencode(name))}"
    if problem:
        shown = display(name[:200])
        raise ValueError(f"sample {i} of the source: its path in the file, {shown!r}, {problem}")


def _below(files: Sequence[str], root: str | None, classes: Sequence[str]) -> list[str] | None:
    """Paths below the folder that holds all files; None when there is no such folder."""
    if not files:
        return None
    if root is not None:
        prefix = os.path.join(root, "")
        # What the first and the last in sorted order begin with, all begin with.
        if min(files).startswith(prefix) and max(files).startswith(prefix):
            cut = len(prefix)
            names = [path[cut:] for path in files]
            joined = "\0".join(names)
            if not any(odd in joined for odd in ("..", "//", "./")):
                return names
    full = [os.path.abspath(path) for path in files]
    try:
        common = os.path.commonpath({os.path.dirname(path) for path in full})
    except ValueError:  # several drives
        return None
    # Samples of one class only: keep the class folder in the path.
    if os.path.basename(common) in classes:
        common = os.path.dirname(common)
    elif os.path.dirname(common) == common:
        return None
    cut = len(os.path.join(common, ""))
    return [path[cut:] for path in full]


def _by_class(files: Sequence[str], labels: Sequence[int], folders: Sequence[str]) -> list[str]:
    """<class>/<file name>, with the sample's number where that is not unique."""
    at = [i for i, path in enumerate(files) if path]
    names = [_in_folder(labels[i], folders, os.path.basename(files[i])) for i in at]
    if len(set(names)) == len(names):
        return names
    return [_numbered(i, os.path.splitext(files[i])[1], labels[i], folders) for i in at]


def _numbered(i: int, extension: str, label: int, folders: Sequence[str]) -> str:
    return _in_folder(label, folders, f"{i:08d}{extension}")


def _in_folder(label: int, folders: Sequence[str], name: str) -> str:
    return f"{folders[label]}/{name}" if 0 <= label < len(folders) else name


def _class_folder(number: int, name: str) -> str:
    """A class name as one part of a path."""
    part = name.replace("/", "_").replace("\\", "_")
    if part in ("", ".", "..") or len(os.fsencode(part)) > 255:
        return f"class_{number}"
    return part
