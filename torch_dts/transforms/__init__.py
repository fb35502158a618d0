# SPDX-License-Identifier: Apache-2.0
"""torchvision transforms, read and run natively.

transform -> read -> Plan (frozen) -> native code: encoded images -> batch
"""

from torch_dts.transforms._compile import CompiledTransform, compile
from torch_dts.transforms._explain import explain
from torch_dts.transforms._views import Views

__all__ = ["CompiledTransform", "Views", "compile", "explain"]
