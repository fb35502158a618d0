# SPDX-License-Identifier: Apache-2.0
"""What epochs.py is made of: sets, ways to load them, and a module for each of its tables."""
