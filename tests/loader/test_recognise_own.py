# SPDX-License-Identifier: Apache-2.0
"""Objects and modules that were changed under the library's feet."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from recognise_sets import reason
from torchvision.datasets import DatasetFolder, ImageFolder
from torchvision.datasets import folder as folder_module

from torch_dts.loader._recognise import Readable, inspect
from torch_dts.loader._recognise_own import ABSENT, changed_behaviour, is_as_written, own_state

Make = Callable[..., pathlib.Path]


class Base:
    def __init__(self) -> None:
        self.value = 1

    def method(self) -> int:
        return self.value


class Child(Base):
    pass


OWNERS: dict[str, type | None] = {"method": Base, "value": None, "other": ABSENT}


def test_what_is_unchanged() -> None:
    assert changed_behaviour(Base(), OWNERS) == ""
    assert changed_behaviour(Child(), OWNERS) == ""
    assert own_state(Child()) == {"value": 1}
    assert own_state(object()) == {}


def test_classes_that_change_something() -> None:
    members: dict[str, Any] = {
        "method": lambda self: 2,
        "value": property(lambda self: 1 / 0, lambda self, value: None),
        "other": None,
        "__getattr__": lambda self, name: 3,
        "__getattribute__": lambda self, name: 1 / 0,
    }
    for name, member in members.items():
        changed = type("Changed", (Child,), {name: member})
        assert changed_behaviour(changed(), OWNERS) == f"Changed has a {name} of its own"
    mixin = type("Mixin", (), {"method": lambda self: 2})
    assert "Changed has a method" in changed_behaviour(type("Changed", (mixin, Base), {})(), OWNERS)
    assert changed_behaviour(mixin(), {"missing": Base}) == "Mixin has no missing"


def test_objects_that_were_given_something() -> None:
    for name in ("method", "other"):
        thing = Child()
        setattr(thing, name, len)
        assert changed_behaviour(thing, OWNERS) == f"this Child was given a {name} of its own"


def test_wrapped_functions_are_not_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    original = DatasetFolder.__getitem__
    assert is_as_written(original, folder_module.__name__, "__getitem__")

    @functools.wraps(original)
    def wrapped(self: Any, index: int) -> Any:
        return original(self, index)

    assert not is_as_written(wrapped, folder_module.__name__, "__getitem__")
    assert not is_as_written(DatasetFolder.__len__, folder_module.__name__, "__getitem__")
    assert not is_as_written(len, folder_module.__name__, "len")
    assert not is_as_written(original, "no_such_module", "__getitem__")


def test_patched_objects_and_modules(image_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ImageFolder(image_folder())
    folder.__getitem__ = lambda index: index
    assert reason(folder) == "this ImageFolder was given a __getitem__ of its own"
    del folder.__getitem__
    folder.__getitems__ = lambda indices: indices
    assert reason(folder) == "this ImageFolder was given a __getitems__ of its own"
    del folder.__getitems__
    assert isinstance(inspect(folder), Readable)
    with monkeypatch.context() as patch:
        patch.setattr("torchvision.datasets.folder.pil_loader", lambda path: None)
        assert reason(folder).endswith("torchvision.datasets.folder.pil_loader was replaced")
    with monkeypatch.context() as patch:
        patch.setattr("torchvision.datasets.folder.DatasetFolder.__getitem__", lambda self, index: index)
        assert reason(folder) == "DatasetFolder.__getitem__ was replaced"
    with monkeypatch.context() as patch:
        patch.setattr("torchvision._image_backend", "accimage")
        assert reason(folder).endswith("torchvision's image backend is accimage")
    folder.transforms = lambda image, target: (image, target)
    assert reason(folder).endswith("its transforms= takes image and target together")
