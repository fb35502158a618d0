# SPDX-License-Identifier: Apache-2.0
"""examples/train_ddp.py and evaluate_ddp.py: killed and gone on with, other ranks, exact accuracy."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable, Iterator

import pytest
import torch
from ranks import EXAMPLES, KILLED_IN_STEP_8, accuracies, launched, losses, torchrun

import torch_dts

OPTIONS = [
    "--epochs",
    2,
    "--batch-size",
    2,
    "--size",
    32,
    "--save-every",
    3,
    "--num-workers",
    1,
    "--lr",
    0.05,
]


@pytest.fixture
def evaluate_ddp(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(EXAMPLES)
    yield importlib.import_module("evaluate_ddp")
    sys.modules.pop("evaluate_ddp")


def plain_accuracy(evaluate_ddp: object, val: pathlib.Path, checkpoint: pathlib.Path) -> str:
    """By torch's own DataLoader, in one process."""
    model = evaluate_ddp.make_model(2)  # type: ignore[attr-defined]
    model.load_state_dict(torch.load(checkpoint, weights_only=True)["model"])
    model.eval()
    dataset = torch_dts.DTSDataset(val, evaluate_ddp.val_transform(32))  # type: ignore[attr-defined]
    with torch.inference_mode():
        hits = [
            (model(images).argmax(1) == labels).sum().item()
            for images, labels in torch.utils.data.DataLoader(dataset, 2)
        ]
    return f"{sum(hits)}/{len(dataset)}"


def test_killed_and_gone_on_with_by_the_same_and_by_more_ranks(
    evaluate_ddp: object,
    dts_file: Callable[..., pathlib.Path],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    train = dts_file(classes={"a": 7, "b": 6}, seed=1)
    val = dts_file(classes={"a": 4, "b": 3}, seed=2)
    arguments = [train, "--val", val, *OPTIONS]

    # Two ranks, never stopped: 7 samples each, 4 batches an epoch.
    whole = launched(2, "train_ddp", "--checkpoint", tmp_path / "whole.pt", *arguments)
    curve = losses(whole)
    assert [(epoch, step) for epoch, step, _ in curve] == [(step // 5, step) for step in range(1, 9)]
    assert len({loss for *_, loss in curve}) == 8

    # Killed in step 8, in the middle of epoch 1; torchrun starts both ranks again, from step 6.
    (tmp_path / "killed.py").write_text(KILLED_IN_STEP_8)
    checkpoint = tmp_path / "killed.pt"
    killed = torchrun(2, tmp_path, "killed.py", EXAMPLES / "train_ddp.py", checkpoint, *arguments)
    assert losses(killed) == [*curve[:7], *curve[6:]]
    assert accuracies(killed) == accuracies(whole)
    assert accuracies(whole)[-1] == plain_accuracy(evaluate_ddp, val, checkpoint)

    # Three ranks go on with the rest of that epoch: 13 - 2 * 4 = 5 samples, 2 of them at most on each.
    stopped = tmp_path / "at_the_kill.pt"
    more = launched(3, "train_ddp", "--checkpoint", stopped, *arguments)
    assert [(epoch, step) for epoch, step, _ in losses(more)] == [(1, 7)]
    expected = plain_accuracy(evaluate_ddp, val, stopped)
    assert accuracies(more) == [expected]

    # The same by the script for evaluation, in one process.
    evaluate_ddp.main([str(val), "--checkpoint", str(stopped), "--size", "32", "--batch-size", "3"])  # type: ignore[attr-defined]
    assert accuracies(capsys.readouterr().out) == [expected]
