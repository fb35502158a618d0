# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the command line import the helpers that build and damage files."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "file"))
