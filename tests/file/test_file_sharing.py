# SPDX-License-Identifier: Apache-2.0
"""Closing, threads, forks and other processes."""

import gc
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, build, samples_of
from tampering import flip

from torch_dts import CorruptFileError, DTSFile, _native


@pytest.fixture
def samples():
    return samples_of({"a": 3, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, [b"a", b"b"])


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


class TestClosing:
    def test_close(self, path):
        before = open_descriptors()
        file = DTSFile(path)
        file.read(0)
        assert not file.closed
        assert open_descriptors() > before
        file.close()
        file.close()
        assert file.closed
        assert open_descriptors() == before
        assert len(file) == 5
        for use in (lambda: file.read(0), lambda: file.handle, lambda: file.info, lambda: file.read_many([])):
            with pytest.raises(ValueError, match=f"{path} is closed"):
                use()

    def test_what_is_known_stays_known(self, path):
        with DTSFile(path) as file:
            labels, classes = file.labels, file.classes
        assert file.labels is labels
        assert file.classes is classes
        with pytest.raises(ValueError, match="is closed"):
            file.paths  # noqa: B018

    def test_with_closes_on_an_error(self, path):
        with pytest.raises(KeyError, match="mine"), DTSFile(path) as file:
            raise KeyError("mine")
        assert file.closed

    def test_a_forgotten_file_is_closed(self, path):
        before = open_descriptors()
        file = DTSFile(path)
        handle = file.handle
        del file
        gc.collect()
        assert open_descriptors() == before
        with pytest.raises(ValueError, match=str(handle)):
            _native.file_describe(handle)

    def test_a_file_that_does_not_open_leaves_nothing(self, path):
        before = open_descriptors()
        flip(path, 0)
        with pytest.raises(CorruptFileError, match=r"not a .dts file"):
            DTSFile(path)
        gc.collect()
        assert open_descriptors() == before


class TestThreads:
    def test_reads_and_tables(self, path, samples):
        with DTSFile(path) as file:
            start = threading.Barrier(8)

            def work(number):
                start.wait()
                for turn in range(50):
                    i = (number + turn) % 5
                    assert file.read(i).tobytes() == samples[i].data
                    assert file.paths[i] == os.fsdecode(samples[i].path)
                return id(file.labels), id(file.classes)

            with ThreadPoolExecutor(8) as pool:
                assert len(set(pool.map(work, range(8)))) == 1

    def test_the_file_is_verified_by_one_of_them(self, path, monkeypatch):
        checked = []
        check = _native.check_blocks
        monkeypatch.setattr(
            _native, "check_blocks", lambda handle, ids: checked.append(1) or check(handle, ids)
        )
        with DTSFile(path, verify="file") as file, ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda i: len(file.read(i % 5)) > 0, range(16)))
        assert len(checked) == 1

    def test_closing_while_others_read(self, path, samples):
        file = DTSFile(path)

        def work(i):
            try:
                while True:
                    assert file.read(i).tobytes() == samples[i].data
            except ValueError as error:
                return str(error)

        with ThreadPoolExecutor(4) as pool:
            results = [pool.submit(work, i) for i in range(4)]
            file.close()
            for result in results:
                assert "closed" in result.result() or "handle" in result.result()


def read_all(file):
    return [file.read(i).tobytes() for i in range(len(file))], file.paths[0], file.labels.tolist()


class TestProcesses:
    @pytest.mark.parametrize("used_before", [False, True])
    def test_fork(self, path, samples, used_before):
        with DTSFile(path, verify="file") as file:
            if used_before:
                read_all(file)
            inbox, outbox = multiprocessing.Pipe(duplex=False)
            child = multiprocessing.get_context("fork").Process(
                target=lambda: outbox.send(read_all(file)), daemon=True
            )
            child.start()
            assert inbox.poll(60)
            expected = [sample.data for sample in samples], "a/0.jpg", [0, 0, 0, 1, 1]
            assert inbox.recv() == expected
            child.join(30)
            assert child.exitcode == 0
            assert read_all(file) == expected

    def test_fork_while_a_thread_verifies(self, path, monkeypatch):
        entered, leave = threading.Event(), threading.Event()
        check = _native.check_blocks

        def slow(handle, ids):
            entered.set()
            leave.wait(60)
            return check(handle, ids)

        with DTSFile(path, verify="file") as file:
            monkeypatch.setattr(_native, "check_blocks", slow)
            thread = threading.Thread(target=file.ensure_verified)
            thread.start()
            assert entered.wait(30)
            inbox, outbox = multiprocessing.Pipe(duplex=False)

            def in_child():
                leave.set()
                outbox.send(len(file.read(0)))

            child = multiprocessing.get_context("fork").Process(target=in_child, daemon=True)
            child.start()
            try:
                assert inbox.poll(60)
                assert inbox.recv() > 0
            finally:
                leave.set()
                thread.join()
                child.join(30)
            assert child.exitcode == 0

    def test_fresh_processes(self, path, samples, fresh):
        with DTSFile(path) as file, fresh.Pool(1) as pool:
            expected = [sample.data for sample in samples], "a/0.jpg", [0, 0, 0, 1, 1]
            assert pool.apply(read_all, (file,)) == expected


class TestPickling:
    def test_a_copy_reads_the_same(self, path, samples):
        with DTSFile(path, verify=False, ignore_sections=True) as file:
            data = pickle.dumps(file)
        assert len(data) < 1000
        with pickle.loads(data) as copy:
            assert not copy.closed
            assert copy.handle != file._handle
            assert copy.fingerprint == file.fingerprint
            assert copy.sections == ()
            assert copy._verify is False
            assert copy.read(0).tobytes() == samples[4].data

    def test_from_another_directory(self, path, samples, monkeypatch, tmp_path):
        monkeypatch.chdir(path.parent)
        with DTSFile("a.dts") as file:
            assert file.path == "a.dts"
            data = pickle.dumps(file)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        with pickle.loads(data) as copy:
            assert copy.read(1).tobytes() == samples[1].data

    def test_another_file_of_that_name(self, path, samples):
        with DTSFile(path) as file:
            data = pickle.dumps(file)
        build(path, samples[:4], [b"a", b"b"])
        before = open_descriptors()
        with pytest.raises(
            CorruptFileError, match=r"not the file that was pickled: its fingerprint is [0-9a-f]{64}"
        ):
            pickle.loads(data)
        assert open_descriptors() == before
        path.unlink()
        with pytest.raises(FileNotFoundError, match=r"a.dts"):
            pickle.loads(data)

    def test_a_verified_file_is_not_verified_again(self, path, monkeypatch):
        with DTSFile(path, verify="file") as file:
            unverified = pickle.dumps(file)
            file.ensure_verified()
            verified = pickle.dumps(file)
        checked = []
        check = _native.check_blocks
        monkeypatch.setattr(
            _native, "check_blocks", lambda handle, ids: checked.append(1) or check(handle, ids)
        )
        with pickle.loads(verified) as copy:
            copy.read(0)
        assert checked == []
        with pickle.loads(unverified) as copy:
            copy.read(0)
        assert checked == [1]
        # Touched since: it may be another content, so it is read again.
        flip(path, HEADER_BYTES + BLOCK_SIZE - 1)
        with pickle.loads(verified) as copy, pytest.raises(CorruptFileError, match="CRC-32"):
            copy.read(0)
