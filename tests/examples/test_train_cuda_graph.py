# SPDX-License-Identifier: Apache-2.0
"""examples/train_cuda_graph.py on the CPU: the eager loop gives the losses of a plain one."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable

import pytest
import torch
import torchvision

import torch_dts

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def test_losses_are_those_of_a_plain_loop(
    dts_file: Callable[..., pathlib.Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("train_cuda_graph")
    path = dts_file(classes={"a": 5, "b": 6}, seed=1)
    options = ["--arch", "squeezenet1_1", "--epochs", "1", "--batch-size", "4", "--size", "32"]
    try:
        found = example.main([str(path), *options, "--lr", "0.01", "--num-workers", "1", "--device", "cpu"])
        to_bytes = example.bytes_transform(32)
    finally:
        sys.modules.pop("train_cuda_graph")
    assert "CUDA graphs need a GPU" in capsys.readouterr().out

    tail = [torchvision.transforms.ToTensor(), torchvision.transforms.Normalize(MEAN, STD)]
    transform = torchvision.transforms.Compose([*to_bytes.transforms[:-1], *tail])
    how = {"memory_format": torch.channels_last, "last_batch": "fill", "num_workers": 1}
    loader = torch_dts.DataLoader(path, 4, True, transform=transform, seed=0, **how)
    torch.manual_seed(0)
    model = torchvision.models.get_model("squeezenet1_1", num_classes=2)
    model.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    expected = []
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    assert len(found) == 3
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("train_cuda_graph")
    try:
        with pytest.raises(SystemExit, match="torch finds no CUDA device here; --device cpu runs"):
            example.main(["none.dts"])
    finally:
        sys.modules.pop("train_cuda_graph")
