# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from building import build, build_classes, samples_of
from tampering import replace_section, set_header, strip_sections

from torch_dts import CorruptFileError, DTSFile
from torch_dts.file._contents import byte_view, load_classes, load_info, load_paths


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"a": 2, "b": 1}), [b"a", b"b"])


def test_byte_view_keeps_the_memory():
    tensor = torch.tensor([1, 2, 3], dtype=torch.uint8)
    view = byte_view(tensor)
    tensor[1] = 9
    del tensor
    assert view.tobytes() == b"\1\x09\3"


def test_contents(path):
    with DTSFile(path) as file:
        assert load_info(file.handle, file.path) == {"writer": "by hand", "level": 0}
        assert load_classes(file.handle, file.header, file.path) == ["a", "b"]
        assert list(load_paths(file.handle, file.volumes[0])) == ["a/0.jpg", "a/1.jpg", "b/0.jpg"]


def test_what_stands_in_for_them(path):
    strip_sections(path)
    with DTSFile(path) as file:
        assert load_info(file.handle, file.path) == {}
        assert load_classes(file.handle, file.header, file.path) == ["0", "1"]
        assert load_paths(file.handle, file.volumes[0]) is None


def test_info_in_any_script(path):
    replace_section(path, "INFO", '{"name": "猫", "n": [1, null]}'.encode())
    with DTSFile(path) as file:
        assert load_info(file.handle, file.path) == {"name": "猫", "n": [1, None]}
    replace_section(path, "INFO", b"3")
    with DTSFile(path) as file, pytest.raises(CorruptFileError, match="a JSON int, expected an object"):
        load_info(file.handle, file.path)


def test_the_header_knows_the_number_of_classes(path):
    set_header(path, num_classes=3)
    with DTSFile(path) as file, pytest.raises(CorruptFileError, match="2 classes, the header says 3"):
        load_classes(file.handle, file.header, file.path)
    replace_section(path, "CLSS", build_classes([b"a", b"b", b"\xff"]))
    with DTSFile(path) as file:
        assert load_classes(file.handle, file.header, file.path) == ["a", "b", "\udcff"]
