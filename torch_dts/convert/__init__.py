# SPDX-License-Identifier: Apache-2.0
"""Conversion: any image data set -> one .dts file.

source -> list of samples -> check -> (recode) -> packing -> blocks -> writer -> report
"""

from __future__ import annotations

from torch_dts.convert._convert import convert
from torch_dts.convert._report import BadSample, BadSamplesError, ConvertReport, RecodeFacts

__all__ = ["BadSample", "BadSamplesError", "ConvertReport", "RecodeFacts", "convert"]
