# SPDX-License-Identifier: Apache-2.0
import os
import stat

import pytest
from PIL import Image

from torch_dts.cli._image_output import check_image_target, write_image


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.dts"
    path.write_bytes(b"set")
    return str(path)


def test_targets(tmp_path, source, monkeypatch):
    free = str(tmp_path / "sheet.PNG")
    assert check_image_target(free, False, [source]) == free
    monkeypatch.setenv("HOME", str(tmp_path))
    assert check_image_target("~/b.webp", False, [source]) == str(tmp_path / "b.webp")
    taken = tmp_path / "taken.png"
    taken.write_bytes(b"")
    assert check_image_target(str(taken), True, [source]) == str(taken)
    with pytest.raises(FileExistsError, match="--overwrite replaces it"):
        check_image_target(str(taken), False, [source])
    with pytest.raises(ValueError, match=r"ends in '\.txt', expected the ending of a picture: \.png"):
        check_image_target(str(tmp_path / "a.txt"), True, [source])
    with pytest.raises(FileNotFoundError, match="no such folder for the picture"):
        check_image_target(str(tmp_path / "gone" / "a.png"), False, [source])
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ValueError, match="is not a regular file"):
        check_image_target(str(tmp_path / "folder.png"), True, [source])
    os.link(source, tmp_path / "hard.png")
    with pytest.raises(ValueError, match=r"would overwrite .*a\.dts, which it shows"):
        check_image_target(str(tmp_path / "hard.png"), True, [source])
    (tmp_path / "loose.png").symlink_to("nowhere")
    with pytest.raises(ValueError, match="a link to nowhere"):
        check_image_target(str(tmp_path / "loose.png"), True, [source])


@pytest.mark.parametrize(
    ("name", "kind"), [("a.png", "PNG"), ("a.JPG", "JPEG"), ("a.webp", "WEBP"), ("a.bmp", "BMP")]
)
def test_written(tmp_path, name, kind):
    target = tmp_path / name
    target.write_bytes(b"old")
    write_image(Image.new("RGB", (5, 4), (255, 0, 0)), str(target))
    with Image.open(target) as image:
        assert (image.format, image.size) == (kind, (5, 4))
    assert os.listdir(tmp_path) == [name]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt("full")])
def test_nothing_stays_of_a_failure(tmp_path, monkeypatch, error):
    target = tmp_path / "a.png"
    target.write_bytes(b"old")

    def save(*arguments):
        raise error

    image = Image.new("RGB", (5, 4))
    monkeypatch.setattr(image, "save", save)
    with pytest.raises(type(error), match="full"):
        write_image(image, str(target))
    assert os.listdir(tmp_path) == ["a.png"]
    assert target.read_bytes() == b"old"
