# SPDX-License-Identifier: Apache-2.0
import errno
import os
import resource
import signal
from contextlib import closing

import pytest

from torch_dts.file import _tree
from torch_dts.file._tree import Tree, find_clash, path_fault


@pytest.mark.parametrize("path", ["a", "a/b.jpg", "a/..b", "...", "a b", "ü", "\udcff", "\\", "a:b", " "])
def test_paths_that_may_be_written(path):
    assert path_fault(path) is None


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("", "is empty"),
        ("/etc/passwd", "is absolute"),
        ("//a", "is absolute"),
        ("..", "has the part '..'"),
        ("a/../../b", "has the part '..'"),
        ("a/..", "has the part '..'"),
        ("./a", "has the part '.'"),
        ("a/./b", "has the part '.'"),
        ("a//b", "has the part ''"),
        ("a/", "has the part ''"),
        ("a\0b", "holds a NUL character"),
    ],
)
def test_paths_that_may_not(path, fault):
    assert path_fault(path) == fault


def test_clashes():
    assert find_clash([]) is None
    assert find_clash(["a/1", "a/2", "b/1", "c", "aa"]) is None
    assert find_clash(["a/1", "b/1", "a/1"]) == "a/1"
    assert find_clash(["a/1", "a"]) == "a"
    assert find_clash(["a/b", "a/b/c/d"]) == "a/b"
    assert find_clash(["a", "a/b/c"]) == "a"


@pytest.fixture
def tree(tmp_path):
    with closing(Tree(str(tmp_path / "new" / "out"), overwrite=False)) as tree:
        yield tree


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new" / "out"


def test_write_file(tree, out):
    tree.write_file("x.jpg", memoryview(b"top"))
    tree.write_file("a/b/y.jpg", memoryview(b""))
    tree.write_file("a/" + "n" * 255, memoryview(b"long"))
    assert (out / "x.jpg").read_bytes() == b"top"
    assert (out / "a/b/y.jpg").read_bytes() == b""
    assert sorted(os.listdir(out / "a")) == ["b", "n" * 255]
    assert (out / "x.jpg").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_make_folder(tree, out):
    tree.make_folder("a/b")
    tree.make_folder("a")
    assert [p.name for p in out.rglob("*")] == ["a", "b"]


def test_a_file_that_exists(tree, out):
    (out / "x").write_bytes(b"old")
    with pytest.raises(FileExistsError, match=f"'{out}/x'"):
        tree.write_file("x", memoryview(b"new"))
    assert (out / "x").read_bytes() == b"old"
    assert os.listdir(out) == ["x"]


def test_overwrite_replaces_the_name_and_not_what_it_points_to(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (out / "link").symlink_to(victim)
    (out / "file").write_bytes(b"old")
    with closing(Tree(str(out), overwrite=True)) as tree:
        tree.write_file("link", memoryview(b"new"))
        tree.write_file("file", memoryview(b"new"))
        (out / "folder").mkdir()
        with pytest.raises(IsADirectoryError, match=f"'{out}/folder'"):
            tree.write_file("folder", memoryview(b"new"))
    assert victim.read_bytes() == b"precious"
    assert not (out / "link").is_symlink()
    assert (out / "link").read_bytes() == (out / "file").read_bytes() == b"new"
    assert sorted(os.listdir(out)) == ["file", "folder", "link"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_no_symbolic_link_is_followed_below_the_directory(tmp_path, overwrite):
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (out / "a").symlink_to(outside)
    with closing(Tree(str(out), overwrite)) as tree:
        for path in ("a/x", "a/b/x"):
            with pytest.raises(OSError, match="a folder on the way is a symbolic link or a file"):
                tree.write_file(path, memoryview(b"new"))
        with pytest.raises(OSError, match=f"symbolic link or a file: '{out}/a/b'"):
            tree.make_folder("a/b")
    assert os.listdir(outside) == []


def test_the_directory_itself_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with closing(Tree(str(tmp_path / "link"), overwrite=False)) as tree:
        tree.write_file("x", memoryview(b"new"))
    assert (tmp_path / "real" / "x").read_bytes() == b"new"


def test_a_file_in_place_of_a_folder(tree, out):
    (out / "a").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match=f"a folder on the way .*'{out}/a/x'"):
        tree.write_file("a/x", memoryview(b""))


def test_the_directory_is_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileExistsError, match="file"):
        Tree(str(tmp_path / "file"), overwrite=True)


def test_a_name_that_is_too_long(tree, out):
    with pytest.raises(OSError, match="File name too long") as caught:
        tree.write_file("a/" + "n" * 256, memoryview(b"x"))
    assert caught.value.errno == errno.ENAMETOOLONG
    assert os.listdir(out / "a") == []


def test_a_full_disk(tree, out, monkeypatch):
    def full(file_fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_tree, "_write_all", full)
    with pytest.raises(OSError, match=rf"\[Errno 28\] No space left on device: '{out}/a/x\\\\xff'") as caught:
        tree.write_file("a/x\udcff", memoryview(b"data"))
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == f"{out}/a/x\\xff"
    assert os.listdir(out / "a") == []


def test_a_write_that_is_cut_short(tree, out):
    """A limit on file sizes lets the first part of a file through, as a disk that fills up does."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
    try:
        tree.write_file("fits", memoryview(bytes(1000)))
        with pytest.raises(OSError, match=f"File too large: '{out}/x'"):
            tree.write_file("x", memoryview(bytes(1001)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.listdir(out) == ["fits"]


def test_no_descriptor_is_left(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    tree = Tree(str(tmp_path / "out"), overwrite=False)
    tree.write_file("a/b/c", memoryview(b""))
    with pytest.raises(FileExistsError, match="c"):
        tree.write_file("a/b/c", memoryview(b""))
    tree.close()
    assert len(os.listdir("/proc/self/fd")) == before
