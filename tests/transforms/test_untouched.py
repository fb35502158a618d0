# SPDX-License-Identifier: Apache-2.0
"""Only the library's own, unchanged, is read."""

from typing import Any

import pytest
import torch
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

from torch_dts.transforms._read import _READERS, read
from torch_dts.transforms._untouched import describe, parameters_of
from torch_dts.transforms._values import Refusal


def test_the_librarys_own_is_untouched() -> None:
    for kind in (*_READERS, v1.Compose, v2.Compose, nn.Sequential, nn.ModuleList):
        parameters_of(object.__new__(kind))
    assert parameters_of(v1.CenterCrop(4))["size"] == (4, 4)
    assert parameters_of(v1.CenterCrop(4).eval())["training"] is False


@pytest.mark.parametrize("name", ["forward", "__call__", "transform", "make_params", "_transformed_types"])
def test_a_method_in_the_object(name: str) -> None:
    operation = v2.CenterCrop(4)
    operation.__dict__[name] = lambda *inputs: inputs
    with pytest.raises(Refusal, match=f"its {name} was exchanged"):
        parameters_of(operation)


@pytest.mark.parametrize("name", ["forward", "__call__", "get_params"])
def test_a_method_in_the_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(*inputs: Any) -> Any:
        return inputs

    operation = v1.RandomResizedCrop(4)
    for method in (mine, staticmethod(mine), object()):
        with monkeypatch.context() as patch:
            patch.setattr(v1.RandomResizedCrop, name, method, raising=False)
            assert f"the {name} of its class was exchanged" in read(nn.Sequential(operation)).reason
    assert parameters_of(operation)["size"] == (4, 4)


def test_hooks() -> None:
    operation = v1.CenterCrop(4)
    handle = operation.register_forward_hook(lambda *inputs: None)
    with pytest.raises(Refusal, match="it has a forward hook"):
        parameters_of(operation)
    handle.remove()
    before = nn.Sequential(operation)
    before.register_forward_pre_hook(lambda *inputs: None)
    assert read(before).reason == "it has a forward hook"
    assert parameters_of(operation)


def test_descriptions() -> None:
    assert describe(v1.Resize([3, 4])).startswith("Resize(size=[3, 4], max_size=None, interpolation=bilinear")
    assert describe(v2.ToDtype(torch.float32)) == "v2.ToDtype(dtype=torch.float32, scale=False)"
    assert describe(v1.ToTensor()) == "ToTensor()"
    assert describe(v1.Normalize(torch.tensor([0.5]), (0.25,))) == (
        "Normalize(mean=tensor([0.5000]), std=(0.25,), inplace=False)"
    )
    assert describe(v1.RandomApply([v1.ToTensor(), 3])) == "RandomApply(transforms=[ToTensor, 3], p=0.5)"
    assert describe(len) == "builtins.builtin_function_or_method"
    assert describe(test_hooks).endswith(".test_hooks")
