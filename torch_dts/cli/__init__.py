# SPDX-License-Identifier: Apache-2.0
"""The command line ``torch-dts``."""

from torch_dts.cli._main import main

__all__ = ["main"]
