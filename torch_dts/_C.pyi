# SPDX-License-Identifier: Apache-2.0
# The native module has no Python names: importing it registers torch.ops.torch_dts.*
