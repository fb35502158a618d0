# SPDX-License-Identifier: Apache-2.0
"""What decodes a loader's images: this package's own decoder on the CPU, or NVIDIA DALI.

Which one is the argument ``backend`` of `torch_dts.DataLoader`; docs/gpu.md compares them.
DALI is imported when it is used for the first time.
"""
