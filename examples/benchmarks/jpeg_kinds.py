# SPDX-License-Identifier: Apache-2.0
"""How JPEGs are coded: what can be won by writing them anew depends on it."""

from __future__ import annotations

import struct

KINDS = ("standard tables", "optimised tables", "progressive", "other")

# Numbers of codes of each length in the AC tables that nearly every encoder uses by default
# (ITU-T T.81, tables K.5 and K.6).
_STANDARD_AC = {
    bytes([0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7D]),
    bytes([0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77]),
}


def kind_of(data: bytes) -> str:
    """Which of KINDS a JPEG is, by its headers up to the first scan."""
    at, frame, is_standard = 2, 0, True
    while data[:2] == b"\xff\xd8" and at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        (length,) = struct.unpack_from(">H", data, at + 2)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            frame = marker
        elif marker == 0xC4:
            is_standard &= _has_standard_tables(data[at + 4 : at + 2 + length])
        elif marker == 0xDA:
            break
        at += 2 + length
    if frame == 0xC2:
        return "progressive"
    if frame not in (0xC0, 0xC1):
        return "other"
    return "standard tables" if is_standard else "optimised tables"


def _has_standard_tables(content: bytes) -> bool:
    at = 0
    while at + 17 <= len(content):
        counts = content[at + 1 : at + 17]
        if content[at] >> 4 and counts not in _STANDARD_AC:
            return False
        at += 17 + sum(counts)
    return True
