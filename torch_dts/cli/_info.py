# SPDX-License-Identifier: Apache-2.0
"""``torch-dts info``: what a file is, from its header and sections."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from dataclasses import asdict
from typing import Any

from torch_dts._paths import display
from torch_dts.cli._options import FILE_HELP
from torch_dts.cli._output import emit, human_bytes, two_columns
from torch_dts.cli._plot import as_text, histograms
from torch_dts.file import DTSFile
from torch_dts.file._survey import MOST_PROBED, survey
from torch_dts.file._volumes import Volume

_CLASSES_SHOWN = 5


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "info",
        help="show what is in a .dts file",
        description="Show what is in a .dts file. Reads its header and tables, not its samples "
        "(with --plot, some of them).",
    )
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument(
        "--plot",
        action="store_true",
        help="histograms of block fill, sample sizes and dimensions; looks into at most "
        f"{MOST_PROBED} samples",
    )
    parser.add_argument(
        "--ignore-sections",
        action="store_true",
        help="read header and blocks only, for a file whose other parts are damaged",
    )


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    with DTSFile(args.file, ignore_sections=args.ignore_sections) as file:
        facts = collect(file)
        plots, num_probed = None, 0
        if args.plot and file.header.has_blocks:
            found = survey(file, None)
            plots, num_probed = histograms(found), found.num_probed
    if args.json:
        if args.plot:
            facts["plots"] = plots
            facts["num_probed"] = num_probed
        emit(json.dumps(facts, indent=2, allow_nan=False))
        return 0
    emit(as_table(facts))
    if plots is not None:
        encoding = getattr(sys.stdout, "encoding", None) or "ascii"
        emit("\n" + as_text(plots, facts["num_samples"], num_probed, encoding))
    elif args.plot:
        emit("\nnothing to plot: all samples of a pixel file have one size, and it has no blocks")
    return 0


def collect(file: DTSFile) -> dict[str, Any]:
    """All that `info` shows, as plain values; sizes in bytes, `sections` of the first volume.

    None: not known for pixel files, or `image_shape` (height, width, channels), known for them only.
    """
    header = file.header
    facts: dict[str, Any] = {
        "path": file.path,
        "file_bytes": file.file_bytes,
        "type": header.dataset_type,
        "version": ".".join(map(str, header.version)),
        "level": header.compress_level,
        "split": "train" if header.is_training else "val",
        "num_samples": len(file),
        "num_classes": header.num_classes,
        "classes": file.classes,
        "num_blocks": header.num_blocks,
        "block_size": header.block_size,
        "block_header_size": header.block_header_size,
        "volume": [header.volume_id, header.num_volumes],
        "volumes": [_volume(volume) for volume in file.volumes],
        "image_shape": None,
        "free_bytes": None,
        "free_fraction": None,
        "mean_sample_bytes": None,
        "crc_code": f"{header.crc_code:#010x}",
        "fingerprint": file.fingerprint,
        "sections": [asdict(section) for section in file.sections],
        "info": file.info,
        "header": {name: _finite(value) for name, value in asdict(header).items()},
    }
    if header.has_blocks:
        facts.update(_room(file))
    else:
        facts["image_shape"] = [header.image_height, header.image_width, header.num_channels]
    return facts


def as_table(facts: dict[str, Any]) -> str:
    """The facts as text for people."""
    rows = [
        ("file", display(facts["path"])),
        ("size", f"{human_bytes(facts['file_bytes'])} ({facts['file_bytes']} bytes)"),
        ("type", f"{facts['type']}, format version {facts['version']}"),
        ("split", facts["split"]),
        ("samples", _samples(facts)),
        ("classes", _classes(facts["classes"])),
    ]
    if facts["image_shape"] is None:
        rows.insert(3, ("export level", f"{facts['level']}{_what_bytes(facts)}"))
        rows.append(("blocks", _blocks(facts)))
    else:
        rows.append(("images", "{} x {} x {} (height, width, channels), raw".format(*facts["image_shape"])))
    if any(facts["header"]["normalize_std"]):
        rows.append(("pixels", _normalization(facts["header"])))
    if facts["free_fraction"] is not None:
        free = f"{100 * facts['free_fraction']:.2f} % of the blocks ({human_bytes(facts['free_bytes'])})"
        rows.append(("free room", free))
    if len(facts["volumes"]) > 1:
        rows.append(("volumes", _volumes(facts["volumes"])))
    elif facts["volume"][1] > 1:
        rows.append(("volume", f"{facts['volume'][0]} of {facts['volume'][1]} (counted from 0)"))
    rows.append(
        ("sections", " ".join(section["tag"] for section in facts["sections"]) or "none (an old file)")
    )
    info = dict(facts["info"])
    info.pop("level", None)
    if "writer" in info:
        rows.append(("made by", _plain(info.pop("writer"))))
    if info:
        rows.append(
            ("settings", ", ".join(f"{display(name)} {_plain(value)}" for name, value in info.items()))
        )
    if len(facts["volumes"]) == 1:
        rows.append(("CRC-32", facts["crc_code"]))
    rows.append(("fingerprint", facts["fingerprint"]))
    return two_columns(rows)


def _what_bytes(facts: dict[str, Any]) -> str:
    """Whether the stored bytes are those of the original files."""
    if facts["level"]:
        return " (images made smaller and encoded anew)"
    if facts["info"].get("restart_interval") is not None:
        return " (the original pixels; JPEGs rewritten with restart markers)"
    kept = facts["info"].get("bytes_kept", True) is not False
    return " (original files, byte for byte)" if kept else " (not the bytes of the original files)"


def _room(file: DTSFile) -> dict[str, Any]:
    """Free room: what is neither index area nor samples (with their padding)."""
    header = file.header
    alignment = max(1, header.pic_alignment)
    padded = int(((file.sizes + alignment - 1) // alignment * alignment).sum())
    total = header.num_blocks * header.block_size
    index = sum(each.header.num_blocks * each.header.block_header_size for each in file.volumes)
    free = total - index - padded
    return {
        "free_bytes": free,
        "free_fraction": free / total if total else 0.0,
        "mean_sample_bytes": float(file.sizes.sum()) / len(file) if len(file) else 0.0,
    }


def _volume(volume: Volume) -> dict[str, Any]:
    header = volume.header
    return {
        "path": volume.path,
        "volume_id": header.volume_id,
        "file_bytes": volume.file_bytes,
        "num_samples": header.num_samples,
        "num_blocks": header.num_blocks,
        "crc_code": f"{header.crc_code:#010x}",
    }


def _volumes(volumes: list[dict[str, Any]]) -> str:
    first, last = (display(os.path.basename(volumes[at]["path"])) for at in (0, -1))
    counts = [volume["num_samples"] for volume in volumes]
    return f"{len(volumes)}, {first} to {last}, {min(counts)} to {max(counts)} samples each"


def _samples(facts: dict[str, Any]) -> str:
    mean = facts["mean_sample_bytes"]
    return str(facts["num_samples"]) + ("" if mean is None else f", {human_bytes(mean)} on average")


def _classes(names: list[str]) -> str:
    shown = ", ".join(display(name) for name in names[:_CLASSES_SHOWN])
    more = ", ..." if len(names) > _CLASSES_SHOWN else ""
    return f"{len(names)}: {shown}{more}" if names else "0"


def _blocks(facts: dict[str, Any]) -> str:
    return (
        f"{facts['num_blocks']} of {human_bytes(facts['block_size'])}, "
        f"{human_bytes(facts['block_header_size'])} of it for the index"
    )


def _normalization(header: dict[str, Any]) -> str:
    parts = []
    for name in ("mean", "std"):
        values = header[f"normalize_{name}"]
        parts.append(f"{name} " + " ".join("?" if value is None else f"{value:.4f}" for value in values))
    return ", ".join(parts) + " (R, G, B of 0 to 1)"


def _plain(value: Any) -> str:
    """A JSON value as printable text, strings without quotes."""
    return display(value) if isinstance(value, str) else json.dumps(value)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity; a damaged header may."""
    if isinstance(value, tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
