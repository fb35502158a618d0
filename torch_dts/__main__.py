# SPDX-License-Identifier: Apache-2.0
"""``python -m torch_dts`` is ``torch-dts``."""

import sys

from torch_dts.cli import main

sys.exit(main())
