# SPDX-License-Identifier: Apache-2.0
"""The native loader: torch's DataLoader with threads in the place of worker processes."""

from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._stats import LoaderStats

__all__ = ["DataLoader", "LoaderStats"]
