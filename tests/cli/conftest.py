# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the command line import the helpers that build and damage files."""

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "file")]
