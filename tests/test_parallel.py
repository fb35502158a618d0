# SPDX-License-Identifier: Apache-2.0
import os
import threading

import numpy as np
import pytest
import torch

from torch_dts._parallel import check_num_workers, map_in_order


def test_results_come_in_order():
    gate = threading.Event()

    def work(number):
        if number == 0:
            gate.wait(10)  # finishes last
        if number == 2:
            gate.set()
        return number * 10

    assert list(map_in_order(work, range(20), 3)) == [(n, n * 10) for n in range(20)]


def test_nothing_to_do():
    assert list(map_in_order(str, [], 2)) == []


def test_work_ahead_is_bounded():
    begun = []

    def items():
        for number in range(100):
            begun.append(number)
            yield number

    results = map_in_order(lambda number: number, items(), 2)
    assert next(results) == (0, 0)
    assert begun == [0, 1, 2, 3]
    assert next(results) == (1, 1)
    assert begun == [0, 1, 2, 3, 4]
    results.close()
    assert begun == [0, 1, 2, 3, 4]


def test_an_error_comes_out_in_its_place():
    def work(number):
        if number == 3:
            raise KeyError("three")
        return number

    results = map_in_order(work, range(100), 2)
    assert [next(results)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="three"):
        next(results)


def test_no_thread_is_left():
    before = threading.active_count()
    results = map_in_order(str, range(50), 4)
    next(results)
    results.close()
    assert threading.active_count() == before


def test_num_workers(monkeypatch):
    assert check_num_workers(3) == 3
    assert check_num_workers(0) == 1
    assert [check_num_workers(each) for each in (np.int64(2), np.uint8(0), torch.tensor(4))] == [2, 1, 4]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 5}, raising=False)
    assert check_num_workers(None) == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    assert check_num_workers(None) == 8
    assert check_num_workers(None, most=100) == 64
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert check_num_workers(None) == 1


def test_wrong_num_workers():
    with pytest.raises(ValueError, match="num_workers is -1, expected at least 0"):
        check_num_workers(-1)
    for wrong in (1.5, "2", True, np.True_, torch.tensor(True), np.float32(2), torch.tensor([1, 2])):
        with pytest.raises(TypeError, match=r"num_workers is .*, expected an int or None"):
            check_num_workers(wrong)
