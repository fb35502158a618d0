# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the examples, and the processes they start, find what they share."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
