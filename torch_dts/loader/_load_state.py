# SPDX-License-Identifier: Apache-2.0
"""Takes a saved state over into a loader, with the shuffle window where the loader left it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch_dts.loader._epoch import batching_of
from torch_dts.loader._sampler import ShuffledSampler
from torch_dts.loader._state import window_of

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader


def load_state(loader: DataLoader, state: Mapping[str, Any]) -> None:
    """The next epoch of `loader` to begin goes on from `state`.

    Without `shuffle_window` a loader takes the one that suits its `mode`; the state's takes its place.

    Raises:
        ValueError: It does not fit; nothing has changed.
    """
    before = loader._window
    if isinstance(state, Mapping):  # how what came before was decoded changes nothing
        state = {key: value for key, value in state.items() if key not in ("backend", "decode")}
    if loader.shuffle_window is None:
        _use_window(loader, window_of(state, before))
    try:
        batching = batching_of(loader, loader._window)
        loader._resume.load(state, loader.dataset, batching, loader._epochs, loader.seed)
    except BaseException:
        _use_window(loader, before)
        raise


def _use_window(loader: DataLoader, window: int) -> None:
    loader._window = window
    for sampler in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
        if isinstance(sampler, ShuffledSampler):
            sampler.use_window(window)
