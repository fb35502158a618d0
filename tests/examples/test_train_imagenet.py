# SPDX-License-Identifier: Apache-2.0
"""examples/train_imagenet.py: sizes grow, and the accuracy it prints is that of its weights."""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
from collections.abc import Callable

import pytest
import torch
import torchvision

import torch_dts

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def test_grows_and_prints_the_accuracy_of_its_weights(
    dts_file: Callable[..., pathlib.Path],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("train_imagenet")
    train = dts_file(classes={"a": 5, "b": 6}, seed=1)
    val = dts_file(classes={"a": 3, "b": 4}, seed=2)
    weights = tmp_path / "weights.pt"
    options = ["--arch", "squeezenet1_1", "--epochs", "3", "--batch-size", "4", "--sizes", "32", "64"]
    options += ["--lr", "0.01", "--num-workers", "1", "--no-compile", "--save", str(weights)]
    try:
        example.main([str(train), str(val), *options])
    finally:
        for name in ("train_imagenet", "train_ddp", "evaluate_ddp"):
            val_transform = sys.modules.pop(name).__dict__.get("val_transform", None)
    printed = capsys.readouterr().out
    found = re.findall(r"^epoch (\d) size (\d+) loss \d+\.\d{4} accuracy (\S+) %", printed, re.MULTILINE)
    assert [(epoch, size) for epoch, size, _ in found] == [("0", "32"), ("1", "32"), ("2", "64")]

    model = torchvision.models.get_model("squeezenet1_1", num_classes=2)
    model.load_state_dict(torch.load(weights, weights_only=True))
    model.eval().to(memory_format=torch.channels_last)
    dataset = torch_dts.DTSDataset(val, val_transform(64))
    images = torch.stack([image for image, _ in dataset]).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        hits = (model(images).argmax(1) == torch.tensor([label for _, label in dataset])).sum().item()
    assert found[-1][2] == f"{100 * hits / 7:.2f}"


def test_crop_sizes_and_learning_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("train_imagenet")
    try:
        sizes = [example.crop_size(epoch, 18, 128, 224) for epoch in range(18)]
        assert sizes == [128] * 4 + [160] * 4 + [192] * 4 + [224] * 6
        assert [example.crop_size(epoch, 2, 32, 64) for epoch in range(2)] == [32, 64]
        assert [example.crop_size(epoch, 3, 40, 100) for epoch in range(3)] == [40, 64, 100]
        assert example.crop_size(0, 1, 128, 224) == 224
        rates = [example.schedule(step, 100, 5) for step in (0, 4, 5, 52, 100)]
        assert rates == pytest.approx([0.2, 1, 1, 0.5 + 0.5 * 0.0165, 0], abs=1e-4)
    finally:
        for name in ("train_imagenet", "train_ddp", "evaluate_ddp"):
            sys.modules.pop(name)
