# SPDX-License-Identifier: Apache-2.0
import argparse

import pytest

from torch_dts.cli._options import add_work_options, positive_int


@pytest.mark.parametrize(
    ("arguments", "num_workers", "progress"),
    [
        ([], None, None),
        (["--num-workers", "3"], 3, None),
        (["--progress"], None, True),
        (["--no-progress"], None, False),
    ],
)
def test_work_options(arguments, num_workers, progress):
    parser = argparse.ArgumentParser()
    add_work_options(parser)
    args = parser.parse_args(arguments)
    assert (args.num_workers, args.progress) == (num_workers, progress)


def test_positive_int():
    assert positive_int("12") == 12
    with pytest.raises(argparse.ArgumentTypeError, match="0 is below 1"):
        positive_int("0")
    with pytest.raises(ValueError, match="invalid literal"):
        positive_int("a")
