# SPDX-License-Identifier: Apache-2.0
import os
import pickle
import threading

import pytest
import torch
from building import HEADER_BYTES
from tampering import flip, replace_section
from volume_sets import link_set

from torch_dts import CorruptFileError, DTSFile
from torch_dts.file._open_file import OpenFile


def test_a_set_is_open_until_it_is_closed(volumes):
    with OpenFile(volumes[0], ignore_sections=False) as file:
        assert file.handle == file.block_handle()
        assert not file.closed
    assert file.closed
    file.close()
    with pytest.raises(ValueError, match=r"00000-of-00003\.dts is closed"):
        file.handle  # noqa: B018


def test_no_handle_is_left_when_the_volumes_do_not_fit(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(1,))
    replace_section(paths[1], "INFO", b"{}")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(CorruptFileError, match="its set is None"):
            OpenFile(paths[0], ignore_sections=False)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("given", ["", "*.dts", "train-00000-of-00003.dts"])
def test_pickling(volumes, tmp_path, given):
    paths = link_set(tmp_path / "set", volumes)
    with DTSFile(tmp_path / "set" / given, verify="file") as file:
        file.ensure_verified()
        expected = [bytes(file.read(i)) for i in range(30)]
        data = pickle.dumps(file)
        # Another data set beside it changes nothing.
        os.link(paths[1], tmp_path / "set" / "other.dts")
        with pickle.loads(data) as again:
            assert again.path == str(tmp_path / "set" / given)
            assert again.fingerprint == file.fingerprint
            assert again._verified == file._verified is not None
            assert [bytes(again.read(i)) for i in range(30)] == expected


def test_pickling_sees_another_set(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(2,))
    with DTSFile(paths[0]) as file:
        data = pickle.dumps(file)
    flip(paths[2], 4096 + 16 + 36)  # a byte of the section table that means nothing by itself
    with pytest.raises(CorruptFileError, match="table"):
        pickle.loads(data)
    paths[2].unlink()
    with pytest.raises(FileNotFoundError, match="00002-of-00003"):
        pickle.loads(data)


def test_fork_and_threads(volumes):
    with DTSFile(volumes[0]) as file:
        expected = [bytes(file.read(i)) for i in range(30)]
        found = {}

        def work(number):
            found[number] = [bytes(data) for data in file.read_many(range(30))]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(found.values()) == [expected] * 4
        child = os.fork()
        if child == 0:
            os._exit(0 if [bytes(file.read(i)) for i in range(30)] == expected else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_the_whole_set_is_verified(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(1,))
    with DTSFile(paths[0], verify="file") as file:
        file.ensure_verified()
    flip(paths[1], HEADER_BYTES + 5000)
    with (
        DTSFile(paths[0], verify="file") as file,
        pytest.raises(CorruptFileError, match=r"00001-of-00003\.dts at byte 16777216: block 0 .*CRC-32 is"),
    ):
        file.read(0)
    with DTSFile(paths[0]) as file:
        with pytest.raises(CorruptFileError, match=r"00001-of-00003\.dts at byte 16777216: block 0 "):
            file.read_blocks([0, 1])
        with pytest.raises(CorruptFileError, match=r"00001-of-00003\.dts at byte 16777216: block 0 "):
            file.check_blocks(torch.tensor([2, 1]))
        file.check_blocks([0, 2])


def test_a_volume_that_changes_while_it_is_open(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(2,))
    with DTSFile(paths[0]) as file:
        inside = file.source_index[25:26].tolist()[0]
        file.read(inside)
        os.truncate(paths[2], 2 * HEADER_BYTES + 7)
        with pytest.raises(
            CorruptFileError, match=r"00002-of-00003\.dts: the file changed since it was opened"
        ):
            file.read(inside)


def test_many_volumes_with_few_descriptors(volumes):
    """A reader keeps few files open beside the one each volume has."""
    with DTSFile(volumes[0]) as file:
        before = len(os.listdir("/proc/self/fd"))
        file.read_many(range(30))
        file.read_many(range(30))
        assert len(os.listdir("/proc/self/fd")) == before + 3
    assert len(os.listdir("/proc/self/fd")) == before - 3
