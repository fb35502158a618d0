# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file that mean nothing and have to be zero (docs/format.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch_dts.file._header import Header, Section

TABLE_OFFSET = 4096  # of the section table, in files of blocks
HEADER_BYTES = 144  # the fields at the start of the file
FOOTER_BYTES = 16  # at the end of pixel files with sections
_PIECE_BYTES = 1 << 20


def find_padding_faults(
    path: str, header: Header, sections: Sequence[Section], table_bytes: int, file_bytes: int
) -> Iterator[tuple[int, str]]:
    """Reads every gap of a file.

    Args:
        path: The file.
        header: Its header.
        sections: Its sections.
        table_bytes: Size of its section table, 0 for a file without.
        file_bytes: Its size.

    Yields:
        For each gap with a nonzero byte, the first such byte's offset and a message.

    Raises:
        OSError: The file can't be read.
    """
    with open(path, "rb") as file:
        for start, end in gaps(header, sections, table_bytes, file_bytes):
            file.seek(start)
            position = start
            while position < end and (piece := file.read(min(_PIECE_BYTES, end - position))):
                behind_zeros = piece.lstrip(b"\0")
                if behind_zeros:
                    offset = position + len(piece) - len(behind_zeros)
                    value = behind_zeros[0]
                    yield offset, f"byte {offset} is {value:#04x}, expected 0: no part of the file is there"
                    break
                position += len(piece)


def gaps(
    header: Header, sections: Sequence[Section], table_bytes: int, file_bytes: int
) -> Iterator[tuple[int, int]]:
    """First and end offset of each stretch of the file that no part of it lies in, in rising order."""
    payload_end = header.header_bytes + header.payload_bytes
    table = TABLE_OFFSET
    used = [(0, HEADER_BYTES), (header.header_bytes, payload_end)]
    if not header.has_blocks:
        table = -(-payload_end // 64) * 64
        used += [(file_bytes - FOOTER_BYTES, file_bytes)] if table_bytes else []
    used.append((table, table + table_bytes))
    used += [(section.offset, section.offset + section.stored_bytes) for section in sections]
    position = 0
    for start, end in sorted(used):
        if start > position:
            yield position, start
        position = max(position, end)
    if position < file_bytes:
        yield position, file_bytes
