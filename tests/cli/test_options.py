# SPDX-License-Identifier: Apache-2.0
import argparse

import pytest

from torch_dts.cli._options import add_work_options, worker_count


@pytest.mark.parametrize(
    ("arguments", "num_workers", "progress"),
    [
        ([], None, None),
        (["--num-workers", "3"], 3, None),
        (["--num-workers", "0"], 0, None),
        (["--progress"], None, True),
        (["--no-progress"], None, False),
    ],
)
def test_work_options(arguments, num_workers, progress):
    parser = argparse.ArgumentParser()
    add_work_options(parser)
    args = parser.parse_args(arguments)
    assert (args.num_workers, args.progress) == (num_workers, progress)


def test_worker_count():
    assert worker_count("12") == 12
    assert worker_count("0") == 0
    with pytest.raises(argparse.ArgumentTypeError, match="-1 is below 0"):
        worker_count("-1")
    with pytest.raises(argparse.ArgumentTypeError, match="'a' is not a whole number"):
        worker_count("a")
