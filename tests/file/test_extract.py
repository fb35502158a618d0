# SPDX-License-Identifier: Apache-2.0
import errno
import os
import threading
from contextlib import nullcontext

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, Sample, build, build_paths, build_pixels, jpeg, samples_of
from tampering import flip, replace_section, strip_sections

import torch_dts
from torch_dts import CorruptFileError, extract
from torch_dts.file import _extract, _tree

CLASSES = [b"a", b"empty", b"b"]
BLOCKS = [[4, 0], [2, 1, 3]]


@pytest.fixture
def samples():
    return samples_of({"a": 3, "empty": 0, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, CLASSES, blocks=BLOCKS)


def tree(directory):
    """All files below a directory and what they hold; folders end with a slash."""
    found = {}
    top = os.fsencode(directory)
    for folder, folders, files in os.walk(top):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), top) + b"/"] = None
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder, name), top)] = file.read()
    return found


def test_the_folder_comes_back(path, samples, tmp_path):
    report = extract(path, tmp_path / "out" / "new")
    expected = {sample.path: sample.data for sample in samples}
    assert tree(tmp_path / "out" / "new") == {**expected, b"a/": None, b"b/": None, b"empty/": None}
    assert os.fspath(report) == report.directory == str(tmp_path / "out" / "new")
    assert report.num_files == 5
    assert report.num_bytes == sum(len(sample.data) for sample in samples)
    assert report.seconds > 0
    assert str(report) == f"5 files, {report.num_bytes:,} bytes in {tmp_path}/out/new"


@pytest.mark.parametrize("num_workers", [1, 2, 7])
def test_any_number_of_workers(path, samples, tmp_path, num_workers):
    extract(path, tmp_path / "out", num_workers=num_workers)
    assert tree(tmp_path / "out").items() >= {sample.path: sample.data for sample in samples}.items()


def test_what_convert_packed(image_folder, tmp_path):
    folder = image_folder(classes={"x": 4, "y": 3})
    torch_dts.convert(folder, tmp_path / "set.dts", progress=False)
    extract(tmp_path / "set.dts", tmp_path / "out")
    assert tree(tmp_path / "out") == tree(folder)


def test_names_of_every_kind(tmp_path):
    names = [b"caf\xe9/\xff\xfe.jpg", b"n" * 255 + b"/" + b"m" * 251 + b".jpg", "猫/写真.jpg".encode()]
    names += [b"a/-rf *", b"a/new\nline", b"a/b/c/d/e.jpg", b"top.jpg", b"a/\\..\\x"]
    samples = [Sample(name, 0, jpeg(number)) for number, name in enumerate(names)]
    path = build(tmp_path / "a.dts", samples, [b"a"])
    extract(path, tmp_path / "out")
    found = {name: data for name, data in tree(tmp_path / "out").items() if data is not None}
    assert found == {sample.path: sample.data for sample in samples}


def test_a_file_without_sections(path, samples, tmp_path):
    strip_sections(path)
    extract(path, tmp_path / "out")
    stored = [samples[i] for i in (4, 0, 2, 1, 3)]
    expected = {b"%d/%08d.jpeg" % (sample.label, i): sample.data for i, sample in enumerate(stored)}
    assert tree(tmp_path / "out") == {**expected, b"0/": None, b"2/": None}


def test_a_choice_of_samples(path, samples, tmp_path):
    report = extract(path, tmp_path / "out", indices=[4, -4, 4])
    assert tree(tmp_path / "out") == {
        **{samples[i].path: samples[i].data for i in (1, 4)},
        b"a/": None,
        b"b/": None,
    }
    assert report.num_files == 2
    assert report.num_bytes == len(samples[1].data) + len(samples[4].data)
    extract(path, tmp_path / "none", indices=[])
    assert tree(tmp_path / "none") == {}
    with pytest.raises(IndexError, match="sample 5 is out of range: there are 5"):
        extract(path, tmp_path / "other", indices=[5])
    assert not (tmp_path / "other").exists()


def test_class_folders_that_can_not_be(tmp_path, samples):
    """Names of a data set that was no folder: they are no folders here either."""
    classes = [b"a", b"../up", b"b", b"n/a", b"..", b"", b"good"]
    path = build(tmp_path / "a.dts", samples, classes)
    extract(path, tmp_path / "out")
    assert {name for name, data in tree(tmp_path / "out").items() if data is None} == {b"a/", b"b/", b"good/"}
    assert sorted(os.listdir(tmp_path)) == ["a.dts", "out"]


class TestTargets:
    def test_nothing_is_overwritten(self, path, samples, tmp_path):
        (tmp_path / "out" / "b").mkdir(parents=True)
        (tmp_path / "out" / "b" / "1.jpg").write_bytes(b"mine")
        (tmp_path / "out" / "other").write_bytes(b"mine")
        before = tree(tmp_path / "out")
        with pytest.raises(FileExistsError, match=r"exists already; overwrite=True.*out/b/1.jpg") as caught:
            extract(path, tmp_path / "out")
        assert caught.value.errno == errno.EEXIST
        assert tree(tmp_path / "out") == before

        extract(path, tmp_path / "out", overwrite=True)
        after = tree(tmp_path / "out")
        assert after.items() >= {sample.path: sample.data for sample in samples}.items()
        assert after[b"other"] == b"mine"

    def test_a_link_in_place_of_a_file(self, path, tmp_path):
        (tmp_path / "out" / "b").mkdir(parents=True)
        (tmp_path / "out" / "b" / "1.jpg").symlink_to("nowhere")
        with pytest.raises(FileExistsError, match=r"out/b/1.jpg"):
            extract(path, tmp_path / "out")
        assert os.listdir(tmp_path / "out") == ["b"]

    def test_a_link_in_place_of_a_folder(self, path, tmp_path):
        (tmp_path / "outside").mkdir()
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a").symlink_to(tmp_path / "outside")
        for overwrite in (False, True):
            with pytest.raises(OSError, match="symbolic link"):
                extract(path, tmp_path / "out", overwrite=overwrite)
        assert os.listdir(tmp_path / "outside") == []

    def test_the_file_itself(self, tmp_path):
        path = build(tmp_path / "a.dts", [Sample(b"a.dts", 0, jpeg(1))], [b"a"])
        before = path.stat().st_mtime_ns
        with pytest.raises(FileExistsError, match=r"a.dts"):
            extract(path, tmp_path)
        with pytest.raises(ValueError, match=r"extracting would overwrite .*a.dts itself"):
            extract(path, tmp_path, overwrite=True)
        assert path.stat().st_mtime_ns == before

    def test_the_directory_is_a_file(self, path, tmp_path):
        (tmp_path / "out").write_bytes(b"mine")
        with pytest.raises(FileExistsError, match="out"):
            extract(path, tmp_path / "out", overwrite=True)
        assert (tmp_path / "out").read_bytes() == b"mine"


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("name", "fault"),
        [
            (b"/etc/cron.d/x", "is absolute"),
            (b"../x.jpg", r"has the part '\.\.'"),
            (b"a/../../x.jpg", r"has the part '\.\.'"),
            (b"a/./x.jpg", r"has the part '\.'"),
            (b"a//x.jpg", "has the part ''"),
            (b"a/", "has the part ''"),
            (b"", "is empty"),
        ],
    )
    def test_a_path_that_leads_elsewhere(self, path, tmp_path, name, fault):
        replace_section(path, "PATH", build_paths([b"a/0", b"a/1", b"a/2", name, b"b/1"]))
        with pytest.raises(
            CorruptFileError, match=rf"the path '.*' of sample 3 {fault}; nothing was extracted"
        ):
            extract(path, tmp_path / "out")
        assert sorted(os.listdir(tmp_path)) == ["a.dts"]

    @pytest.mark.parametrize("name", [b"a/1", b"a", b"a/0/x"])
    def test_paths_that_clash(self, path, tmp_path, name):
        replace_section(path, "PATH", build_paths([b"a/0", b"a/1", b"a/2", name, b"b/1"]))
        with pytest.raises(CorruptFileError, match="is there twice, or as a file and a folder; nothing"):
            extract(path, tmp_path / "out")
        assert sorted(os.listdir(tmp_path)) == ["a.dts"]

    def test_a_damaged_block(self, path, samples, tmp_path):
        flip(path, HEADER_BYTES + 2 * BLOCK_SIZE - 1)
        with pytest.raises(CorruptFileError, match=r"block 1 \(stored samples 2..4\): CRC-32"):
            extract(path, tmp_path / "out", num_workers=1)
        found = {name: data for name, data in tree(tmp_path / "out").items() if data is not None}
        assert found == {samples[i].path: samples[i].data for i in (4, 0)}
        # Read one by one, samples are not held back by damage elsewhere in their block.
        with torch_dts.open(path) as file:
            assert [bytes(file.read(i)) for i in range(5)] == [sample.data for sample in samples]


def test_a_full_disk(path, samples, tmp_path, monkeypatch):
    written = []
    write = _tree._write_all

    def fill(file_fd, data):
        if len(written) == 2:
            os.write(file_fd, data[:5])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(len(data))
        write(file_fd, data)

    monkeypatch.setattr(_tree, "_write_all", fill)
    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path}/out/a/2.jpg'") as caught:
        extract(path, tmp_path / "out", num_workers=1)
    assert caught.value.errno == errno.ENOSPC
    found = {name: data for name, data in tree(tmp_path / "out").items() if data is not None}
    assert found == {samples[i].path: samples[i].data for i in (4, 0)}


def test_interrupted(tmp_path, monkeypatch):
    """Ctrl-C arrives in the thread that waits; the others finish the block they are at."""
    samples = [Sample(b"a/%d" % i, 0, jpeg(i)) for i in range(6)]
    path = build(tmp_path / "a.dts", samples, [b"a"], blocks=[[i] for i in range(6)])

    class Bar:
        def add(self, n):
            raise KeyboardInterrupt("now")

    monkeypatch.setattr(_extract, "Progress", lambda *args, **kwargs: nullcontext(Bar()))
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt, match="now"):
        extract(path, tmp_path / "out", num_workers=1)
    assert threading.active_count() == before
    found = {name: data for name, data in tree(tmp_path / "out").items() if data is not None}
    assert 1 <= len(found) < 6
    assert found.items() <= {sample.path: sample.data for sample in samples}.items()


def test_a_folder_that_may_not_be_written(path, tmp_path):
    if os.geteuid() == 0:
        # root may write everywhere but in /proc
        with pytest.raises(OSError, match="/proc/self/torch_dts"):
            extract(path, "/proc/self/torch_dts")
        return
    (tmp_path / "out").mkdir(mode=0o500)
    with pytest.raises(PermissionError, match="out/"):
        extract(path, tmp_path / "out")


def test_wrong_arguments(path, tmp_path):
    with pytest.raises(ValueError, match="num_workers is -1"):
        extract(path, tmp_path / "out", num_workers=-1)
    with pytest.raises(FileNotFoundError, match=r"missing.dts"):
        extract(tmp_path / "missing.dts", tmp_path / "out")
    with pytest.raises(TypeError, match=r"a path is a str or os\.PathLike, not NoneType"):
        extract(path, None)
    assert not (tmp_path / "out").exists()


def test_pixel_files(tmp_path):
    with pytest.raises(
        ValueError,
        match=r"a pixel file \(CIFAR10\): it holds no image files to extract; torch_dts.DTSDataset",
    ):
        extract(build_pixels(tmp_path / "a.dts", 2), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_progress(path, tmp_path, capsys):
    extract(path, tmp_path / "out", progress=True)
    assert "extracting: 100%" in capsys.readouterr().err
    extract(path, tmp_path / "out2", progress=False)
    assert capsys.readouterr() == ("", "")


def test_chosen_samples_of_a_damaged_block_are_refused(dts_file, tmp_path):
    path = dts_file()
    with open(path, "r+b") as stream:  # the zeros at the end of the block: no sample is hurt
        stream.seek((2 << 24) - 1)
        stream.write(b"\x01")
    with pytest.raises(torch_dts.CorruptFileError, match=r"block 0.*CRC-32"):
        torch_dts.extract(path, tmp_path / "out", indices=[0])
    assert not list((tmp_path / "out").rglob("*.jpg"))


def test_overwrite_has_to_be_a_bool(tmp_path):
    with pytest.raises(TypeError, match="overwrite is 1, expected True or False"):
        torch_dts.extract("not opened", tmp_path, overwrite=1)
