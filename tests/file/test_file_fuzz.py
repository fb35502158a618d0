# SPDX-License-Identifier: Apache-2.0
"""Random damage: a file reads as it was, or raises CorruptFileError. Nothing else, and no crash."""

from contextlib import suppress

import pytest
from building import HEADER_BYTES, TABLE, build, samples_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tampering import patch, read, resign_block, resign_head, resign_table, strip_sections

from torch_dts import CorruptFileError, DTSFile, verify

SECTIONS_END = 8192
INDEX_END = 12 + 12 * 5
SETTINGS = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
}

header_damage = st.tuples(st.integers(0, 143), st.binary(min_size=1, max_size=4))
section_damage = st.tuples(st.integers(TABLE, SECTIONS_END - 4), st.binary(min_size=1, max_size=8))
index_damage = st.tuples(
    st.integers(HEADER_BYTES, HEADER_BYTES + INDEX_END),
    st.sampled_from([b"\0\0\0\0", b"\xff" * 4, b"\x80", b"\1"]),
)
damage = st.lists(st.one_of(header_damage, section_damage, index_damage), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def samples():
    return samples_of({"a": 3, "b": 2})


@pytest.fixture(scope="module")
def path(tmp_path_factory, samples):
    return build(tmp_path_factory.mktemp("fuzz") / "a.dts", samples, [b"a", b"b"])


@pytest.fixture(scope="module")
def old_path(tmp_path_factory, samples):
    return build(tmp_path_factory.mktemp("fuzz") / "old.dts", samples, [b"a", b"b"], tags=())


def everything(file):
    return (
        len(file),
        file.classes,
        file.info,
        list(file.paths),
        file.labels.tolist(),
        file.source_index.tolist(),
        [view.tobytes() for view in file.read_many(range(len(file)))],
        file.read_blocks(range(file.num_blocks)).numel(),
    )


class Damaged:
    """Damages a file for a while."""

    def __init__(self, path, patches):
        self.path, self.patches, self.kept = path, patches, []

    def __enter__(self):
        self.kept = [
            (0, read(self.path, 0, SECTIONS_END)),
            (HEADER_BYTES, read(self.path, HEADER_BYTES, 4096)),
        ]
        for offset, data in self.patches:
            patch(self.path, offset, data)

    def __exit__(self, *error):
        for offset, data in self.kept:
            patch(self.path, offset, data)


def outcome(path, use, **options):
    """What `use` makes of the file, or the CorruptFileError that it met."""
    try:
        with DTSFile(path, **options) as file:
            return use(file)
    except CorruptFileError as error:
        return error


@given(damage)
@settings(max_examples=100, **SETTINGS)
def test_unsigned_damage_is_seen(path, patches):
    expected = outcome(path, everything)
    with Damaged(path, patches):
        found = outcome(path, everything, verify="file")
    assert found == expected or found.path == str(path)


@given(damage, st.booleans())
@settings(max_examples=60, **SETTINGS)
def test_signed_damage_does_no_harm(path, patches, sign_sections):
    with Damaged(path, patches):
        for sign in (resign_table, resign_head, resign_block) if sign_sections else (resign_table,):
            # What the patches did to the table may make signing impossible.
            with suppress(Exception):
                sign(path)
        found = outcome(path, everything, verify=False)
        assert isinstance(found, tuple) or found.path == str(path)
        with suppress(CorruptFileError):
            assert verify(path, num_workers=1).path == str(path)


@given(damage)
@settings(max_examples=60, **SETTINGS)
def test_files_without_sections(old_path, patches):
    with Damaged(old_path, patches):
        strip_sections(old_path)
        found = outcome(old_path, everything)
    assert isinstance(found, tuple) or found.path == str(old_path)
